//! Tests of enumerators and the sign of their values.

use super::fixture::{imm64, in_both_orders, mov};
use crate::{
    ext::RelocKind::{EnumvalExists, EnumvalValue},
    plan::{InsnError, Options, RelocError},
};
use alloc::string::ToString as _;

#[test]
fn an_enumerator_is_found_by_essential_name_also_in_an_enum64() {
    in_both_orders(|f| {
        let root = f.local.enumeration("e", 4, &[("A___old", 1), ("GONE", 2)]);
        f.target.enumeration64("e", 8, &[("Z", 0), ("A", 0x1_0000_0001)]);
        let got = f.plan(&[
            (EnumvalValue, root, "0", imm64(1)),
            (EnumvalExists, root, "0", mov(1)),
            (EnumvalExists, root, "1", mov(1)),
            (EnumvalValue, root, "1", imm64(2)),
        ]);
        assert_eq!(got[0].patched(), (0x1_0000_0001, Some(imm64(0x1_0000_0001))));
        assert_eq!(got[1].patched(), (1, None));
        assert_eq!(got[2].patched(), (0, Some(mov(0))));
        assert!(got[3].is_poison());
        assert_eq!(got[3].reason, "vmlinux [1]: no enumerator `GONE`");
    });
}

#[test]
fn negative_values_extend_their_sign() {
    in_both_orders(|f| {
        let root = f.local.signed_enumeration("e", 4, &[("A", -1)]);
        f.target.signed_enumeration("e", 4, &[("A", -2)]);
        let got = f.plan_one((EnumvalValue, root, "0", imm64(u64::MAX)));
        assert_eq!(got.patched().1, Some(imm64(u64::MAX - 1)));
    });
}

/// libbpf reads 0x80000000 of an unsigned enum as negative. It refuses the instruction, which contains the
/// zero-extended value. A plan does the same, unless its options select the value that the enumerator has in
/// C.
#[test]
fn unsigned_values_above_31_bits_are_refused_or_zero_extended() {
    in_both_orders(|f| {
        let root = f.local.enumeration("e", 4, &[("A", 0x8000_0000)]);
        f.target.enumeration("e", 4, &[("A", 0x8000_0001)]);
        let record = (EnumvalValue, root, "0", imm64(0x8000_0000));
        let refused = f.plan_one(record);
        assert!(matches!(
            refused.decision,
            Err(RelocError::Insn(InsnError::UnexpectedValue {
                found: 0x8000_0000,
                expected: -0x8000_0000,
                ..
            }))
        ));
        let error = refused.decision.unwrap_err();
        assert!(error.is_sign_extension());
        let error = error.to_string();
        assert!(error.contains("expected -2147483648: libbpf sign-extends the enumerators"), "{error}");
        f.options = Options::default().zero_extend_unsigned_enums(true);
        assert_eq!(f.plan_one(record).patched(), (0x8000_0001, Some(imm64(0x8000_0001))));
    });
}

#[test]
fn an_access_to_no_enumerator_is_an_error_of_the_record() {
    in_both_orders(|f| {
        let root = f.local.enumeration("e", 4, &[("A", 1)]);
        let structure = f.local.structure("s", 4, &[]);
        let got = f.plan(&[
            (EnumvalExists, root, "1", mov(1)),
            (EnumvalExists, root, "0:0", mov(1)),
            (EnumvalExists, structure, "0", mov(1)),
        ]);
        assert!(got.iter().all(|o| matches!(o.decision, Err(RelocError::Spec(_)))), "{got:?}");
    });
}
