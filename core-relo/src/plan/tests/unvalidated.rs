//! A target whose elements nobody looked at before.

use super::fixture::{Fixture, both, imm64, load, mov};
use crate::{
    btf::{Btf, BtfError, Kind, WalkError},
    ext::RelocKind::{EnumvalValue, FieldByteOffset, TypeMatches},
    ids::TypeId,
    plan::RelocError,
    resolve::MatchError,
};
use alloc::vec::Vec;

const NOWHERE: u32 = 0x00ff_ffff;

/// `struct s { <first>; int f; }`, and an enumeration `e`, of which one element refers to what does not exist.
fn target(f: &mut Fixture, [name, ty, variant]: [u32; 3]) {
    let int = f.target.int("int", 4, 1).0;
    let f_name = f.target.string("f").0;
    let variant_name = f.target.string("A").0;
    let or = |given, usual| if given == 0 { usual } else { given };
    f.target.raw("s", Kind::Struct, 2, false, 8, &[name, int, 0, f_name, or(ty, int), 32]);
    f.target.raw("e", Kind::Enum, 1, false, 4, &[or(variant, variant_name), 7]);
    f.unvalidated = true;
}

#[test]
fn what_a_relocation_reads_of_it_must_exist() {
    both(|f| {
        let int = f.local.int("int", 4, 1);
        let s = f.local.structure("s", 4, &[("f", int, 0)]);
        let e = f.local.enumeration("e", 4, false, &[("A", 1)]);
        let asks = [
            (FieldByteOffset, s, "0:0", load(4, 0)),
            (TypeMatches, s, "0", mov(1)),
            (EnumvalValue, e, "0", imm64(1)),
            (TypeMatches, e, "0", mov(1)),
        ];
        let no_name = |ty| WalkError::NoName { ty: TypeId(ty), offset: NOWHERE };
        let no_type = WalkError::NoType(TypeId(NOWHERE));
        for (wrong, expected) in [
            ([NOWHERE, 0, 0], [Some(no_name(2)), Some(no_name(2)), None, None]),
            ([0, NOWHERE, 0], [Some(no_type), Some(no_type), None, None]),
            ([0, 0, NOWHERE], [None, None, Some(no_name(3)), Some(no_name(3))]),
        ] {
            let mut f =
                Fixture { local: f.local.clone(), target: f.target.clone(), modules: Vec::new(), ..*f };
            target(&mut f, wrong);
            let refused = Btf::parse(f.target.finish()).unwrap_err();
            assert!(matches!(refused, BtfError::NameRef { .. } | BtfError::TypeRef { .. }), "{refused}");
            let errors: Vec<_> = f
                .plan(&asks)
                .into_iter()
                .map(|outcome| match outcome.decision {
                    Ok(_) => None,
                    Err(RelocError::Match { error: MatchError::Walk(error), .. }) => Some(error),
                    Err(other) => panic!("{other}"),
                })
                .collect();
            assert_eq!(errors, expected);
        }
    });
}
