//! BPF objects.

use crate::{
    error::{BadInput, escape_path},
    input::limits::{MAX_OBJECT_BYTES, MAX_OBJECT_HOLE_BYTES, MAX_OBJECTS_BYTES},
};
use core_relo::{Data, Relocs};
use core_relo_kernels::{file::InputFile, file_kind::is_raw_or_elf};
use core_relo_loader::object::{ElfError, Object, ObjectError};
use core_relo_report::stable_hash;
use std::{
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

const EXPECTED: &str = "expected a BPF object, as `clang --target=bpf -g -O2 -c` writes it";

/// The name and the content of an object file.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    /// The path as the user gave it.
    pub(crate) name: String,
    bytes: Data<'static>,
    /// The hash of the content in hexadecimal digits, once it is needed.
    hash: OnceLock<String>,
}

/// The budget for the objects of a command that keeps all of them in memory.
#[derive(Debug)]
pub(crate) struct ObjectBudget {
    remaining_bytes: AtomicU64,
    remaining_hole_bytes: AtomicU64,
}

impl Default for ObjectBudget {
    fn default() -> Self {
        Self {
            remaining_bytes: AtomicU64::new(MAX_OBJECTS_BYTES),
            remaining_hole_bytes: AtomicU64::new(MAX_OBJECT_HOLE_BYTES),
        }
    }
}

impl ObjectBudget {
    /// Takes the bytes of a file. A file that exceeds the budget takes nothing.
    fn take(&self, path: &Path, len: u64, stored_bytes: u64) -> Result<(), BadInput> {
        let take = |remaining: &AtomicU64, bytes: u64| {
            remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(bytes)).is_ok()
        };
        if !take(&self.remaining_hole_bytes, len.saturating_sub(stored_bytes)) {
            let what = format_args!(
                "is too sparse: the objects of a command have holes of at most {MAX_OBJECT_HOLE_BYTES} bytes together"
            );
            return Err(BadInput::for_path(path, what).help("is the file complete?"));
        }
        if !take(&self.remaining_bytes, len) {
            let what = format_args!(
                "is one object too many: the objects of a command have at most {MAX_OBJECTS_BYTES} bytes together"
            );
            return Err(BadInput::for_path(path, what).help("give fewer objects at a time"));
        }
        Ok(())
    }
}

impl ObjectFile {
    /// Reads an object of a command that keeps one object at a time in memory.
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        Self::read_within(path, &ObjectBudget::default())
    }

    /// Reads an object, and takes its bytes from a budget.
    pub(crate) fn read_within(path: &Path, budget: &ObjectBudget) -> Result<Self, BadInput> {
        let input = InputFile::open(path, MAX_OBJECT_BYTES)?;
        // `read_whole` refuses a larger object.
        if input.len <= MAX_OBJECT_BYTES {
            budget.take(path, input.len, input.stored_bytes)?;
        }
        let bytes = input.read_whole(MAX_OBJECT_BYTES, None)?;
        if bytes.is_empty() {
            return Err(BadInput::for_path(path, "is empty").help(EXPECTED));
        }
        Ok(Self { name: escape_path(path), bytes, hash: OnceLock::new() })
    }

    /// Creates the value for an object that is part of this program.
    pub(crate) fn embedded(name: &str, bytes: &'static [u8]) -> Self {
        Self { name: name.to_owned(), bytes: Data::from(bytes), hash: OnceLock::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the hash of the content, in hexadecimal digits.
    pub(crate) fn hash(&self) -> &str {
        self.hash.get_or_init(|| format!("{:016x}", stable_hash(&self.bytes)))
    }

    pub(crate) fn parse(&self) -> Result<Object<'_>, BadInput> {
        Object::parse(&self.bytes).map_err(|e| self.bad_input(&e))
    }

    /// Returns the object's relocations.
    pub(crate) fn relocs<'o>(&self, object: &'o Object<'_>) -> Result<Relocs<'o>, BadInput> {
        object.relocs().map_err(|e| self.bad_input(&e))
    }

    /// Returns the object's relocations; none for an object without BTF.
    pub(crate) fn relocs_or_none<'o>(&self, object: &'o Object<'_>) -> Result<Relocs<'o>, BadInput> {
        object.relocs_or_none().map_err(|e| self.bad_input(&e))
    }

    fn bad_input(&self, e: &ObjectError) -> BadInput {
        let bad = BadInput::new(&*self.name, e);
        match e {
            ObjectError::Elf(ElfError::NotElf) if is_raw_or_elf(&self.bytes) => {
                bad.help("it is BTF: give it with --btf")
            }
            e => BadInput { help: e.help().map(str::to_owned), ..bad },
        }
    }
}

/// Returns the object's name for the kernel: the file name up to the first dot, as in libbpf.
pub(crate) fn object_name(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    name.split_once('.').map_or(&*name, |(stem, _)| stem).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn all_objects_of_a_command_share_a_budget() {
        let path = Path::new("a.o");
        let budget = ObjectBudget::default();
        let mib = |n: u64| n << 20;
        // A large build.
        assert!((0..2000).all(|_| budget.take(path, mib(1), mib(1)).is_ok()));
        let sparse = |len| budget.take(path, mib(len), 8192).map_err(|bad| bad.what);
        assert_eq!(sparse(250), Ok(()));
        let what = "is too sparse: the objects of a command have holes of at most 268435456 bytes together";
        assert_eq!(sparse(250), Err(what.to_owned()));
        assert_eq!(sparse(5), Ok(()), "a refused object takes nothing");
        let full = (0..1800).find_map(|_| budget.take(path, mib(1), mib(1)).err());
        assert_eq!(full, None);
        let full = budget.take(path, mib(100), mib(100)).unwrap_err().to_string();
        let what =
            "a.o: is one object too many: the objects of a command have at most 4294967296 bytes together";
        assert!(full.starts_with(what), "{full}");
    }
}
