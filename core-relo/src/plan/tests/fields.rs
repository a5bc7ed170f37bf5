//! Tests of fields: offsets, sizes, widths and bitfields.

use super::fixture::{imm64, in_both_orders, load, mov};
use crate::{
    ByteSize,
    btf::{Builder, BuiltMember, Kind},
    ext::RelocKind::{
        FieldByteOffset, FieldByteSize, FieldExists, FieldLshiftU64, FieldRshiftU64, FieldSigned, TypeSize,
    },
    plan::{Decision, InsnError, PoisonReason, RelocError},
    resolve::{MatchError, RelocationValueError},
    spec::AccessStringError,
};
use alloc::vec;

#[test]
fn a_moved_field_is_found_by_name_also_inside_anonymous_members() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
        let int = f.target.int("int", 4, Builder::SIGNED);
        let inner = f.target.union("", 8, &[("x", int, 0), ("b", int, 0)]);
        let middle = f.target.structure("", 16, &[("y", int, 0), ("", inner, 64)]);
        f.target.structure("s___new", 40, &[("a", int, 0), ("", middle, 192)]);
        let got = f.plan_one((FieldByteOffset, root, "0:1", load(4, 4)));
        assert_eq!(got.patched(), (32, Some(load(4, 32))));
        assert_eq!(got.target_spec.as_deref(), Some("[4] struct s___new.b (0:1:1:1 @ offset 32)"));
    });
}

#[test]
fn a_missing_field_poisons_and_does_not_exist() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[("gone", int, 0)]);
        let int = f.target.int("int", 4, Builder::SIGNED);
        f.target.structure("s", 4, &[("here", int, 0)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0", load(4, 0)),
            (FieldExists, root, "0:0", mov(1)),
            (FieldByteSize, root, "0:0", imm64(4)),
        ]);
        assert_eq!(
            got[0].decision,
            Ok(Decision::Poison { slot: load(4, 0).poisoned(), why: PoisonReason::NoMatch })
        );
        assert_eq!(got[0].reason, "vmlinux [2]: no member `gone`");
        let help = "nothing to fix if the instruction is behind its guard: relocation 1 of the same program checks that it exists";
        assert_eq!(got[0].help, [help]);
        let alone = f.plan_one((FieldByteOffset, root, "0:0", load(4, 0)));
        assert_eq!(alone.help, ["guard it with bpf_core_field_exists()"]);
        assert_eq!(got[1].patched(), (0, Some(mov(0))));
        assert_eq!(
            got[2].decision,
            Ok(Decision::Poison { slot: imm64(0).poisoned(), why: PoisonReason::NoMatch }),
            "both slots are poisoned"
        );
    });
}

#[test]
fn the_first_member_of_the_name_decides_even_if_incompatible() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[("a", int, 0)]);
        let int = f.target.int("int", 4, Builder::SIGNED);
        let ptr = f.target.pointer(int);
        f.target.structure("s", 16, &[("a", ptr, 0)]);
        let got = f.plan_one((FieldExists, root, "0:0", mov(1)));
        assert_eq!(got.patched(), (0, Some(mov(0))));
        assert_eq!(got.reason, "vmlinux [3]: member `a` is `int *`, incompatible with `int`");
    });
}

