//! Conversion of a BTF to another byte order, and with or without a layout section.

use super::output::assemble;
use crate::{
    endian::Endian,
    format::{Kind, RecordLayout},
    ids::TypeId,
    parse::Btf,
};
use alloc::vec::Vec;
use core::num::TryFromIntError;
use thiserror::Error;

/// A change of the layout section, which gives the sizes of the records of each kind (Linux 7.1 and later).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutChange {
    /// The layout section stays as it is.
    #[default]
    Keep,
    /// A BTF without a layout section gets one for all known kinds.
    Add,
    /// The layout section is left out.
    Remove,
}

/// The reason why a BTF cannot be converted.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A record of an unknown kind can be skipped only by the layout section.
    #[error("type [{id}]: unknown kind {kind}, which nobody can skip without the layout section")]
    UnknownKind {
        /// The type.
        id: TypeId,
        /// The raw kind.
        kind: u8,
    },
    /// The type section does not consist of whole words, so that its byte order cannot be changed.
    #[error("the type section has {len} bytes, expected a multiple of 4")]
    PartialWord {
        /// The length of the type section in bytes.
        len: usize,
    },
    /// A broken invariant of this crate: a bug, whatever the input.
    #[error("internal error, please report it: {invariant}")]
    Internal {
        /// The invariant that does not hold.
        invariant: &'static str,
    },
}

crate::debug_as_message!(ConvertError);

/// Returns a BTF in another byte order, or with a changed layout section. Ids and string offsets stay the
/// same.
///
/// The base of a split BTF is converted separately.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, LayoutChange, convert};
/// let mut b = Builder::new(Endian::Little);
/// b.int("int", 4, Builder::SIGNED);
/// let big = convert(&Btf::parse(b.finish()).unwrap(), Endian::Big, LayoutChange::Add).unwrap();
/// assert_eq!(Btf::parse(big).unwrap().endian(), Endian::Big);
/// ```
pub fn convert(btf: &Btf<'_>, endian: Endian, layout: LayoutChange) -> Result<Vec<u8>, ConvertError> {
    let old_endian = btf.endian();
    let old_types = btf.types_section();
    let (words, rest) = old_types.as_chunks::<4>();
    let types = if old_endian == endian {
        old_types.to_vec()
    } else if rest.is_empty() {
        words.iter().flat_map(|word| endian.u32_bytes(old_endian.word(*word))).collect()
    } else {
        return Err(ConvertError::PartialWord { len: old_types.len() });
    };
    let old_layout = btf.layout_section();
    let layout = match layout {
        LayoutChange::Add if old_layout.is_empty() => Some(known_layout()?),
        LayoutChange::Keep | LayoutChange::Add if old_layout.is_empty() => None,
        LayoutChange::Keep | LayoutChange::Add => Some(convert_layout(old_layout, old_endian, endian)),
        LayoutChange::Remove => {
            // Kind 0 is void, which has no record of a known layout either.
            let unknown = btf.types().find(|ty| ty.kind().layout().is_none());
            if let Some(ty) = unknown {
                return Err(ConvertError::UnknownKind { id: ty.id(), kind: ty.kind().raw() });
            }
            None
        }
    };
    Ok(assemble(endian, &types, layout.as_deref(), btf.strings_section()))
}

/// Returns the layout section for the known kinds, in order of their numbers.
fn known_layout() -> Result<Vec<u8>, ConvertError> {
    let sizes = (0..=u8::MAX).map(Kind::from_raw).take_while(|kind| !matches!(kind, Kind::Unknown(_)));
    let entry = |kind: Kind| {
        let size = kind.layout().map(RecordLayout::size);
        // `void` has no record.
        let (fixed, element) = size.map_or((0, 0), |size| (size.fixed, size.element));
        Ok([u8::try_from(fixed)?, u8::try_from(element)?, 0, 0])
    };
    let entries: Result<Vec<_>, TryFromIntError> = sizes.map(entry).collect();
    let too_large = ConvertError::Internal { invariant: "the size of each kind's record fits a byte" };
    entries.map(|entries| entries.concat()).map_err(|_too_large| too_large)
}

