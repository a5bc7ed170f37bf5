//! Tests of a target whose members and enumerators are not validated.

use super::fixture::{Fixture, imm64, in_both_orders, load, mov};
use crate::{
    btf::{Btf, BtfError, Builder, Kind, WalkError},
    ext::RelocKind::{EnumvalValue, FieldByteOffset, FieldByteSize, TypeExists, TypeMatches},
    ids::TypeId,
    plan::RelocError,
    resolve::MatchError,
};
use alloc::vec::Vec;

const NOWHERE: u32 = 0x00ff_ffff;

/// Adds `struct s { <first>; int f; }` and an enumeration `e`. A number other than 0 replaces a valid name or type.
fn add_types(f: &mut Fixture, [name, ty, variant]: [u32; 3]) {
    let int = f.target.int("int", 4, 1).0;
    let f_name = f.target.string("f").0;
    let variant_name = f.target.string("A").0;
    let or = |given, usual| if given == 0 { usual } else { given };
    f.target.raw("s", Kind::Struct, 2, false, 8, &[name, int, 0, f_name, or(ty, int), 32]);
    f.target.raw("e", Kind::Enum, 1, false, 4, &[or(variant, variant_name), 7]);
    f.unvalidated = true;
}

#[test]
fn missing_names_and_types_are_errors_of_the_relocations_that_read_them() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, 1);
        let s = f.local.structure("s", 4, &[("f", int, 0)]);
        let e = f.local.enumeration("e", 4, false, &[("A", 1)]);
        let records = [
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
            add_types(&mut f, wrong);
            let refused = Btf::parse(f.target.finish()).unwrap_err();
            assert!(matches!(refused, BtfError::NameRef { .. } | BtfError::TypeRef { .. }), "{refused}");
            let errors: Vec<_> = f
                .plan(&records)
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

/// An id that a base BTF does not have must not refer to a type of the module on top of it.
#[test]
fn ids_refer_to_types_of_their_own_btf() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, 1);
        let long = f.local.int("long", 8, 1);
        let array = f.local.array(int, int, 2);
        let s = f.local.structure("s", 24, &[("f", int, 0), ("a", array, 64)]);
        let m = f.local.structure("m", 24, &[("s", s, 0)]);
        let p = f.local.func_proto(int, &[("x", long)]);
        let p = f.local.typedef("p", p);

        let int = f.target.int("int", 4, 1);
        let array = f.target.array(TypeId(7), int, 2);
        let s = f.target.structure("s", 24, &[("f", TypeId(7), 0), ("a", array, 64)]);
        let proto = f.target.func_proto(int, &[("x", TypeId(7))]);
        let good = f.target.int("long", 8, 1);
        // The module's builder needs a base. Its elements may refer to missing types.
        let base = Btf::parse_unvalidated(f.target.finish(), None).unwrap();
        let mut module = Builder::split(&base);
        let pad = module.typedef("pad", good);
        let first = module.int("long", 8, 1);
        module.structure("m", 24, &[("s", s, 0)]);
        module.typedef("p", proto);
        assert_eq!([pad, first], [TypeId(6), TypeId(7)]);
        f.modules.push(module.finish());
        f.unvalidated = true;

        let got = f.plan(&[
            (FieldByteSize, m, "0:0:0", mov(4)),
            (FieldByteOffset, m, "0:0:1:1", load(4, 12)),
            (FieldByteSize, m, "0:0:1", mov(8)),
            (TypeMatches, m, "0", mov(1)),
            (TypeMatches, p, "0", mov(1)),
            (TypeExists, p, "0", mov(1)),
        ]);
        for outcome in got {
            assert!(outcome.decision.is_err(), "{outcome:?}");
            assert!(outcome.reason.contains("[7] does not exist"), "{outcome:?}");
        }
    });
}
