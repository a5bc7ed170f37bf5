//! Records of types, with the words of BTF records, before ids are known.

use crate::names::NameId;
use core::{
    iter::{Chain, StepBy},
    ops::Range,
    option,
};
use core_relo::{InternalError, btf::Kind, internal::Invariant as _};

/// A reference to a type: zero is `void`, other numbers are the index of a record plus one.
pub(crate) type TypeRef = u32;

/// Records of types.
///
/// The words of a record are those of a BTF record. Names are [`NameId`]s, types are [`TypeRef`]s.
#[derive(Debug, Default)]
pub(crate) struct Records {
    words: Vec<u32>,
    /// The end of each record in `words`.
    ends: Vec<u32>,
}

/// The kind of a record, the number of its elements and its flag, as in BTF.
pub(crate) fn info(kind: Kind, vlen: u16, kflag: bool) -> u32 {
    (u32::from(kflag) << 31) | (u32::from(kind.raw()) << 24) | u32::from(vlen)
}

/// Returns the kind in an info word.
pub(crate) fn kind_of(info: u32) -> Kind {
    u8::try_from((info >> 24) & 0x1f).map_or(Kind::Void, Kind::from_raw)
}

/// The positions of the words of a record that refer to types.
pub(crate) type TypeWords = Chain<option::IntoIter<usize>, StepBy<Range<usize>>>;

/// Returns the positions of the words that refer to types, in a record of `len` words.
pub(crate) fn type_words(kind: Kind, len: usize) -> TypeWords {
    let (first, elements, step) = match kind {
        Kind::Array => (Some(3), 4..5, 1),
        Kind::Struct | Kind::Union => (None, 4..len, 3),
        Kind::FuncProto => (Some(2), 4..len, 2),
        Kind::Ptr
        | Kind::Const
        | Kind::Volatile
        | Kind::Restrict
        | Kind::Typedef
        | Kind::TypeTag
        | Kind::DeclTag
        | Kind::Func
        | Kind::Var => (Some(2), 0..0, 1),
        _ => (None, 0..0, 1),
    };
    first.into_iter().chain(elements.step_by(step))
}

/// Returns the positions of the names of members, parameters and enumerators, in a record of `len` words.
fn element_name_words(kind: Kind, len: usize) -> StepBy<Range<usize>> {
    match kind {
        Kind::Struct | Kind::Union | Kind::Enum64 => (3..len).step_by(3),
        Kind::FuncProto | Kind::Enum => (3..len).step_by(2),
        _ => (0..0).step_by(1),
    }
}

/// The invariant of [`Records`].
const COMPLETE: &str = "a record has the words of its kind";

impl Records {
    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a record.
    pub(crate) fn get(&self, index: usize) -> Result<Record<'_>, InternalError> {
        let words = self.range(index).and_then(|range| self.words.get(range));
        Record::new(words.invariant("the index is that of a record")?)
    }

    /// Returns the range of a record's words.
    fn range(&self, index: usize) -> Option<Range<usize>> {
        let start = match index.checked_sub(1) {
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
            None => 0,
        };
        Some(start..usize::try_from(*self.ends.get(index)?).ok()?)
    }

    /// Adds a record and returns its reference, or `None` if there are too many words for 32 bits.
    pub(crate) fn add(&mut self, words: impl IntoIterator<Item = u32>) -> Option<TypeRef> {
        self.words.extend(words);
        self.ends.push(u32::try_from(self.words.len()).ok()?);
        u32::try_from(self.ends.len()).ok()
    }

    /// Replaces a word of a record.
    pub(crate) fn set(&mut self, index: usize, at: usize, word: u32) -> Result<(), InternalError> {
        let words = self.range(index).and_then(|range| self.words.get_mut(range));
        *words.and_then(|words| words.get_mut(at)).invariant(COMPLETE)? = word;
        Ok(())
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }

    /// Returns all records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Record<'_>, InternalError>> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// A view of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'r> {
    pub(crate) name: NameId,
    /// The kind, the number of elements and the flag, see [`info`].
    pub(crate) info: u32,
    words: &'r [u32],
}

impl<'r> Record<'r> {
    fn new(words: &'r [u32]) -> Result<Self, InternalError> {
        let [name, info, _size_or_type, ..] = words else { return Err(InternalError::new(COMPLETE)) };
        Ok(Self { name: NameId(*name), info: *info, words })
    }

