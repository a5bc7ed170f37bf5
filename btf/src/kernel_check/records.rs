//! The records of a type section, read as the kernel reads them.

use super::header::SectionBytes;
use crate::{
    endian::Endian,
    format::{Info, Kind},
    ids::{StrOffset, TypeId, to_usize},
    limits,
    name::Name,
};
use alloc::{vec, vec::Vec};

/// The words of `struct btf_type`, in bytes.
pub(super) const COMMON_BYTES: u32 = 12;

/// A record of the type section.
#[derive(Clone, Copy)]
pub(super) struct Record<'d> {
    endian: Endian,
    pub(super) name_offset: StrOffset,
    pub(super) info: Info,
    /// The size, or the id of a type.
    pub(super) third: u32,
    /// The bytes after the record's first twelve. They may reach past the end of the record.
    rest: &'d [u8],
}

/// The most words that follow a record's first three once: those of an ARRAY.
const FIXED_WORDS: usize = 3;

/// The records by type id, and the strings.
pub(super) struct Records<'d> {
    endian: Endian,
    types: &'d [u8],
    strings: &'d [u8],
    /// The offset of each record. Type 0 has none.
    offsets: Vec<u32>,
    /// The kind of each type, `void` first.
    kinds: Vec<Kind>,
}

impl<'d> Records<'d> {
    pub(super) fn new(sections: &SectionBytes<'d>) -> Self {
        Self {
            endian: sections.endian,
            types: sections.types,
            strings: sections.strings,
            offsets: Vec::new(),
            kinds: vec![Kind::Void],
        }
    }

    /// Returns the bytes of the type section.
    pub(super) fn types(&self) -> &'d [u8] {
        self.types
    }

    /// Adds the record at an offset as the next type. The kernel adds no types after
    /// [`limits::KERNEL_TYPE_ID`].
    pub(super) fn add(&mut self, offset: u32, kind: Kind) {
        if self.offsets.len() < to_usize(limits::KERNEL_TYPE_ID) {
            self.offsets.push(offset);
            self.kinds.push(kind);
        }
    }

    /// Returns the ids of the types, without `void`.
    pub(super) fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (1u32..).map(TypeId).take(self.offsets.len())
    }

    /// Returns the record at an offset of the type section.
    pub(super) fn read(&self, offset: u32) -> Option<Record<'d>> {
        let record = self.types.get(to_usize(offset)..)?;
        let (common, rest) = record.split_first_chunk::<12>()?;
        let [n0, n1, n2, n3, i0, i1, i2, i3, t0, t1, t2, t3] = *common;
        Some(Record {
            endian: self.endian,
            name_offset: StrOffset(self.endian.word([n0, n1, n2, n3])),
            info: Info(self.endian.word([i0, i1, i2, i3])),
            third: self.endian.word([t0, t1, t2, t3]),
            rest,
        })
    }

    /// Returns a type, or `None` for `void` and types that do not exist.
    pub(super) fn get(&self, id: TypeId) -> Option<Record<'d>> {
        self.read(*self.offsets.get(id.index().checked_sub(1)?)?)
    }

    /// Returns the kind of a type. `void` has the kind [`Kind::Void`].
    pub(super) fn kind(&self, id: TypeId) -> Option<Kind> {
        self.kinds.get(id.index()).copied()
    }

    /// Returns the string at an offset, or `None` outside the strings.
    pub(super) fn string(&self, at: StrOffset) -> Option<&'d [u8]> {
        self.strings_from(at)?.split(|byte| *byte == 0).next()
    }

    /// Returns the strings from an offset on, or `None` outside the strings.
    pub(super) fn strings_from(&self, at: StrOffset) -> Option<&'d [u8]> {
        self.strings.get(at.index()..).filter(|rest| !rest.is_empty())
    }

    /// Returns the string at an offset, or `None` for one of more than `limit` bytes. The strings of a
    /// hostile BTF overlap.
    pub(super) fn short_string(&self, at: StrOffset, limit: usize) -> Option<&'d [u8]> {
        let rest = self.strings.get(at.index()..)?;
        let len = rest.iter().take(limit.checked_add(1)?).position(|byte| *byte == 0)?;
        rest.get(..len)
    }

    /// Returns the name at an offset for a message, empty if there is none.
    pub(super) fn name(&self, at: StrOffset) -> Name<'d> {
        self.string(at).map_or_else(|| Name::new(b""), Name::new)
    }
}

/// A member of a composite.
#[derive(Clone, Copy)]
pub(super) struct RawMember {
    pub(super) name: StrOffset,
    pub(super) ty: TypeId,
    /// The word with the offset and, in a composite with the flag, the width of a bitfield.
    word: u32,
}

impl RawMember {
    /// Returns the offset in bits.
    pub(super) fn bit_offset(self, has_flag: bool) -> u32 {
        if has_flag { self.word & 0x00ff_ffff } else { self.word }
    }