/// Returns a layout section with the two bytes of flags of each kind in another byte order.
fn convert_layout(layout: &[u8], from: Endian, to: Endian) -> Vec<u8> {
    let mut out = layout.to_vec();
    if from != to {
        for [_, _, flags @ ..] in out.as_chunks_mut::<4>().0 {
            flags.reverse();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, BuiltRecord};
    use alloc::string::ToString as _;

    fn sample(endian: Endian, layout: Option<&[[u8; 2]]>) -> Builder {
        let mut b = Builder::new(endian);
        if let Some(layout) = layout {
            b.layout(layout);
        }
        let int = b.int("int", 4, Builder::SIGNED);
        let s = b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
        b.signed_enumeration64("e", 8, &[("A", u64::MAX)]);
        b.decl_tag("tag", s, 1);
        b
    }

    #[test]
    fn the_other_byte_order_is_the_same_btf_and_twice_is_the_original() {
        for (from, to) in [(Endian::Little, Endian::Big), (Endian::Big, Endian::Little)] {
            let bytes = sample(from, None).finish();
            let converted = convert(&Btf::parse(bytes.clone()).unwrap(), to, LayoutChange::Keep).unwrap();
            assert_eq!(converted, sample(to, None).finish());
            let back = convert(&Btf::parse(converted).unwrap(), from, LayoutChange::Keep).unwrap();
            assert_eq!(back, bytes);
        }
    }

    #[test]
    fn a_layout_section_is_added_and_removed() {
        let plain = sample(Endian::Little, None).finish();
        let with = convert(&Btf::parse(plain.clone()).unwrap(), Endian::Little, LayoutChange::Add).unwrap();
        let btf = Btf::parse(with.clone()).unwrap();
        assert_eq!(btf.layout_section().len(), 20 * 4, "twenty kinds, with void");
        assert_eq!(btf.layout_section().get(4 * 4..4 * 5), Some(&[0, 12, 0, 0][..]), "a member has 12 bytes");
        assert_eq!(convert(&btf, Endian::Little, LayoutChange::Add).unwrap(), with);
        assert_eq!(convert(&btf, Endian::Little, LayoutChange::Remove).unwrap(), plain);
    }

    #[test]
    fn flags_of_the_layout_change_their_byte_order() {
        assert_eq!(convert_layout(&[1, 2, 3, 4], Endian::Little, Endian::Big), [1, 2, 4, 3]);
        assert_eq!(convert_layout(&[1, 2, 3, 4], Endian::Big, Endian::Big), [1, 2, 3, 4]);
    }

    #[test]
    fn a_record_of_kind_0_needs_the_layout() {
        let mut b = Builder::new(Endian::Little);
        b.layout(&[[0, 0]]);
        b.raw("void", BuiltRecord::new(Kind::Void));
        let btf = Btf::parse(b.finish()).unwrap();
        assert_eq!(
            convert(&btf, Endian::Little, LayoutChange::Remove),
            Err(ConvertError::UnknownKind { id: TypeId(1), kind: 0 })
        );
    }

    #[test]
    fn unknown_kinds_need_the_layout_and_whole_words() {
        let with_unknown = |fixed: u8| {
            let mut b = Builder::new(Endian::Little);
            let mut layout = [[0, 0]; 21];
            layout[20] = [fixed, 0];
            b.layout(&layout);
            b.raw(
                "new",
                BuiltRecord { size_or_type: 7, words: &[8], ..BuiltRecord::new(Kind::from_raw(20)) },
            );
            b.finish()
        };
        let btf = Btf::parse(with_unknown(4)).unwrap();
        let error = convert(&btf, Endian::Little, LayoutChange::Remove).unwrap_err();
        assert_eq!(
            error.to_string(),
            "type [1]: unknown kind 20, which nobody can skip without the layout section"
        );
        let big = Btf::parse(convert(&btf, Endian::Big, LayoutChange::Keep).unwrap()).unwrap();
        assert_eq!(big.ty(TypeId(1)).unwrap().size_or_type(), 7);
    }
}
