//! A copy of a BTF whose words can be changed and whose sections can grow.

use super::output::assemble;
use crate::{
    data::rest_from,
    endian::Endian,
    format::{Info, Kind},
    ids::{StrOffset, TypeId, to_u32, to_usize},
    parse::Btf,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// An editable copy of a BTF. Existing ids and string offsets stay the same; new types and strings are
/// appended.
///
/// The words of a record are numbered from 0: name, info, size or type, then the words of its kind. Nothing
/// is validated until the result is parsed. The loader edits the BTF of an object for kernels that lack some
/// kinds.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Editor, Endian, Kind, TypeId};
///
/// let mut b = Builder::new(Endian::Little);
/// let float = b.float("float", 4);
/// let btf = Btf::parse(b.finish()).unwrap();
///
/// // A kernel without FLOAT gets an empty struct.
/// let mut edit = Editor::new(&btf);
/// edit.set_info(float, Kind::Struct, 0);
/// edit.set(float, Editor::NAME, 0);
/// let old = Btf::parse(edit.finish()).unwrap();
/// assert_eq!(old.ty(TypeId(1)).unwrap().kind(), Kind::Struct);
/// ```
#[derive(Clone, Debug)]
pub struct Editor {
    endian: Endian,
    types: Vec<u8>,
    offsets: Vec<usize>,
    strings: Vec<u8>,
    known: Option<HashMap<Vec<u8>, StrOffset>>,
}

impl Editor {
    /// The index of the word with the offset of the name.
    pub const NAME: u32 = 0;
    /// The index of the word with the size, or with the type to which the record refers.
    pub const SIZE_OR_TYPE: u32 = 2;

    /// Copies the own types and strings of `btf`, without a layout section.
    pub fn new(btf: &Btf<'_>) -> Self {
        let types = btf.types_section();
        Self {
            endian: btf.endian(),
            types: types.to_vec(),
            offsets: btf.table.offsets(types.len()).collect(),
            strings: btf.strings_section().to_vec(),
            known: None,
        }
    }

    /// Returns one past the last id.
    pub fn end_id(&self) -> TypeId {
        TypeId(to_u32(self.offsets.len()).saturating_add(1))
    }

    /// Returns a word of a record.
    pub fn word(&self, id: TypeId, word: u32) -> Option<u32> {
        self.endian.u32(&self.types, self.offset_of(id, word)?)
    }

    /// Changes a word of a record. Does nothing if the record or the word does not exist.
    pub fn set(&mut self, id: TypeId, word: u32, value: u32) {
        let bytes = self.endian.u32_bytes(value);
        let word = self.offset_of(id, word).and_then(|at| self.types.get_mut(at..)?.first_chunk_mut());
        if let Some(word) = word {
            *word = bytes;
        }
    }

    /// Returns the kind of a record.
    pub fn kind(&self, id: TypeId) -> Option<Kind> {
        self.word(id, 1).map(|info| Info(info).kind())
    }

    /// Returns the number of elements of a record, or the linkage of a FUNC.
    pub fn vlen(&self, id: TypeId) -> u32 {
        self.word(id, 1).map_or(0, |info| Info(info).vlen())
    }

    /// Returns the flag of a record: a STRUCT with bitfields, a signed ENUM.
    pub fn kflag(&self, id: TypeId) -> bool {
        self.word(id, 1).is_some_and(|info| Info(info).kflag())
    }

    /// Changes the kind of a record, without the flag. The record of the new kind has the same length.
    pub fn set_info(&mut self, id: TypeId, kind: Kind, vlen: u32) {
        self.set(id, 1, Info::new(kind, vlen, false).0);
    }

    /// Appends a type with a name, an info word of `kind` and `vlen` without the flag, and the `rest` of its
    /// words.
    pub fn push(&mut self, name: StrOffset, kind: Kind, vlen: u32, rest: &[u32]) -> TypeId {
        let id = self.end_id();
        self.offsets.push(self.types.len());
        self.endian.put_u32(&mut self.types, name.0);
        self.endian.put_u32(&mut self.types, Info::new(kind, vlen, false).0);
        for word in rest {
            self.endian.put_u32(&mut self.types, *word);
        }
        id
    }

    /// Returns the offset of a string, and appends the string if it is new.
    pub fn string(&mut self, text: &[u8]) -> StrOffset {
        if text.is_empty() {
            return StrOffset(0);
        }
        let strings = &mut self.strings;
        let known = self.known.get_or_insert_with(|| index_strings(strings));
        *known.entry_ref(text).or_insert_with(|| {
            let at = to_u32(strings.len());
            strings.extend_from_slice(text);
            strings.push(0);
            StrOffset(at)
        })
    }

    /// Returns whether the BTF has a string, at the beginning of one in its string section or as an appended
    /// one.
    pub fn has_string(&mut self, text: &[u8]) -> bool {
        let strings = &self.strings;
        self.known.get_or_insert_with(|| index_strings(strings)).contains_key(text)
    }

    /// Returns the bytes of the strings.
    pub fn string_bytes(&self) -> u32 {
        to_u32(self.strings.len())
    }

    /// Returns the string at an offset.
    pub fn name(&self, at: StrOffset) -> &[u8] {
        let rest = rest_from(&self.strings, at.index());
        rest.iter().position(|b| *b == 0).and_then(|end| rest.get(..end)).unwrap_or(rest)
    }

    /// Changes the bytes of a string in place, for every type that shares the string.
    pub fn map_string(&mut self, at: StrOffset, change: impl Fn(u8) -> u8) {
        self.known = None;
        for byte in self.strings.iter_mut().skip(at.index()).take_while(|b| **b != 0) {
            *byte = change(*byte);
        }
    }

    /// Returns the bytes of the edited BTF.
    pub fn finish(&self) -> Vec<u8> {
        assemble(self.endian, &self.types, None, &self.strings)
    }

    /// Returns the offset of a word in the type section.
    fn offset_of(&self, id: TypeId, word: u32) -> Option<usize> {
        let nth = id.index().checked_sub(1)?;
        let start = *self.offsets.get(nth)?;
        let end = self.offsets.get(nth.checked_add(1)?).copied().unwrap_or(self.types.len());
        let at = start.checked_add(to_usize(word).checked_mul(4)?)?;
        (at.checked_add(4)? <= end).then_some(at)
    }
}

/// Returns the offset of each distinct string. Of equal strings, the first offset.
fn index_strings(strings: &[u8]) -> HashMap<Vec<u8>, StrOffset> {
    let mut known = HashMap::new();
    let mut at = 0u32;
    for text in strings.split(|b| *b == 0) {
        known.entry_ref(text).or_insert(StrOffset(at));
        at = at.saturating_add(to_u32(text.len())).saturating_add(1);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    #[test]
    fn an_unchanged_copy_is_equal_and_words_are_bounded() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
            let bytes = b.finish();
            let btf = Btf::parse(bytes.clone()).unwrap();
            let mut edit = Editor::new(&btf);
            assert_eq!(edit.finish(), bytes);
            assert_eq!(edit.word(TypeId(1), 4), None, "an INT has four words");
            assert_eq!(edit.word(TypeId(2), 8), Some(32));
            edit.set(TypeId(1), 4, 7);
            edit.set(TypeId(9), 0, 7);
            assert_eq!(edit.finish(), bytes);
        }
    }

    #[test]
    fn appended_strings_and_types_are_found() {
        let mut b = Builder::new(Endian::Big);
        let int = b.int("int", 4, Builder::SIGNED);
        let btf = Btf::parse(b.finish()).unwrap();
        let mut edit = Editor::new(&btf);
        assert_eq!(edit.name(edit.clone().string(b"int")), b"int");
        let x = edit.string(b"x");
        assert_eq!(edit.string(b"x"), x);
        assert!(edit.has_string(b"int") && edit.has_string(b"x") && !edit.has_string(b"y"));
        let var = edit.push(x, Kind::Var, 0, &[int.0, 1]);
        edit.map_string(x, |_| b'y');
        let new = Btf::parse(edit.finish()).unwrap();
        let var = new.ty(var).unwrap();
        assert_eq!((var.kind(), var.linkage(), var.name().as_bytes()), (Kind::Var, Some(1), &b"y"[..]));
    }
}
