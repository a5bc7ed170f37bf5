//! The complete scan of the type section, which finds the records and reports the first record that is out of
//! bounds.
//!
//! The scan reads the BTFs that [`super::fast_path`] does not accept: those with kinds that the layout
//! section describes, and those with blocks of records longer than [`BLOCK_SPAN`](super::table::BLOCK_SPAN).

use super::{
    error::BtfError,
    header::Header,
    table::{Offsets, RecordTable},
};
use crate::{
    format::{Info, Kind},
    ids::{TypeId, to_u32, to_usize},
};
use alloc::vec::Vec;

/// Finds the records of a BTF whose first own type is `first_id`. Every record lies within the type section;
/// references are not validated.
pub(super) fn find_records(data: &[u8], header: &Header, first_id: TypeId) -> Result<RecordTable, BtfError> {
    let types = header.types_of(data);
    let section_len = to_u32(types.len());
    let (mut offsets, mut kinds) = (Vec::new(), Vec::new());
    let out_of_memory = |types| BtfError::OutOfMemory { types };
    let mut rest = types;
    let mut id = first_id;
    while !rest.is_empty() {
        let from_end = to_u32(rest.len());
        let offset = section_len.wrapping_sub(from_end);
        let bounds = |kind, vlen| BtfError::TypeBounds { id, kind, vlen, offset, section_len };
        let info = header.endian.u32(rest, 4).map(Info).ok_or(bounds(Kind::Void, 0))?;
        let (kind, raw) = (info.kind(), info.kind_raw());
        let unknown = BtfError::UnknownKind { id, kind: raw, offset };
        let size = match kind.layout() {
            Some(layout) => layout.size(),
            None => header.record_size(data, raw).ok_or(unknown)?,
        };
        let len = to_usize(size.record_len(info.vlen()));
        rest = rest.get(len..).ok_or(bounds(kind, info.vlen()))?;
        offsets.try_reserve(1).map_err(|_no_memory| out_of_memory(offsets.len()))?;
        kinds.try_reserve(1).map_err(|_no_memory| out_of_memory(offsets.len()))?;
        offsets.push(from_end);
        kinds.push(info.high_byte());
        id = TypeId(id.0.checked_add(1).ok_or(BtfError::TooManyTypes)?);
    }
    Ok(RecordTable { offsets: Offsets::Wide(offsets), kinds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Btf, Builder, BuiltRecord, endian::Endian};
    use alloc::vec;

    fn in_both_orders(test: impl Fn(Builder)) {
        for endian in [Endian::Little, Endian::Big] {
            test(Builder::new(endian));
        }
    }

    /// Returns the bytes from each record to the end of the section.
    fn offsets_from_end(btf: &Btf<'_>) -> Vec<u32> {
        let len = btf.types_section().len();
        btf.table.offsets(len).map(|at| to_u32(len.wrapping_sub(at))).collect()
    }

    /// Parses the BTF with its type section cut to `len` bytes.
    fn cut(b: &Builder, endian: Endian, len: u32) -> Result<Btf<'static>, BtfError> {
        let mut data = b.finish();
        data[12..16].copy_from_slice(&endian.u32_bytes(len));
        Btf::parse(data)
    }

    #[test]
    fn a_truncated_record_is_an_error_with_its_id() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, 0);
            b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
            for len in 0..52u32 {
                let (id, offset) = if len <= 16 { (1, 0) } else { (2, 16) };
                let (kind, vlen) = match len - offset {
                    0..8 => (Kind::Void, 0),
                    _ if id == 1 => (Kind::Int, 0),
                    _ => (Kind::Struct, 2),
                };
                let expected = BtfError::TypeBounds { id: TypeId(id), kind, vlen, offset, section_len: len };
                let got = cut(&b, endian, len);
                match len {
                    0 | 16 => assert_eq!(got.unwrap().table.len(), usize::from(len == 16)),
                    _ => assert_eq!(got.err(), Some(expected), "{len} bytes"),
                }
            }
            assert_eq!(offsets_from_end(&cut(&b, endian, 52).unwrap()), [52, 36]);
        }
    }

    #[test]
    fn a_truncated_record_of_any_kind_is_an_error() {
        let fixed = [(Kind::Int, 1), (Kind::Var, 1), (Kind::DeclTag, 1), (Kind::Array, 3)];
        let each = [
            (Kind::Struct, 3),
            (Kind::Union, 3),
            (Kind::Datasec, 3),
            (Kind::Enum64, 3),
            (Kind::Enum, 2),
            (Kind::FuncProto, 2),
        ];
        let elements = |vlen: u32| each.map(|(kind, words)| (kind, words * vlen, vlen));
        let fixed = fixed.map(|(kind, words)| (kind, words, 0));
        for (kind, words, vlen) in fixed.into_iter().chain(elements(1)).chain(elements(3)) {
            in_both_orders(|b| {
                let build = |words: u32| {
                    let mut b = b.clone();
                    b.raw(
                        "",
                        BuiltRecord { vlen, words: &vec![0; to_usize(words)], ..BuiltRecord::new(kind) },
                    );
                    Btf::parse(b.finish())
                };
                assert_eq!(offsets_from_end(&build(words).unwrap()), [12 + 4 * words], "{kind}");
                let section_len = 12 + 4 * (words - 1);
                let short = BtfError::TypeBounds { id: TypeId(1), kind, vlen, offset: 0, section_len };
                assert_eq!(build(words - 1).err(), Some(short));
            });
        }
    }

    #[test]
    fn a_vlen_beyond_the_section_is_an_error_without_allocation() {
        for vlen in [2, 65_536, 0x00ff_ffff] {
            in_both_orders(|mut b| {
                b.raw(
                    "",
                    BuiltRecord {
                        vlen,
                        size_or_type: 8,
                        words: &[0, 0, 0],
                        ..BuiltRecord::new(Kind::Struct)
                    },
                );
                let (id, kind) = (TypeId(1), Kind::Struct);
                let expected = BtfError::TypeBounds { id, kind, vlen, offset: 0, section_len: 24 };
                assert_eq!(Btf::parse(b.finish()).err(), Some(expected));
            });
        }
    }

    #[test]
    fn the_tables_memory_is_proportional_to_the_data() {
        in_both_orders(|mut b| {
            for _ in 0..1025 {
                b.pointer(TypeId::VOID);
            }
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.table.len(), 1025);
            let Offsets::Compact { blocks, low16 } = &btf.table.offsets else { panic!("{:?}", btf.table) };
            assert!(blocks.capacity() < 64 && low16.capacity() < 2 * 1025, "{blocks:?}");
        });
    }

    #[test]
    fn an_unknown_kind_is_skipped_with_a_layout_and_refused_without() {
        let parse_unknown = |mut b: Builder, entries: &[[u8; 2]]| {
            b.int("int", 4, 0);
            b.raw(
                "unknown",
                BuiltRecord {
                    kind: Kind::Unknown(20),
                    vlen: 3,
                    kflag: true,
                    size_or_type: 9,
                    words: &[1, 2, 3, 4, 5],
                },
            );
            b.float("double", 8);
            if !entries.is_empty() {
                b.layout(entries);
            }
            Btf::parse(b.finish())
        };
        let layout = |last| {
            let mut entries = [[0, 0]; 21];
            entries[20] = last;
            entries
        };
        in_both_orders(|b| {
            let refused = BtfError::UnknownKind { id: TypeId(2), kind: 20, offset: 16 };
            assert_eq!(parse_unknown(b.clone(), &[]).err(), Some(refused));
            assert_eq!(parse_unknown(b.clone(), &[[0, 0]; 20]).err(), Some(refused));
            for last in [[20, 0], [8, 4], [2, 6]] {
                let btf = parse_unknown(b.clone(), &layout(last)).unwrap();
                assert_eq!(btf.ty(TypeId(2)).unwrap().kind(), Kind::Unknown(20));
                assert_eq!(btf.ty(TypeId(3)).unwrap().name().as_bytes(), b"double");
                assert_eq!(btf.end_id(), TypeId(4));
            }
            let kind = Kind::Unknown(20);
            let bounds = BtfError::TypeBounds { id: TypeId(2), kind, vlen: 3, offset: 16, section_len: 60 };
            assert_eq!(parse_unknown(b, &layout([255, 255])).err(), Some(bounds));
        });
    }

    #[test]
    fn a_record_of_kind_zero_is_refused_without_a_layout() {
        in_both_orders(|mut b| {
            b.raw("", BuiltRecord::new(Kind::Void));
            let refused = BtfError::UnknownKind { id: TypeId(1), kind: 0, offset: 0 };
            assert_eq!(Btf::parse(b.finish()).err(), Some(refused));
        });
    }

    #[test]
    fn more_than_65535_elements_count_in_full() {
        in_both_orders(|mut b| {
            let values = vec![("A", 1); 70_000];
            let many = b.enumeration("many", 4, &values);
            let after = b.float("after", 8);
            let btf = Btf::parse(b.finish()).unwrap();
            let many = btf.ty(many).unwrap();
            assert_eq!((many.vlen(), many.enumerators().count()), (70_000, 70_000));
            assert_eq!(btf.ty(after).unwrap().name().as_bytes(), b"after");
        });
    }

    #[test]
    fn ids_in_errors_continue_after_the_base() {
        in_both_orders(|mut b| {
            b.int("int", 4, 0);
            let base = Btf::parse(b.finish()).unwrap();
            let mut s = Builder::split(&base);
            s.pointer(TypeId(1));
            s.raw("", BuiltRecord::new(Kind::Array));
            let got = Btf::parse_split(s.finish(), alloc::sync::Arc::new(base)).err();
            let (id, kind) = (TypeId(3), Kind::Array);
            assert_eq!(got, Some(BtfError::TypeBounds { id, kind, vlen: 0, offset: 12, section_len: 24 }));
        });
    }
}
