//! Validation: every name and type to which a record refers exists (libbpf: `btf_sanity_check`).

use super::{btf::Btf, error::BtfError};
use crate::{
    format::{Info, Kind, References, WordMeaning},
    ids::{TypeId, to_usize},
};

/// The references that parsing validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validation {
    /// Every reference of every record.
    All,
    /// The references in the `struct btf_type` of each record. If the fast path does not accept the BTF,
    /// every reference.
    CommonWords,
    /// Every reference, without the fast path.
    #[cfg(test)]
    AllWithoutFastPath,
}

/// Validates the own records of `btf`, and reports the first reference to a name or a type that does not
/// exist.
pub(super) fn check_references(btf: &Btf<'_>) -> Result<(), BtfError> {
    let types = btf.types_section();
    let records = btf.table.offsets(types.len()).map_while(|offset| types.get(offset..));
    records.enumerate().try_for_each(|(own_index, record)| validate_record(btf, btf.id_at(own_index), record))
}

/// Validates the record at the start of `record`.
fn validate_record(btf: &Btf<'_>, id: TypeId, record: &[u8]) -> Result<(), BtfError> {
    let words = record.as_chunks::<4>().0;
    let word = |index: usize| words.get(index).map(|raw| btf.endian().word(*raw));
    let (Some(info), Some(third)) = (word(1).map(Info), word(2)) else { return Ok(()) };
    let kind = info.kind();
    let len = kind.layout().map_or(1, |layout| to_usize(layout.size().record_len(info.vlen()) / 4));
    let (end_id, string_end) = (btf.end_id(), btf.string_end());
    let split_without_base = btf.base().is_none();
    for (index, meaning) in References::new(kind, len) {
        let Some(value) = word(index) else { break };
        match meaning {
            // Offset 0 is the empty name, even if the BTF has no strings, as a split BTF may.
            WordMeaning::Name if value != 0 && value >= string_end => {
                return Err(BtfError::NameRef {
                    id,
                    kind,
                    offset: value,
                    end: string_end,
                    split_without_base,
                });
            }
            WordMeaning::Id if value >= end_id.0 => {
                let last = TypeId(end_id.0.saturating_sub(1));
                return Err(BtfError::TypeRef { id, kind, target: TypeId(value), last, split_without_base });
            }
            WordMeaning::Name | WordMeaning::Id | WordMeaning::Value => {}
        }
    }
    let target = TypeId(third);
    match btf.kind_of(target) {
        target_kind if kind == Kind::Func && target_kind != Some(Kind::FuncProto) => {
            let kind = target_kind.unwrap_or(Kind::Void);
            Err(BtfError::FuncWithoutProto { id, target, kind })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, BuiltRecord, endian::Endian};
    use alloc::{sync::Arc, vec::Vec};

    const KINDS_WITH_A_TARGET: [Kind; 9] = [
        Kind::Ptr,
        Kind::Typedef,
        Kind::Volatile,
        Kind::Const,
        Kind::Restrict,
        Kind::Var,
        Kind::DeclTag,
        Kind::TypeTag,
        Kind::FuncProto,
    ];

    fn in_both_orders(test: impl Fn(Builder)) {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            b.int("int", 4, Builder::SIGNED);
            test(b);
        }
    }

    /// Type 2 is a record of these words; the strings are `\0int\0`.
    fn second(
        mut b: Builder,
        kind: Kind,
        vlen: u32,
        third: u32,
        trailer: &[u32],
    ) -> Result<Btf<'static>, BtfError> {
        b.raw("", BuiltRecord { vlen, size_or_type: third, words: trailer, ..BuiltRecord::new(kind) });
        Btf::parse(b.finish())
    }

    fn wrong_id(kind: Kind, target: u32) -> BtfError {
        let (id, target, last) = (TypeId(2), TypeId(target), TypeId(2));
        BtfError::TypeRef { id, kind, target, last, split_without_base: true }
    }

    fn wrong_name(kind: Kind, offset: u32) -> BtfError {
        BtfError::NameRef { id: TypeId(2), kind, offset, end: 5, split_without_base: true }
    }

    #[test]
    fn targets_of_every_kind_are_validated() {
        for kind in KINDS_WITH_A_TARGET {
            let trailer = if matches!(kind, Kind::Var | Kind::DeclTag) { &[0][..] } else { &[] };
            in_both_orders(|b| {
                assert!(second(b.clone(), kind, 0, 2, trailer).is_ok(), "{kind} refers to itself");
                for target in [3, 4, 0x8000_0000, u32::MAX] {
                    let got = second(b.clone(), kind, 0, target, trailer);
                    assert_eq!(got.err(), Some(wrong_id(kind, target)));
                }
            });
        }
        in_both_orders(|b| assert_eq!(second(b, Kind::Func, 1, 3, &[]).err(), Some(wrong_id(Kind::Func, 3))));
    }

    #[test]
    fn types_of_elements_are_validated() {
        for wrong in [3, u32::MAX] {
            in_both_orders(|b| {
                let check = |kind, vlen, good: &[u32], bad: &[u32]| {
                    assert!(second(b.clone(), kind, vlen, 0, good).is_ok(), "{kind}");
                    assert_eq!(second(b.clone(), kind, vlen, 0, bad).err(), Some(wrong_id(kind, wrong)));
                };
                check(Kind::Array, 0, &[2, 0, wrong], &[wrong, 0, 0]);
                check(Kind::Array, 0, &[0, 2, wrong], &[0, wrong, 0]);
                for kind in [Kind::Struct, Kind::Union] {
                    check(kind, 2, &[0, 2, wrong, 0, 2, wrong], &[0, 2, 0, 0, wrong, 0]);
                }
                check(Kind::FuncProto, 2, &[0, 1, 0, 2], &[0, 1, 0, wrong]);
                check(Kind::Datasec, 2, &[2, wrong, wrong, 2, wrong, wrong], &[2, 0, 0, wrong, 0, 0]);
            });
        }
    }

    #[test]
    fn words_that_are_no_reference_may_have_any_value() {
        in_both_orders(|b| {
            let max = u32::MAX;
            for kind in [Kind::Struct, Kind::Union, Kind::Enum, Kind::Enum64, Kind::Datasec] {
                assert!(second(b.clone(), kind, 0, max, &[]).is_ok(), "the size of a {kind}");
            }
            for kind in [Kind::Fwd, Kind::Float] {
                assert!(second(b.clone(), kind, 0xffff, max, &[]).is_ok(), "{kind}");
            }
            assert!(second(b.clone(), Kind::Int, 0, max, &[max]).is_ok());
            assert!(second(b.clone(), Kind::Array, 0, max, &[1, 1, max]).is_ok());
            assert!(second(b.clone(), Kind::Var, 0, 1, &[max]).is_ok());
            assert!(second(b.clone(), Kind::DeclTag, 0, 1, &[max]).is_ok());
            assert!(second(b.clone(), Kind::Enum, 1, 4, &[1, max]).is_ok());
            assert!(second(b, Kind::Enum64, 1, 8, &[1, max, max]).is_ok());
        });
    }

    #[test]
    fn every_kind_has_its_own_name_within_the_strings() {
        for raw in 1..=19 {
            let kind = Kind::from_raw(raw);
            let words = kind.layout().map_or(0, |layout| layout.fixed.len());
            for endian in [Endian::Little, Endian::Big] {
                let named = |offset: u32| {
                    let mut b = Builder::new(endian);
                    b.int("int", 4, 0);
                    // Type 3 is the FUNC_PROTO to which a FUNC must refer.
                    b.raw(
                        "",
                        BuiltRecord {
                            size_or_type: if kind == Kind::Func { 3 } else { 0 },
                            words: &[0, 0, 0][..words],
                            ..BuiltRecord::new(kind)
                        },
                    );
                    b.func_proto(TypeId(1), &[]);
                    let mut data = b.finish();
                    data[40..44].copy_from_slice(&endian.u32_bytes(offset));
                    Btf::parse(data)
                };
                assert!(named(4).is_ok(), "{kind} named by the last NUL");
                for offset in [5, 0x8000_0000, u32::MAX] {
                    assert_eq!(named(offset).err(), Some(wrong_name(kind, offset)));
                }
            }
        }
    }

    #[test]
    fn every_element_has_its_name_within_the_strings() {
        in_both_orders(|b| {
            let check = |kind, good: &[u32], bad: &[u32]| {
                assert!(second(b.clone(), kind, 2, 0, good).is_ok(), "{kind}");
                assert_eq!(second(b.clone(), kind, 2, 0, bad).err(), Some(wrong_name(kind, 5)));
            };
            for kind in [Kind::Struct, Kind::Union] {
                check(kind, &[1, 1, 0, 4, 1, 0], &[1, 1, 0, 5, 1, 0]);
            }
            check(Kind::Enum, &[1, 9, 4, 9], &[1, 9, 5, 9]);
            check(Kind::Enum64, &[1, 9, 9, 4, 9, 9], &[1, 9, 9, 5, 9, 9]);
            check(Kind::FuncProto, &[1, 1, 4, 1], &[1, 1, 5, 1]);
        });
    }

    #[test]
    fn the_first_of_several_wrong_references_is_named() {
        in_both_orders(|b| {
            let got = second(b.clone(), Kind::Struct, 3, 0, &[0, 0, 0, 5, 9, 0, 9, 9, 9]);
            assert_eq!(got.err(), Some(wrong_name(Kind::Struct, 5)));
            let got = second(b.clone(), Kind::Struct, 3, 0, &[0, 7, 0, 5, 9, 0, 9, 9, 9]);
            assert_eq!(got.err(), Some(wrong_id(Kind::Struct, 7)));
            let got = second(b, Kind::FuncProto, 1, 8, &[9, 9]);
            assert_eq!(got.err(), Some(wrong_id(Kind::FuncProto, 8)));
        });
    }

    #[test]
    fn a_func_refers_to_a_func_proto_wherever_that_lies() {
        in_both_orders(|b| {
            let func = |target| second(b.clone(), Kind::Func, 0, target, &[]).err();
            let wrong = |target, kind| {
                Some(BtfError::FuncWithoutProto { id: TypeId(2), target: TypeId(target), kind })
            };
            assert_eq!(func(0), wrong(0, Kind::Void));
            assert_eq!(func(1), wrong(1, Kind::Int));
            assert_eq!(func(2), wrong(2, Kind::Func));
            let mut b = b.clone();
            b.func("later", TypeId(3), 1);
            let proto = b.func_proto(TypeId(1), &[]);
            b.func("earlier", proto, 1);
            let base = Arc::new(Btf::parse(b.finish()).unwrap());
            let in_split = |targets: &[u32]| {
                let mut s = Builder::split(&base);
                for target in targets {
                    s.func("f", TypeId(*target), 0);
                }
                Btf::parse_split(s.finish(), Arc::clone(&base)).map(|btf| btf.types().count())
            };
            assert_eq!(in_split(&[3]), Ok(1));
            let (id, kind) = (TypeId(6), Kind::Func);
            assert_eq!(in_split(&[3, 2]), Err(BtfError::FuncWithoutProto { id, target: TypeId(2), kind }));
            assert_eq!(in_split(&[3, 5]), Err(BtfError::FuncWithoutProto { id, target: TypeId(5), kind }));
        });
    }

    #[test]
    fn a_split_btf_refers_only_to_itself_and_its_base() {
        in_both_orders(|b| {
            let base = Arc::new(Btf::parse(b.finish()).unwrap());
            let parse = |words: &[u32]| {
                let mut s = Builder::split(&base);
                s.raw("own", BuiltRecord { vlen: 1, words, ..BuiltRecord::new(Kind::Struct) });
                Btf::parse_split(s.finish(), Arc::clone(&base)).map(|_| ())
            };
            let (id, kind, split_without_base) = (TypeId(2), Kind::Struct, false);
            let found: Vec<_> = [[1, 1, 0], [5, 2, 0], [8, 0, 0]].iter().map(|words| parse(words)).collect();
            assert_eq!(found, [Ok(()); 3]);
            let wrong =
                BtfError::TypeRef { id, kind, target: TypeId(3), last: TypeId(2), split_without_base };
            assert_eq!(parse(&[1, 3, 0]), Err(wrong));
            let wrong = BtfError::NameRef { id, kind, offset: 9, end: 9, split_without_base };
            assert_eq!(parse(&[9, 1, 0]), Err(wrong));
        });
    }
}