    /// Returns the width in bits of a bitfield, else 0.
    pub(super) fn bitfield_bits(self, has_flag: bool) -> u32 {
        if has_flag { self.word >> 24 } else { 0 }
    }
}

/// The words of an array.
#[derive(Clone, Copy)]
pub(super) struct RawArray {
    pub(super) element: TypeId,
    pub(super) index: TypeId,
    pub(super) nelems: u32,
}

/// The encoding word of an INT.
#[derive(Clone, Copy)]
pub(super) struct RawInt(pub(super) u32);

impl RawInt {
    pub(super) fn bits(self) -> u32 {
        self.0 & 0xff
    }

    /// Returns the end in bits.
    #[expect(clippy::arithmetic_side_effects, reason = "both have 8 bits")]
    pub(super) fn end(self) -> u32 {
        self.offset() + self.bits()
    }

    pub(super) fn offset(self) -> u32 {
        (self.0 >> 16) & 0xff
    }

    pub(super) fn encoding(self) -> u32 {
        (self.0 >> 24) & 0xf
    }

    /// Returns whether the integer fills 1, 2, 4, 8 or 16 bytes (kernel: `btf_type_int_is_regular`).
    pub(super) fn is_regular(self) -> bool {
        self.offset() == 0 && matches!(self.bits(), 8 | 16 | 32 | 64 | 128)
    }
}

/// An entry of a DATASEC.
#[derive(Clone, Copy)]
pub(super) struct RawEntry {
    pub(super) ty: TypeId,
    pub(super) offset: u32,
    pub(super) size: u32,
}

impl<'d> Record<'d> {
    pub(super) fn kind(self) -> Kind {
        self.info.kind()
    }

    /// Returns the words that follow the first three once. Only records that were checked to be whole are
    /// asked for those of their kind.
    fn fixed_words(self) -> [u32; FIXED_WORDS] {
        let mut words = [0; FIXED_WORDS];
        for (word, bytes) in words.iter_mut().zip(self.rest.as_chunks::<4>().0) {
            *word = self.endian.word(*bytes);
        }
        words
    }

    pub(super) fn int(self) -> RawInt {
        let [word, ..] = self.fixed_words();
        RawInt(word)
    }

    /// Returns the linkage of a VAR, or the component index of a DECL_TAG.
    pub(super) fn linkage_or_component(self) -> u32 {
        let [word, ..] = self.fixed_words();
        word
    }

    pub(super) fn array(self) -> RawArray {
        let [element, index, nelems] = self.fixed_words();
        RawArray { element: TypeId(element), index: TypeId(index), nelems }
    }

    /// Returns the elements of the record, each of `N` words, from an index on.
    fn elements<const N: usize>(self, from: u32) -> impl Iterator<Item = (u32, [u32; N])> + use<'d, N> {
        let size = const { N * 4 };
        let chunks = self.rest.chunks_exact(size).skip(to_usize(from));
        let endian = self.endian;
        let words = move |chunk: &[u8]| {
            let mut words = [0; N];
            for (word, bytes) in words.iter_mut().zip(chunk.as_chunks::<4>().0) {
                *word = endian.word(*bytes);
            }
            words
        };
        (from..self.info.vlen()).zip(chunks.map(words))
    }

    pub(super) fn members(self, from: u32) -> impl Iterator<Item = (u32, RawMember)> + use<'d> {
        let member = |[name, ty, word]: [u32; 3]| RawMember { name: StrOffset(name), ty: TypeId(ty), word };
        self.elements::<3>(from).map(move |(index, words)| (index, member(words)))
    }

    /// Returns the names of the enumerators.
    pub(super) fn enumerator_names(self) -> impl Iterator<Item = (u32, StrOffset)> + use<'d> {
        let is_wide = self.kind() == Kind::Enum64;
        let wide = is_wide.then(|| self.elements::<3>(0).map(|(index, [name, ..])| (index, StrOffset(name))));
        let narrow =
            (!is_wide).then(|| self.elements::<2>(0).map(|(index, [name, ..])| (index, StrOffset(name))));
        wide.into_iter().flatten().chain(narrow.into_iter().flatten())
    }

    /// Returns the name and the type of each parameter.
    pub(super) fn params(self) -> impl Iterator<Item = (u32, (StrOffset, TypeId))> + use<'d> {
        self.elements::<2>(0).map(|(index, [name, ty])| (index, (StrOffset(name), TypeId(ty))))
    }

    pub(super) fn entries(self, from: u32) -> impl Iterator<Item = (u32, RawEntry)> + use<'d> {
        let entry = |[ty, offset, size]: [u32; 3]| RawEntry { ty: TypeId(ty), offset, size };
        self.elements::<3>(from).map(move |(index, words)| (index, entry(words)))
    }
}
