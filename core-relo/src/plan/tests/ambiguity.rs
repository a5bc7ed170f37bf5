//! Tests of several candidates: those that match must agree, and each record eliminates those that do not
//! match it.

use super::fixture::{in_both_orders, load, mov};
use crate::{
    btf::{Btf, Builder},
    ext::RelocKind::{FieldByteOffset, FieldByteSize, FieldExists, TypeIdTarget},
    plan::RelocError,
    resolve::Ambiguity,
};

#[test]
fn candidates_that_disagree_in_offset_or_value_are_an_error() {
    in_both_orders(|f| {
        let int = f.local.int("unsigned int", 4, 0);
        let root = f.local.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
        let int = f.target.int("unsigned int", 4, 0);
        let long = f.target.int("unsigned long", 8, 0);
        f.target.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
        f.target.structure("s", 24, &[("a", int, 64), ("b", long, 32)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0", load(4, 0)),
            (FieldByteSize, root, "0:1", mov(4)),
            (TypeIdTarget, root, "0", mov(0)),
        ]);
        assert!(matches!(got[0].decision, Err(RelocError::Ambiguous(Ambiguity::Offset { .. }))));
        assert!(matches!(
            got[1].decision,
            Err(RelocError::Ambiguous(Ambiguity::Value { first_value: 4, other_value: 8, .. }))
        ));
        assert!(matches!(got[2].decision, Err(RelocError::Ambiguous(Ambiguity::Value { .. }))), "ids differ");
    });
}

/// libbpf compares only offsets and values, so it takes the width of the first candidate without a warning. A
/// plan warns.
#[test]
fn the_first_candidate_decides_on_the_width_at_equal_offsets_with_a_warning() {
    in_both_orders(|f| {
        let int = f.local.int("unsigned int", 4, 0);
        let root = f.local.structure("s", 8, &[("a", int, 0)]);
        let int = f.target.int("unsigned int", 4, 0);
        let long = f.target.int("unsigned long", 8, 0);
        f.target.structure("s", 8, &[("a", long, 64)]);
        f.target.structure("s", 8, &[("a", int, 64)]);
        let got = f.plan_one((FieldByteOffset, root, "0:0", load(4, 0)));
        assert_eq!(got.patched(), (8, Some(load(8, 8))));
        assert!(got.has_warning);
    });
}

#[test]
fn a_match_eliminates_other_candidates_for_later_records() {
    in_both_orders(|f| {
        let int = f.local.int("unsigned int", 4, 0);
        let root = f.local.structure("s", 8, &[("a", int, 0), ("only", int, 32)]);
        let other_root = f.local.structure("s___2", 8, &[("a", int, 0)]);
        let int = f.target.int("unsigned int", 4, 0);
        f.target.structure("s", 8, &[("a", int, 0)]);
        f.target.structure("s", 16, &[("a", int, 64), ("only", int, 32)]);
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0", load(4, 0)),
            (FieldExists, root, "0:1", mov(1)),
            (FieldByteOffset, root, "0:0", load(4, 0)),
            (FieldByteOffset, other_root, "0:0", load(4, 0)),
        ]);
        assert!(got[0].decision.is_err(), "both candidates match and disagree");
        assert_eq!(got[1].patched(), (1, None));
        assert_eq!(got[2].patched(), (8, Some(load(4, 8))), "only the second candidate remains");
        assert!(got[3].decision.is_err(), "another root type has its own candidate list");
    });
}

#[test]
fn modules_are_searched_only_if_the_main_btf_has_no_candidate() {
    in_both_orders(|f| {
        let int = f.local.int("unsigned int", 4, 0);
        let root = f.local.structure("s", 8, &[("a", int, 0)]);
        let root_in_main = f.local.structure("t", 8, &[("a", int, 0)]);
        let int = f.target.int("unsigned int", 4, 0);
        f.target.structure("t", 8, &[]);
        let base = Btf::parse(f.target.finish()).unwrap();
        let mut module = Builder::split(&base);
        module.structure("s", 8, &[("a", int, 64)]);
        module.structure("t", 8, &[("a", int, 64)]);
        f.modules.push(module.finish());
        let got = f.plan(&[
            (FieldByteOffset, root, "0:0", load(4, 0)),
            (FieldByteOffset, root_in_main, "0:0", load(4, 0)),
        ]);
        assert_eq!(got[0].patched(), (8, Some(load(4, 8))));
        assert!(
            got[1].is_poison(),
            "the module is not searched, although the candidate in the vmlinux BTF does not match"
        );
    });
}