#[test]
fn widths_change_for_pointers_and_unsigned_integers_only() {
    in_both_orders(|f| {
        let u32_ = f.local.int("unsigned int", 4, 0);
        let s32 = f.local.int("int", 4, Builder::SIGNED);
        let schar = f.local.int("signed char", 1, Builder::SIGNED | Builder::CHAR);
        let ptr = f.local.pointer(u32_);
        let root =
            f.local.structure("s", 24, &[("u", u32_, 0), ("i", s32, 32), ("c", schar, 64), ("p", ptr, 128)]);
        let long = f.target.int("long", 4, Builder::SIGNED);
        let u64_ = f.target.int("long long unsigned int", 8, 0);
        let s64 = f.target.int("long long int", 8, Builder::SIGNED);
        let ptr = f.target.pointer(long);
        f.target.structure("s", 64, &[("u", u64_, 64), ("i", s64, 128), ("c", u64_, 192), ("p", ptr, 256)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0", load(4, 0)),
            (FieldByteOffset, root, "0:1", load(4, 4)),
            (FieldByteOffset, root, "0:2", load(1, 8)),
            (FieldByteOffset, root, "0:3", load(8, 16)),
            (FieldByteOffset, root, "0:1", mov(4)),
            (FieldByteOffset, root, "0:0", load(8, 0)),
        ]);
        assert_eq!(got[0].patched(), (8, Some(load(8, 8))));
        assert_eq!(
            got[1].decision,
            Ok(Decision::Poison {
                slot: mov(0).poisoned(),
                why: PoisonReason::Width { local: 4, target: 8 }
            })
        );
        assert_eq!(
            got[2].patched(),
            (24, Some(load(8, 24))),
            "an integer with SIGNED and CHAR counts as unsigned, as in libbpf"
        );
        assert_eq!(
            got[3].patched(),
            (32, Some(load(4, 32))),
            "a load of a 32-bit pointer becomes a 32-bit load"
        );
        assert_eq!(got[4].patched(), (16, Some(mov(16))), "arithmetic has no width");
        let unexpected = InsnError::UnexpectedWidth { insn: load(8, 8).first(), found: 8, expected: 4 };
        let Err(RelocError::Insn(InsnError::UnexpectedWidth { found, expected, .. })) = got[5].decision
        else {
            panic!("expected {unexpected:?}, got {:?}", got[5].decision);
        };
        assert_eq!((found, expected), (8, 4));
    });
}

#[test]
fn array_indices_must_be_in_range_unless_the_array_is_flexible() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let row = f.local.array(int, int, 4);
        let grid = f.local.array(row, int, 3);
        let flex = f.local.array(int, int, 0);
        let root = f.local.structure("s", 56, &[("n", int, 0), ("grid", grid, 32), ("flex", flex, 416)]);
        let int = f.target.int("int", 4, Builder::SIGNED);
        let row = f.target.array(int, int, 4);
        let grid = f.target.array(row, int, 2);
        let flex = f.target.array(int, int, 0);
        f.target.structure("s", 40, &[("grid", grid, 32), ("n", int, 0), ("flex", flex, 320)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:1:1:3", load(4, 32)),
            (FieldByteOffset, root, "0:2:9", load(4, 88)),
            (FieldByteSize, root, "0:1", mov(48)),
            (FieldByteSize, root, "0:1:1", mov(16)),
            (FieldSigned, root, "0:1:1:1", mov(1)),
            (FieldByteOffset, root, "0:1:2:0", load(4, 36)),
            (FieldByteOffset, root, "0:1:3:0", load(4, 52)),
            (FieldByteOffset, root, "2:0", mov(112)),
        ]);
        assert_eq!(got[0].patched(), (32, None));
        assert_eq!(got[1].patched(), (76, Some(load(4, 76))));
        assert_eq!(got[2].patched(), (32, Some(mov(32))));
        assert_eq!(got[3].patched(), (16, None));
        assert_eq!(got[4].decision, Err(RelocError::Local(RelocationValueError::ArrayElement(FieldSigned))));
        assert_eq!(got[5].reason, "vmlinux [5]: index 2 is out of range, the array has 2 elements");
        assert!(matches!(
            got[6].decision,
            Err(RelocError::Spec(AccessStringError::OutOfRange { part: 2, index: 3, len: 3, .. }))
        ));
        assert_eq!(got[7].patched(), (80, Some(mov(80))), "the first index treats the root type as an array");
    });
}

