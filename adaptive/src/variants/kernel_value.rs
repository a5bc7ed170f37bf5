//! Numbers from a kernel's types, by name.

use super::error::KernelValueError;
use core::fmt;
use core_relo_object::shown_name;

/// A number from a kernel's types, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelValue {
    /// The offset of a field in bytes: `task_struct.tgid`, `sock.sk_write_queue.next`.
    OffsetOf(String),
    /// The size in bytes of a type or a field: `task_struct`, `task_struct.comm`.
    SizeOf(String),
    /// The value of an enumerator: `BPF_FUNC_loop`, `enum bpf_func_id.BPF_FUNC_loop`.
    EnumValue(String),
    /// 1 if the kernel has a field, else 0: `task_struct.__state`.
    HasField(String),
}

impl KernelValue {
    /// Returns the name or path.
    pub fn path(&self) -> &str {
        match self {
            Self::OffsetOf(path) | Self::SizeOf(path) | Self::EnumValue(path) | Self::HasField(path) => path,
        }
    }

    /// Returns the word for text and JSON: `offset_of`, `size_of`, `enum_value`, `has_field`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::OffsetOf(_) => "offset_of",
            Self::SizeOf(_) => "size_of",
            Self::EnumValue(_) => "enum_value",
            Self::HasField(_) => "has_field",
        }
    }

    /// Returns the name or path without `struct`, `union` or `enum` in front of it.
    pub(super) fn unprefixed_path(&self) -> &str {
        strip_keyword(self.path())
    }

    /// Checks what needs no kernel: the name is not empty, and a path has a member.
    pub(super) fn check_syntax(&self) -> Result<(), KernelValueError> {
        let name = self.unprefixed_path();
        let needs_member = matches!(self, Self::OffsetOf(_) | Self::HasField(_));
        let parts_are_named = name.split(['.', '[']).all(|part| !part.is_empty());
        if parts_are_named && !name.contains(char::is_whitespace) && (!needs_member || has_selector(name)) {
            return Ok(());
        }
        let expected = match self {
            Self::OffsetOf(_) | Self::HasField(_) => "a type and its members, as in `task_struct.tgid`",
            Self::SizeOf(_) => "a type or a field, as in `task_struct` or `task_struct.comm`",
            Self::EnumValue(_) => "an enumerator, as in `BPF_FUNC_loop` or `enum bpf_func_id.BPF_FUNC_loop`",
        };
        Err(KernelValueError::Syntax { name: shown_name(self.path().as_bytes()), expected })
    }
}

/// The value as in C: `offset_of(task_struct.tgid)`.
impl fmt::Display for KernelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.word(), core_relo::Escaped(self.path()))
    }
}

/// Returns whether a path has a member or an element.
pub(super) fn has_selector(path: &str) -> bool {
    path.contains(['.', '['])
}

/// Removes `struct`, `union` or `enum` in front of a name.
fn strip_keyword(name: &str) -> &str {
    let keywords = ["struct ", "union ", "enum "];
    keywords.into_iter().find_map(|keyword| name.strip_prefix(keyword)).unwrap_or(name)
}
