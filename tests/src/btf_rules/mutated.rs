//! Compiled objects with a few changed words in their BTF.

use crate::artifacts;
use core_relo::Endian;
use fastrand::Rng;
use object::{Object as _, ObjectSection as _};
use std::{fs, ops::Range, path::PathBuf};

/// A generator of objects whose BTF is that of a compiled object with a few changed words.
#[derive(Debug)]
pub struct MutatedObjects {
    rng: Rng,
    objects: Vec<CompiledObject>,
}

/// A compiled object.
#[derive(Debug)]
struct CompiledObject {
    name: String,
    bytes: Vec<u8>,
    /// The bytes of the types in the BTF.
    types: Range<usize>,
    /// The bytes of the strings in the BTF.
    string_bytes: u32,
}

/// An object whose BTF was changed.
#[derive(Clone, Debug)]
pub struct MutatedObject {
    /// The name of the compiled object.
    pub name: String,
    /// The bytes of the object.
    pub bytes: Vec<u8>,
}

/// The offset of the field with the length of the type section in the BTF's header, and the bytes of the
/// header.
const TYPE_LEN: usize = 12;
const HEADER_BYTES: usize = 24;
/// The bytes of a word.
const WORD: usize = 4;

impl MutatedObjects {
    /// Creates a generator of the prebuilt objects in the machine's byte order.
    pub fn new(rng: Rng) -> Self {
        let order = if Endian::native() == Endian::Little { "el" } else { "eb" };
        let mut paths = artifacts::files(&artifacts::root().join("bpf-progs/prebuilt").join(order), ".bpf.o");
        // A guest has the objects for its byte order only.
        if paths.is_empty() {
            paths = artifacts::files(&artifacts::progs(), ".bpf.o");
        }
        let read = |path: PathBuf| CompiledObject::new(path.display().to_string(), fs::read(path).ok()?);
        let objects: Vec<_> = paths.into_iter().filter_map(read).collect();
        assert!(!objects.is_empty(), "prebuilt objects with BTF");
        Self { rng, objects }
    }

    /// Returns the next object.
    pub fn next_object(&mut self) -> MutatedObject {
        let compiled = &self.objects[self.rng.usize(0..self.objects.len())];
        let mut bytes = compiled.bytes.clone();
        for _ in 0..self.rng.usize(1..4) {
            let words = &compiled.types;
            let mut word = || words.start + self.rng.usize(0..words.len() / WORD) * WORD;
            let (at, other) = (word(), word());
            let read = |bytes: &[u8], at: usize| Endian::native().u32(bytes, at).unwrap();
            let (old, copied) = (read(&bytes, at), read(&bytes, other));
            let new = match self.rng.u32(0..7) {
                0 => 0,
                1 => copied,
                2 => old ^ 1 << self.rng.u32(0..32),
                3 => old.wrapping_add(self.rng.u32(0..9)).wrapping_sub(4),
                4 => self.rng.u32(0..compiled.string_bytes),
                5 => self.rng.u32(0..64),
                // A name whose string is empty: the NUL byte at the end of the strings.
                _ => compiled.string_bytes - 1,
            };
            bytes[at..at + WORD].copy_from_slice(&Endian::native().u32_bytes(new));
        }
        MutatedObject { name: compiled.name.clone(), bytes }
    }
}

impl CompiledObject {
    /// Returns `None` for an object without BTF.
    fn new(name: String, bytes: Vec<u8>) -> Option<Self> {
        let file = object::File::parse(&*bytes).ok()?;
        let (start, _) = file.section_by_name(".BTF")?.file_range()?;
        let start = usize::try_from(start).ok()?;
        let field = |offset: usize| Endian::native().u32(&bytes, start + offset);
        let len = usize::try_from(field(TYPE_LEN)?).ok()?;
        let types = start + HEADER_BYTES..start + HEADER_BYTES + len;
        let string_bytes = field(HEADER_BYTES - WORD)?;
        (!types.is_empty()).then_some(Self { name, types, string_bytes, bytes })
    }
}