#[test]
fn elements_of_another_size_poison_loads_of_array_members() {
    in_both_orders(|f| {
        let u32_ = f.local.int("unsigned int", 4, 0);
        let array = f.local.array(u32_, u32_, 4);
        let root = f.local.structure("s", 16, &[("a", array, 0)]);
        let u64_ = f.target.int("unsigned long", 8, 0);
        let array = f.target.array(u64_, u64_, 4);
        f.target.structure("s", 32, &[("a", array, 0)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0:1", load(4, 4)),
            (FieldByteOffset, root, "0:0", load(4, 0)),
        ]);
        assert_eq!(got[0].patched(), (8, Some(load(8, 8))), "a load of one element may widen");
        assert!(got[1].is_poison(), "the type recorded is the array, which never may");
    });
}

#[test]
fn bitfields_are_loaded_by_the_smallest_unit_that_contains_them() {
    in_both_orders(|f| {
        let big = f.local.finish().first() == Some(&0xeb);
        let u32_ = f.local.int("unsigned int", 4, 0);
        let bits = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
        let root = f.local.composite(Kind::Struct, "s", 8, &[bits("a", u32_, 0, 3), bits("b", u32_, 3, 5)]);
        let u32_ = f.target.int("unsigned int", 4, 0);
        f.target.composite(
            Kind::Struct,
            "s",
            16,
            &[bits("a", u32_, 64, 3), bits("b", u32_, 30, 7), bits("wide", u32_, 60, 31)],
        );
        let got = f.plan(&[
            (FieldByteOffset, root, "0:1", mov(0)),
            (FieldByteSize, root, "0:1", mov(4)),
            (FieldLshiftU64, root, "0:1", mov(99)),
            (FieldRshiftU64, root, "0:1", mov(59)),
            (FieldSigned, root, "0:1", mov(0)),
            (FieldRshiftU64, root, "0:1", mov(58)),
            (FieldByteOffset, root, "0:0", load(4, 0)),
        ]);
        assert_eq!(got[0].patched(), (0, None));
        assert_eq!(got[1].patched(), (8, Some(mov(8))), "7 bits at 30 cross the 32-bit unit");
        let lshift = if big { 30 } else { 27 };
        assert_eq!(got[2].patched().0, lshift, "the left shift in the instruction is not validated");
        assert_eq!(got[3].patched(), (57, Some(mov(57))));
        assert_eq!(got[4].patched(), (0, None));
        assert!(
            matches!(
                got[5].decision,
                Err(RelocError::Insn(InsnError::UnexpectedValue { found: 58, expected: 59, .. }))
            ),
            "the right shift in the instruction is validated"
        );
        assert_eq!(got[6].patched(), (8, Some(load(4, 8))));
    });
}

#[test]
fn a_bitfield_wider_than_any_load_is_an_error_even_without_a_candidate() {
    in_both_orders(|f| {
        let u64_ = f.local.int("unsigned long", 8, 0);
        let member = BuiltMember { name: "a", ty: u64_, bit_offset: 4, bitfield_bits: 64 };
        let root = f.local.composite(Kind::Struct, "s", 16, &[member]);
        let got = f.plan_one((FieldByteOffset, root, "0:0", mov(0)));
        assert!(matches!(
            got.decision,
            Err(RelocError::Local(RelocationValueError::WideBitfield { bits: 64, .. }))
        ));
    });
}

#[test]
fn a_bitfield_of_a_type_without_size_is_an_error_not_a_division_by_zero() {
    in_both_orders(|f| {
        let void = f.local.pointer(crate::TypeId::VOID);
        let member = BuiltMember { name: "a", ty: void, bit_offset: 4, bitfield_bits: 4 };
        let root = f.local.composite(Kind::Struct, "s", 16, &[member]);
        let got = f.plan_one((FieldByteOffset, root, "0:0", mov(0)));
        assert!(matches!(got.decision, Err(RelocError::Local(RelocationValueError::BitfieldType { .. }))));
    });
}

#[test]
fn bitfields_of_old_btf_are_not_compatible_with_anything() {
    in_both_orders(|f| {
        let int = f.local.int("unsigned int", 4, 0);
        let root = f.local.structure("s", 4, &[("a", int, 0)]);
        let legacy = f.target.legacy_bitfield("unsigned int", 4, 0, 3, 5);
        f.target.structure("s", 4, &[("a", legacy, 0)]);
        assert!(f.plan_one((FieldByteOffset, root, "0:0", load(4, 0))).is_poison());
    });
}

