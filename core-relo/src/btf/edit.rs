//! A copy of a BTF whose words can be changed and whose end can grow: what a loader hands to a kernel.

use super::{Btf, Kind, header::MAGIC, kind::Info};
use crate::{
    endian::Endian,
    ids::{StrOffset, TypeId, to_u32, to_usize},
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// A BTF being changed, word by word. Ids and string offsets stay as they are; new ones go on at the end.
///
/// A record's words are numbered from 0: name, info, size or type, then what its kind brings. Nothing is checked until the
/// result is parsed again.
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Edit, Kind}, Endian, TypeId};
///
/// let mut b = Builder::new(Endian::Little);
/// let float = b.float("float", 4);
/// let btf = Btf::parse(b.finish()).unwrap();
///
/// // What an old kernel is given instead.
/// let mut edit = Edit::new(&btf);
/// edit.set_info(float, Kind::Struct, 0, false);
/// edit.set(float, Edit::NAME, 0);
/// let old = Btf::parse(edit.finish()).unwrap();
/// assert_eq!(old.ty(TypeId(1)).unwrap().kind(), Kind::Struct);
/// ```
#[derive(Clone, Debug)]
pub struct Edit {
    endian: Endian,
    types: Vec<u8>,
    offsets: Vec<usize>,
    strings: Vec<u8>,
    known: Option<HashMap<Vec<u8>, StrOffset>>,
}

impl Edit {
    /// The number of the word that holds a record's name.
    pub const NAME: u32 = 0;
    /// The number of the word that holds a record's size or the type it refers to.
    pub const SIZE_OR_TYPE: u32 = 2;

    /// A copy of `btf`'s own types and strings; a layout section is left out.
    pub fn new(btf: &Btf<'_>) -> Self {
        let start = btf.header.types.start;
        Self {
            endian: btf.header.endian,
            types: btf.data.get(btf.header.types.clone()).unwrap_or_default().to_vec(),
            offsets: btf.offsets().map(|at| at.saturating_sub(start)).collect(),
            strings: btf.data.get(btf.header.strings.clone()).unwrap_or_default().to_vec(),
            known: None,
        }
    }

    /// One past the last id.
    pub fn end_id(&self) -> TypeId {
        TypeId(to_u32(self.offsets.len()).saturating_add(1))
    }

    /// A word of a record.
    pub fn word(&self, id: TypeId, word: u32) -> Option<u32> {
        self.endian.u32(&self.types, self.place(id, word)?)
    }

    /// Changes a word of a record; one that is not there is left alone.
    pub fn set(&mut self, id: TypeId, word: u32, value: u32) {
        let bytes = self.endian.u32_bytes(value);
        let place = self.place(id, word).and_then(|at| self.types.get_mut(at..)?.first_chunk_mut());
        if let Some(place) = place {
            *place = bytes;
        }
    }

    /// What a record is.
    pub fn kind(&self, id: TypeId) -> Option<Kind> {
        self.word(id, 1).map(|info| Info(info).kind())
    }

    /// A record's number of elements, or a FUNC's linkage.
    pub fn vlen(&self, id: TypeId) -> u32 {
        self.word(id, 1).map_or(0, |info| Info(info).vlen())
    }

    /// Makes a record another kind, which has to have the same length.
    pub fn set_info(&mut self, id: TypeId, kind: Kind, vlen: u32, kflag: bool) {
        self.set(id, 1, Info::new(kind, vlen, kflag).0);
    }

    /// Appends a type: its words but the second, which is made of `kind`, `vlen` and `kflag`.
    pub fn push(&mut self, name: StrOffset, (kind, vlen, kflag): (Kind, u32, bool), rest: &[u32]) -> TypeId {
        let id = self.end_id();
        self.offsets.push(self.types.len());
        self.endian.put_u32(&mut self.types, name.0);
        self.endian.put_u32(&mut self.types, Info::new(kind, vlen, kflag).0);
        for word in rest {
            self.endian.put_u32(&mut self.types, *word);
        }
        id
    }

    /// Where a string lies; it is appended if there is none like it.
    pub fn string(&mut self, text: &[u8]) -> StrOffset {
        if text.is_empty() {
            return StrOffset(0);
        }
        let strings = &mut self.strings;
        let known = self.known.get_or_insert_with(|| strings_of(strings));
        *known.entry_ref(text).or_insert_with(|| {
            let at = to_u32(strings.len());
            strings.extend_from_slice(text);
            strings.push(0);
            StrOffset(at)
        })
    }

    /// The string at an offset.
    pub fn name(&self, at: StrOffset) -> &[u8] {
        let rest = self.strings.get(at.index()..).unwrap_or_default();
        rest.split(|b| *b == 0).next().unwrap_or_default()
    }

    /// Changes the bytes of a string where it lies, for every type that shares it.
    pub fn map_string(&mut self, at: StrOffset, change: impl Fn(u8) -> u8) {
        self.known = None;
        for byte in self.strings.iter_mut().skip(at.index()).take_while(|b| **b != 0) {
            *byte = change(*byte);
        }
    }

    /// The BTF, with a header of 24 bytes.
    pub fn finish(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(self.types.len().saturating_add(self.strings.len()).saturating_add(24));
        self.endian.put_u16(&mut out, MAGIC);
        out.extend_from_slice(&[1, 0]);
        let (types, strings) = (to_u32(self.types.len()), to_u32(self.strings.len()));
        for word in [24, 0, types, types, strings] {
            self.endian.put_u32(&mut out, word);
        }
        out.extend_from_slice(&self.types);
        out.extend_from_slice(&self.strings);
        out
    }

    fn place(&self, id: TypeId, word: u32) -> Option<usize> {
        let nth = id.index().checked_sub(1)?;
        let start = *self.offsets.get(nth)?;
        let end = self.offsets.get(nth.checked_add(1)?).copied().unwrap_or(self.types.len());
        let at = start.checked_add(to_usize(word).checked_mul(4)?)?;
        (at.checked_add(4)? <= end).then_some(at)
    }
}

/// Where each string begins; of equal ones the first.
fn strings_of(strings: &[u8]) -> HashMap<Vec<u8>, StrOffset> {
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
    use crate::btf::Builder;

    #[test]
    fn an_unchanged_copy_is_the_same_and_words_are_bounded() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
            let bytes = b.finish();
            let btf = Btf::parse(bytes.clone()).unwrap();
            let mut edit = Edit::new(&btf);
            assert_eq!(edit.finish(), bytes);
            assert_eq!(edit.word(TypeId(1), 4), None, "an INT has four words");
            assert_eq!(edit.word(TypeId(2), 8), Some(32));
            edit.set(TypeId(1), 4, 7);
            edit.set(TypeId(9), 0, 7);
            assert_eq!(edit.finish(), bytes);
        }
    }

    #[test]
    fn what_is_appended_is_found_again() {
        let mut b = Builder::new(Endian::Big);
        let int = b.int("int", 4, Builder::SIGNED);
        let btf = Btf::parse(b.finish()).unwrap();
        let mut edit = Edit::new(&btf);
        assert_eq!(edit.name(edit.clone().string(b"int")), b"int");
        let x = edit.string(b"x");
        assert_eq!(edit.string(b"x"), x);
        let var = edit.push(x, (Kind::Var, 0, false), &[int.0, 1]);
        edit.map_string(x, |_| b'y');
        let new = Btf::parse(edit.finish()).unwrap();
        let var = new.ty(var).unwrap();
        assert_eq!((var.kind(), var.linkage(), var.name().as_bytes()), (Kind::Var, Some(1), &b"y"[..]));
    }
}
