//! Records of types, with the words of BTF records, before ids are known.

use crate::names::NameId;
use core_relo::btf::Kind;

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

/// The words of a record that refer to types.
#[derive(Clone, Debug)]
pub(crate) struct TypeWords {
    /// The first word, which is not part of the elements.
    first: Option<usize>,
    next: usize,
    step: usize,
    len: usize,
}

impl TypeWords {
    /// Returns the words of a record of `len` words that refer to types.
    pub(crate) fn new(kind: Kind, len: usize) -> Self {
        let (first, next, step) = match kind {
            Kind::Array => (Some(3), 4, len),
            Kind::Struct | Kind::Union => (None, 4, 3),
            Kind::FuncProto => (Some(2), 4, 2),
            Kind::Ptr
            | Kind::Const
            | Kind::Volatile
            | Kind::Restrict
            | Kind::Typedef
            | Kind::TypeTag
            | Kind::DeclTag
            | Kind::Func
            | Kind::Var => (Some(2), len, 1),
            _ => (None, len, 1),
        };
        Self { first, next, step, len }
    }
}

impl Iterator for TypeWords {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let at = self.next;
        if at >= self.len {
            return None;
        }
        self.next = at.saturating_add(self.step.max(1));
        Some(at)
    }
}

/// The words of a record that are names.
pub(crate) fn name_words(kind: Kind, len: usize) -> impl Iterator<Item = usize> {
    let step = match kind {
        Kind::Struct | Kind::Union | Kind::Enum64 => 3,
        Kind::FuncProto | Kind::Enum => 2,
        _ => usize::MAX,
    };
    let elements = if step == usize::MAX { 0..0 } else { 3..len };
    core::iter::once(0).chain(elements.step_by(step))
}

impl Records {
    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the words of a record; none for an index past the end.
    pub(crate) fn get(&self, index: usize) -> &[u32] {
        let range = || {
            let start = match index.checked_sub(1) {
                Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
                None => 0,
            };
            Some(start..usize::try_from(*self.ends.get(index)?).ok()?)
        };
        range().and_then(|range| self.words.get(range)).unwrap_or_default()
    }

    /// Adds a record and returns its reference, or `None` if there are too many words for 32 bits.
    pub(crate) fn add(&mut self, words: impl IntoIterator<Item = u32>) -> Option<TypeRef> {
        self.words.extend(words);
        self.ends.push(u32::try_from(self.words.len()).ok()?);
        u32::try_from(self.ends.len()).ok()
    }

    /// Replaces a word of a record.
    pub(crate) fn set(&mut self, index: usize, at: usize, word: u32) -> Option<()> {
        let start = match index.checked_sub(1) {
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
            None => 0,
        };
        *self.words.get_mut(start.checked_add(at)?)? = word;
        Some(())
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }

    /// Returns all records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// A view of a record's first words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHead {
    pub(crate) name: NameId,
    pub(crate) kind: Kind,
}

impl RecordHead {
    /// Reads the head of a record.
    pub(crate) fn new(words: &[u32]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        Self { name: NameId(word(0)), kind: kind_of(word(1)) }
    }

    /// Returns whether the record is a named definition of a struct or union.
    pub(crate) fn is_named_composite(self) -> bool {
        self.kind.is_composite() && !self.name.is_empty()
    }
}
