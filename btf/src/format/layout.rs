//! The words of each kind's record, and which of them refer to a name or a type.
//!
//! [`Kind::layout`] is the only list of references. Parsing, validation, import, deduplication and relocation
//! of split BTF all derive their rules from this list.

use super::kind::Kind;
use core::iter;

/// The meaning of a 32-bit word of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordMeaning {
    /// The offset of a name in the string section.
    Name,
    /// The id of a type.
    Id,
    /// Any other value.
    Value,
}

/// The words of a record after its name and its info word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordLayout {
    /// The third word of the record: a size, a type, or nothing.
    pub(crate) third: WordMeaning,
    /// The words that follow the third word once.
    pub(crate) fixed: &'static [WordMeaning],
    /// The words of each of the `vlen` elements.
    pub(crate) element: &'static [WordMeaning],
}

/// The words of `struct btf_type`, with which every record begins: name, info, and size or type.
const COMMON_WORDS: usize = 3;

impl Kind {
    /// Returns the layout of this kind's records, or `None` for an unknown kind.
    pub(crate) const fn layout(self) -> Option<RecordLayout> {
        use WordMeaning::{Id, Name, Value};
        let (third, fixed, element): (WordMeaning, &'static [WordMeaning], &'static [WordMeaning]) =
            match self {
                Self::Int => (Value, &[Value], &[]),
                Self::Ptr
                | Self::Typedef
                | Self::Volatile
                | Self::Const
                | Self::Restrict
                | Self::Func
                | Self::TypeTag => (Id, &[], &[]),
                Self::Var | Self::DeclTag => (Id, &[Value], &[]),
                // Element type, index type, number of elements.
                Self::Array => (Value, &[Id, Id, Value], &[]),
                Self::Struct | Self::Union => (Value, &[], &[Name, Id, Value]),
                Self::Enum => (Value, &[], &[Name, Value]),
                Self::Enum64 => (Value, &[], &[Name, Value, Value]),
                Self::FuncProto => (Id, &[], &[Name, Id]),
                Self::Datasec => (Value, &[], &[Id, Value, Value]),
                Self::Fwd | Self::Float => (Value, &[], &[]),
                Self::Void | Self::Unknown(_) => return None,
            };
        Some(RecordLayout { third, fixed, element })
    }

    /// Returns whether the third word of this kind's records is the id of a type.
    #[inline]
    pub(crate) const fn has_target(self) -> bool {
        matches!(self.layout(), Some(RecordLayout { third: WordMeaning::Id, .. }))
    }
}

impl RecordLayout {
    /// Returns the sizes of the record's parts.
    pub(crate) const fn size(self) -> RecordSize {
        RecordSize { fixed: byte_len(self.fixed), element: byte_len(self.element) }
    }

    /// Returns the meaning of the word at this index, counted from the start of the record.
    fn word(self, index: usize) -> WordMeaning {
        match index {
            0 => WordMeaning::Name,
            1 => WordMeaning::Value,
            2 => self.third,
            _ => {
                let after_common = index.saturating_sub(COMMON_WORDS);
                let in_elements = after_common.saturating_sub(self.fixed.len());
                let in_element = in_elements.checked_rem(self.element.len());
                let word = self.fixed.get(after_common).or_else(|| self.element.get(in_element?));
                word.copied().unwrap_or(WordMeaning::Value)
            }
        }
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a layout has at most three words; TryFrom is not const"
)]
const fn byte_len(words: &[WordMeaning]) -> u32 {
    (words.len() as u32).wrapping_mul(4)
}

/// The sizes, in bytes, of the parts of a record after its first twelve bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordSize {
    /// Bytes that follow once.
    pub(crate) fixed: u32,
    /// Bytes of each element.
    pub(crate) element: u32,
}

impl RecordSize {
    /// Returns the whole words after the first twelve bytes of a record with `vlen` elements.
    #[cfg(any(test, feature = "transform"))]
    #[inline]
    pub(crate) fn trailer_words(self, vlen: u32) -> usize {
        crate::ids::to_usize(self.record_len(vlen).wrapping_sub(12) / 4)
    }

    /// Returns the bytes of a record with `vlen` elements, its first twelve included. 24 bits times 8 bits do
    /// not saturate.
    #[inline]
    pub(crate) fn record_len(self, vlen: u32) -> u32 {
        vlen.saturating_mul(self.element).saturating_add(self.fixed).saturating_add(12)
    }
}

/// The words of one record that refer to a name or a type: the index of each word, and its meaning.
///
/// The order is that of the words, as in libbpf's `BTF_FIELD_ITER_IDS` and `BTF_FIELD_ITER_STRS`. A record of
/// unknown kind refers only to its own name, because the meaning of its other words is not known.
#[derive(Clone, Debug)]
pub(crate) struct References {
    layout: RecordLayout,
    next: usize,
    end: usize,
}

impl References {
    /// Returns the references of a record of `words` words.
    pub(crate) fn new(kind: Kind, words: usize) -> Self {
        let unknown = RecordLayout { third: WordMeaning::Value, fixed: &[], element: &[] };
        Self { layout: kind.layout().unwrap_or(unknown), next: 0, end: words }
    }

    /// Returns the indices of the words that refer to types.
    pub(crate) fn ids(self) -> IdWords {
        fn id(reference: (usize, WordMeaning)) -> Option<usize> {
            (reference.1 == WordMeaning::Id).then_some(reference.0)
        }
        self.filter_map(id)
    }
}

/// The indices of the words of a record that refer to types.
pub(crate) type IdWords = iter::FilterMap<References, fn((usize, WordMeaning)) -> Option<usize>>;

impl Iterator for References {
    type Item = (usize, WordMeaning);

    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.end {
            let index = self.next;
            self.next = index.wrapping_add(1);
            let word = self.layout.word(index);
            if word != WordMeaning::Value {
                return Some((index, word));
            }
        }
        None
    }
}
