//! [`ObjectSelection`]: the property that selects objects.

use core::fmt;
use core_relo::Escaped;
use std::path::PathBuf;

/// The kernel's hash of a program's instructions.
pub type ProgramTag = [u8; 8];

/// The property that selects objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectSelection {
    /// The id.
    Id(u32),
    /// The name, whole or as the kernel keeps it; of a link, the name of its program.
    Name(String),
    /// The path of a pin.
    Pin(PathBuf),
    /// The tag of programs. Only programs have a tag.
    Tag(ProgramTag),
}

impl fmt::Display for ObjectSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "id {id}"),
            Self::Name(name) => write!(f, "the name `{}`", Escaped(name)),
            Self::Pin(path) => write!(f, "the pin {}", Escaped(path.display())),
            Self::Tag(tag) => {
                f.write_str("the tag ")?;
                tag.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}