    pub(crate) fn kind(self) -> Kind {
        kind_of(self.info)
    }

    /// Returns the flag: whether a struct has bitfields, or whether a forward declaration is that of a union.
    pub(crate) fn kflag(self) -> bool {
        self.info >> 31 == 1
    }

    /// Returns the kind of the record's tag in C: that of the definition if the record is a forward
    /// declaration, and ENUM for enumerations of any size.
    pub(crate) fn tag_kind(self) -> Kind {
        match self.kind() {
            Kind::Fwd if self.kflag() => Kind::Union,
            Kind::Fwd => Kind::Struct,
            Kind::Enum64 => Kind::Enum,
            kind => kind,
        }
    }

    /// Returns all words, the name and the info word included.
    pub(crate) fn words(self) -> &'r [u32] {
        self.words
    }

    /// Returns the word at a position.
    pub(crate) fn word(self, at: usize) -> Result<u32, InternalError> {
        self.words.get(at).copied().invariant(COMPLETE)
    }

    /// Returns the positions of the words that refer to types.
    pub(crate) fn type_words(self) -> TypeWords {
        type_words(self.kind(), self.words.len())
    }

    /// Returns the types to which the record refers.
    pub(crate) fn targets(self) -> impl Iterator<Item = Result<TypeRef, InternalError>> {
        self.type_words().map(move |at| self.word(at))
    }

    /// Replaces the contents of `out` by the words of the record, with other references to types.
    pub(crate) fn copy_with_targets<E: From<InternalError>>(
        self,
        out: &mut Vec<u32>,
        map: impl FnMut(TypeRef) -> Result<TypeRef, E>,
    ) -> Result<(), E> {
        out.clear();
        out.extend_from_slice(self.words);
        replace_words(out, self.type_words(), map)
    }

    /// Replaces the names of members, parameters and enumerators in a copy of the record's words.
    pub(crate) fn replace_element_names<E: From<InternalError>>(
        self,
        copy: &mut [u32],
        map: impl FnMut(NameId) -> Result<u32, E>,
    ) -> Result<(), E> {
        let mut map = map;
        replace_words(copy, element_name_words(self.kind(), self.words.len()), |name| map(NameId(name)))
    }

    /// Returns whether the record is a named definition of a struct or union.
    pub(crate) fn is_named_composite(self) -> bool {
        self.kind().is_composite() && !self.name.is_empty()
    }

    /// Returns whether the record is a named definition of a struct, union or enumeration.
    pub(crate) fn is_named_definition(self) -> bool {
        let is_tagged = self.kind().is_composite() || self.kind().is_enum();
        is_tagged && !self.name.is_empty() && !self.is_declaration()
    }

    /// Returns whether the record is a forward declaration of a struct, union or enumeration.
    ///
    /// That of an enumeration is an ENUM without enumerators. C has no empty enumerations.
    pub(crate) fn is_declaration(self) -> bool {
        let is_empty = element_name_words(self.kind(), self.words.len()).len() == 0;
        self.kind() == Kind::Fwd || (self.kind().is_enum() && !self.name.is_empty() && is_empty)
    }
}

/// Replaces the words at these positions.
fn replace_words<E: From<InternalError>>(
    words: &mut [u32],
    positions: impl Iterator<Item = usize>,
    mut map: impl FnMut(u32) -> Result<u32, E>,
) -> Result<(), E> {
    for at in positions {
        let word = words.get_mut(at).invariant(COMPLETE)?;
        *word = map(*word)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // A missing record or word is a bug of this crate. An empty record or a zero would become a wrong type.
    #[test]
    fn a_missing_record_or_word_is_an_error() {
        let mut records = Records::default();
        assert_eq!(records.add([0, info(Kind::Array, 0, false), 0, 1]), Some(1));
        assert_eq!(records.add([0]), Some(2));
        let Ok(array) = records.get(0) else { panic!("the record has a head") };
        let targets: Vec<_> = array.targets().collect();
        assert_eq!(targets, [Ok(1), Err(InternalError::new(COMPLETE))]);
        assert_eq!(array.word(4), Err(InternalError::new(COMPLETE)));
        assert_eq!(records.get(1).err(), Some(InternalError::new(COMPLETE)));
        assert!(records.get(2).is_err());
        assert!(records.set(0, 4, 7).is_err() && records.set(2, 0, 7).is_err());
    }
}