#[test]
fn enums_and_forwards_fit_by_name_or_if_anonymous() {
    in_both_orders(|f| {
        let named = f.local.enumeration("e___local", 4, &[("A", 0)]);
        let other = f.local.enumeration("f", 4, &[("B", 0)]);
        let root = f.local.structure("s", 8, &[("a", named, 0), ("b", other, 32), ("c", other, 64)]);
        let e64 = f.target.enumeration64("e", 8, &[("A", 0)]);
        let anonymous = f.target.enumeration("", 4, &[("X", 0)]);
        f.target.structure("s", 24, &[("a", e64, 0), ("b", anonymous, 64), ("c", e64, 128)]);
        let got = f.plan(&[
            (FieldExists, root, "0:0", mov(1)),
            (FieldExists, root, "0:1", mov(1)),
            (FieldExists, root, "0:2", mov(1)),
        ]);
        assert_eq!(got.iter().map(|o| o.patched().0).collect::<vec::Vec<_>>(), [1, 1, 0]);
    });
}

#[test]
fn a_struct_and_a_union_replace_each_other_except_at_the_root() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let inner = f.local.structure("i", 4, &[("a", int, 0)]);
        let root = f.local.structure("s", 4, &[("in", inner, 0)]);
        let int = f.target.int("int", 4, Builder::SIGNED);
        let inner = f.target.union("other", 4, &[("a", int, 0)]);
        f.target.structure("s", 8, &[("in", inner, 32)]);
        f.target.union("i", 8, &[("a", int, 0)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0:0", mov(0)),
            (FieldExists, crate::TypeId(2), "0:0", mov(1)),
        ]);
        assert_eq!(got[0].patched(), (4, Some(mov(4))));
        assert_eq!(got[1].reason, "vmlinux has no type `struct i`");
    });
}

#[test]
fn deeply_nested_anonymous_members_are_an_error() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[("a", int, 0)]);
        let mut inner = f.target.union("", 4, &[]);
        for _ in 0..60 {
            inner = f.target.union("", 4, &[("", inner, 0), ("", inner, 0), ("", inner, 0)]);
        }
        f.target.structure("s", 4, &[("", inner, 0)]);
        let got = f.plan_one((FieldByteOffset, root, "0:0", mov(0)));
        assert!(matches!(
            got.decision,
            Err(RelocError::Match { error: MatchError::TooManySteps | MatchError::TooDeep, .. })
        ));
    });
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[("a", int, 0)]);
        let own = f.target.next_id();
        f.target.structure("s", 4, &[("", own, 0)]);
        let got = f.plan_one((FieldByteOffset, root, "0:0", mov(0)));
        assert!(matches!(got.decision, Err(RelocError::Match { error: MatchError::TooDeep, .. })));
    });
}

