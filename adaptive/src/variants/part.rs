//! Groups, programs, maps and constants that a table refers to.

use core::fmt;

/// A group, program, map or constant that a table refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "a part is a kind and a name")]
pub struct Part {
    /// The kind. `None` takes the part that has the name. A name that parts of two kinds have is an error
    /// then.
    pub kind: Option<PartKind>,
    /// The name.
    pub name: String,
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "these have alternatives or can be left out")]
pub enum PartKind {
    /// A group of alternatives.
    Group,
    /// A program.
    Program,
    /// A map.
    Map,
    /// A constant from the kernel's types, which can be optional.
    Constant,
}

impl PartKind {
    /// All kinds.
    pub(super) const ALL: [Self; 4] = [Self::Group, Self::Program, Self::Map, Self::Constant];

    /// Returns the word for text and JSON: `group`, `program`, `map`, `constant`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Program => "program",
            Self::Map => "map",
            Self::Constant => "constant",
        }
    }
}

/// The name alone, or after a kind: `events`, `map:events`.
impl From<&str> for Part {
    fn from(text: &str) -> Self {
        let parse = |kind: PartKind| Some((kind, text.strip_prefix(kind.word())?.strip_prefix(':')?));
        match PartKind::ALL.into_iter().find_map(parse) {
            Some((kind, name)) => Self { kind: Some(kind), name: name.to_owned() },
            None => Self { kind: None, name: text.to_owned() },
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{}:{}", kind.word(), self.name),
            None => f.write_str(&self.name),
        }
    }
}
