//! Numbers from a kernel's types, by name.

use super::{
    error::KernelValueError,
    path::{self, ROOT_KINDS, missing},
};
use crate::{
    elf::text,
    target::{KernelBtf, KernelBtfError},
};
use core::fmt;
use core_relo::btf::{Btf, Enumerator, Kind, Type};

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

    /// Finds the number in the types of a kernel: in vmlinux, or in the modules if vmlinux lacks the type.
    pub fn find(&self, kernel: &KernelBtf) -> Result<i128, KernelValueError> {
        self.check_syntax()?;
        let vmlinux = kernel.vmlinux().map_err(KernelBtfError::from)?;
        match (self.find_in(vmlinux), self.root_name()) {
            (Err(KernelValueError::Missing { what: "type", .. }), Some(root)) => {
                let find = |kind| Ok(kernel.find_in_modules(root.as_bytes(), kind, None)?);
                let module = ROOT_KINDS.into_iter().map(find).find_map(Result::transpose);
                let module: Option<Result<_, KernelBtfError>> = module;
                match module.transpose()?.and_then(|found| found.module) {
                    Some(module) => match module.btf().map_err(KernelBtfError::from)? {
                        Some(btf) => self.find_in(btf),
                        None => self.find_in(vmlinux),
                    },
                    None => self.find_in(vmlinux),
                }
            }
            (found, _) => found,
        }
        .or_else(|error| match (self, error) {
            (Self::HasField(_), KernelValueError::Missing { .. }) => Ok(0),
            (_, error) => Err(error),
        })
    }

    /// Finds the number in a BTF. A field that is missing is an error, also for `HasField`.
    fn find_in(&self, btf: &Btf<'_>) -> Result<i128, KernelValueError> {
        match self {
            Self::OffsetOf(path) => {
                let bits = path::find(btf, strip_keyword(path))?.bytes_from(path)?;
                Ok(i128::from(bits.0))
            }
            Self::SizeOf(path) if !has_selector(path) => path::type_size(btf, strip_keyword(path)),
            Self::SizeOf(path) => Ok(i128::from(path::find(btf, strip_keyword(path))?.bytes_from(path)?.1)),
            Self::EnumValue(name) => find_enumerator(btf, name),
            Self::HasField(path) => path::find(btf, strip_keyword(path)).map(|_field| 1),
        }
    }

    /// Returns the name of the type that a path begins with.
    fn root_name(&self) -> Option<&str> {
        match self {
            Self::EnumValue(_) => None,
            _ => strip_keyword(self.path()).split(['.', '[']).next(),
        }
    }

    /// Checks what needs no kernel: the name is not empty, and a path has a member.
    pub(super) fn check_syntax(&self) -> Result<(), KernelValueError> {
        let name = strip_keyword(self.path());
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
        Err(KernelValueError::Syntax { name: text(self.path().as_bytes()), expected })
    }
}

/// Offsets, sizes and enumerators by name.
impl KernelBtf {
    /// Returns the offset of a field in bytes: `task_struct.tgid`. A bitfield has none, nor has a field behind a pointer.
    pub fn offset_of(&self, path: &str) -> Result<i128, KernelValueError> {
        KernelValue::OffsetOf(path.to_owned()).find(self)
    }

    /// Returns the size in bytes of a type or a field: `task_struct`, `task_struct.comm`.
    pub fn size_of(&self, path: &str) -> Result<i128, KernelValueError> {
        KernelValue::SizeOf(path.to_owned()).find(self)
    }

    /// Returns the value of an enumerator: `BPF_FUNC_loop`, or of a given enum: `enum bpf_func_id.BPF_FUNC_loop`.
    pub fn enum_value(&self, name: &str) -> Result<i128, KernelValueError> {
        KernelValue::EnumValue(name.to_owned()).find(self)
    }

    /// Returns whether the kernel has a field: `task_struct.__state`.
    pub fn has_field(&self, path: &str) -> Result<bool, KernelValueError> {
        KernelValue::HasField(path.to_owned()).find(self).map(|found| found != 0)
    }
}

/// The value as in C: `offset_of(task_struct.tgid)`.
impl fmt::Display for KernelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.word(), core_relo::Escaped(self.path()))
    }
}

fn has_selector(path: &str) -> bool {
    path.contains(['.', '['])
}

/// Removes `struct`, `union` or `enum` in front of a name.
fn strip_keyword(name: &str) -> &str {
    let keywords = ["struct ", "union ", "enum "];
    keywords.into_iter().find_map(|keyword| name.strip_prefix(keyword)).unwrap_or(name)
}

/// Finds an enumerator: `NAME` in any enum, or `enum.NAME`.
fn find_enumerator(btf: &Btf<'_>, path: &str) -> Result<i128, KernelValueError> {
    let (parent, name) = match strip_keyword(path).rsplit_once('.') {
        Some((parent, name)) => (Some(parent), name),
        None => (None, strip_keyword(path)),
    };
    let mut enums = Vec::new();
    for kind in [Kind::Enum, Kind::Enum64] {
        btf.visit_kind(kind, |ty| {
            if parent.is_none_or(|parent| ty.name().as_bytes() == parent.as_bytes()) {
                enums.push(ty);
            }
        });
    }
    if let (Some(parent), []) = (parent, &*enums) {
        let mut names = Vec::new();
        btf.visit_kind(Kind::Enum, |ty| names.push(ty.name().as_bytes()));
        return Err(missing("type", parent, "", names));
    }
    let all = || enums.iter().copied().flat_map(Type::enumerators);
    let mut values = all().filter(|e| e.name.as_bytes() == name.as_bytes()).map(value_of);
    let Some(first) = values.next() else {
        return Err(missing(
            "enumerator",
            name,
            parent.unwrap_or_default(),
            all().map(|e| e.name.as_bytes()),
        ));
    };
    match values.find(|other| *other != first) {
        Some(other) => {
            let values = [first, other];
            Err(KernelValueError::AmbiguousEnumerator { name: text(name.as_bytes()), values })
        }
        None => Ok(first),
    }
}

/// Returns the value of an enumerator in C.
fn value_of(enumerator: Enumerator<'_>) -> i128 {
    match (enumerator.signed, enumerator.wide) {
        (true, _) => i128::from(enumerator.value.cast_signed()),
        (false, true) => i128::from(enumerator.value),
        (false, false) => i128::from(enumerator.value & u64::from(u32::MAX)),
    }
}