/// libbpf stores the size of a target type that contains a field in an `int`. Local sizes have no such limit.
#[test]
fn a_field_in_a_target_type_of_two_gigabytes_is_an_error() {
    const LARGEST: u32 = 0x7fff_ffff;
    let root_of = |b: &mut Builder, size| {
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("s", size, &[("a", int, 0)])
    };
    for (local, target, is_error) in
        [(8, LARGEST, false), (8, LARGEST + 1, true), (8, u32::MAX, true), (u32::MAX, 8, false)]
    {
        in_both_orders(|f| {
            let root = root_of(&mut f.local, local);
            let target_root = root_of(&mut f.target, target);
            let error = MatchError::TooLarge { ty: target_root, size: ByteSize(target) };
            let (left, right) = (FieldLshiftU64, FieldRshiftU64);
            let fields = [(FieldByteSize, 4), (FieldExists, 1), (FieldSigned, 1), (right, 32)];
            let mut records =
                vec![(FieldByteOffset, root, "0:0", mov(0)), (TypeSize, root, "0", imm64(local.into()))];
            records.extend(fields.map(|(kind, value)| (kind, root, "0:0", mov(value))));
            records.push((left, root, "0:0", mov(32)));
            for (got, (kind, ..)) in f.plan(&records).iter().zip(&records) {
                match got.decision {
                    // libbpf stores the size of a whole type in 32 bits.
                    Ok(_) if *kind == TypeSize => assert_eq!(got.target_value, Some(target.into())),
                    Err(RelocError::Match { error: found, .. }) if is_error => assert_eq!(found, error),
                    decision => assert!(!is_error && decision.is_ok(), "{kind}: {decision:?}"),
                }
            }
        });
    }
    in_both_orders(|f| {
        let elements = |b: &mut Builder, size| {
            let int = b.int("int", 4, Builder::SIGNED);
            let element = b.structure("element", size, &[("x", int, 0)]);
            let array = b.array(element, int, 1);
            b.structure("s", 8, &[("a", array, 0)])
        };
        let root = elements(&mut f.local, 8);
        elements(&mut f.target, LARGEST + 1);
        let got = f.plan_one((FieldByteOffset, root, "0:0:0:0", mov(0)));
        assert!(matches!(got.decision, Err(RelocError::Match { error: MatchError::TooLarge { .. }, .. })));
        let got = f.plan_one((FieldByteOffset, root, "0:0", mov(0)));
        assert!(got.decision.is_ok(), "the access has no element: {got:?}");
    });
}

/// libbpf takes the id of the type that the pointer refers to for the size of the pointer.
#[test]
fn a_bitfield_of_a_pointer_has_no_value() {
    for (is_local_pointer, is_target_pointer) in [(true, true), (true, false), (false, true)] {
        in_both_orders(|f| {
            let root_of = |b: &mut Builder, is_pointer| {
                let int = b.int("int", 4, Builder::SIGNED);
                let ty = if is_pointer { b.pointer(int) } else { int };
                let member = BuiltMember { name: "a", ty, bit_offset: 0, bitfield_bits: 4 };
                b.composite(Kind::Struct, "s", 8, &[member])
            };
            let root = root_of(&mut f.local, is_local_pointer);
            root_of(&mut f.target, is_target_pointer);
            for kind in [FieldByteOffset, FieldByteSize, FieldSigned, FieldLshiftU64, FieldRshiftU64] {
                let got = f.plan_one((kind, root, "0:0", mov(0)));
                match got.decision {
                    Err(RelocError::Local(RelocationValueError::BitfieldType { kind, .. }))
                        if is_local_pointer =>
                    {
                        assert_eq!(kind, Kind::Ptr);
                    }
                    // An integer and a pointer are not compatible.
                    _ => assert!(!is_local_pointer && got.is_poison(), "{kind}: {got:?}"),
                }
            }
            let exists = f.plan_one((FieldExists, root, "0:0", mov(1)));
            assert_eq!(
                exists.target_value,
                Some(u64::from(is_local_pointer == is_target_pointer)),
                "existence needs no size"
            );
        });
    }
}

#[test]
fn invalid_access_strings_are_errors_of_their_record_alone() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[("a", int, 0)]);
        let ptr = f.local.pointer(root);
        let long = ["0"; 65].join(":");
        let bad = [
            "",
            ":0",
            "0:",
            "0::0",
            "x",
            "0:-1",
            "-1:0",
            "+1",
            " 1",
            "0:1",
            "0:0:0",
            "4294967296",
            long.as_str(),
        ];
        let mut records: vec::Vec<_> =
            bad.iter().map(|access| (FieldByteOffset, root, *access, mov(0))).collect();
        records.push((FieldByteOffset, ptr, "0:0", mov(0)));
        records.push((FieldByteOffset, root, "0:0", mov(0)));
        let mut got = f.plan(&records);
        assert!(got.pop().unwrap().is_poison(), "the valid access, whose root type has no candidate");
        for (planned, access) in got.iter().zip(&bad) {
            assert!(
                matches!(planned.decision, Err(RelocError::Spec(_))),
                "{access:?}: {:?}",
                planned.decision
            );
        }
    });
}
