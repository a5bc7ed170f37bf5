//! Tests of a target whose members and enumerators are not validated.

use super::fixture::{Fixture, imm64, in_both_orders, load, mov};
use crate::{
    TypeId,
    btf::{Btf, BtfError, Builder, BuiltRecord, Kind, WalkError},
    ext::RelocKind::{EnumvalValue, FieldByteOffset, FieldByteSize, TypeExists, TypeMatches},
    plan::RelocError,
    resolve::MatchError,
};
use alloc::vec::Vec;

/// An id of no type, and an offset beyond the string section.
const MISSING: u32 = 0x00ff_ffff;

/// Adds `struct s { int int; int f; }` and `enum e { A }` to the target. A number other than 0 replaces, in
/// this order, the offset of the name of the first member, the type id of `f`, and the offset of the name of
/// `A`.
fn add_types(f: &mut Fixture, [name, ty, enumerator]: [u32; 3]) {
    let int = f.target.int("int", 4, Builder::SIGNED).0;
    let f_name = f.target.string("f").0;
    let enumerator_name = f.target.string("A").0;
    let or = |replacement, valid| if replacement == 0 { valid } else { replacement };
    f.target.raw(
        "s",
        BuiltRecord {
            vlen: 2,
            size_or_type: 8,
            words: &[name, int, 0, f_name, or(ty, int), 32],
            ..BuiltRecord::new(Kind::Struct)
        },
    );
    f.target.raw(
        "e",
        BuiltRecord {
            vlen: 1,
            size_or_type: 4,
            words: &[or(enumerator, enumerator_name), 7],
            ..BuiltRecord::new(Kind::Enum)
        },
    );
    f.is_unvalidated = true;
}

#[test]
fn missing_names_and_types_are_errors_of_the_relocations_that_read_them() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let s = f.local.structure("s", 4, &[("f", int, 0)]);
        let e = f.local.enumeration("e", 4, &[("A", 1)]);
        let records = [
            (FieldByteOffset, s, "0:0", load(4, 0)),
            (TypeMatches, s, "0", mov(1)),
            (EnumvalValue, e, "0", imm64(1)),
            (TypeMatches, e, "0", mov(1)),
        ];
        let no_name = |ty| WalkError::NoName { ty: TypeId(ty), offset: MISSING };
        let no_type = WalkError::NoType(TypeId(MISSING));
        for (replacements, expected) in [
            ([MISSING, 0, 0], [Some(no_name(2)), Some(no_name(2)), None, None]),
            ([0, MISSING, 0], [Some(no_type), Some(no_type), None, None]),
            ([0, 0, MISSING], [None, None, Some(no_name(3)), Some(no_name(3))]),
        ] {
            let mut f =
                Fixture { local: f.local.clone(), target: f.target.clone(), modules: Vec::new(), ..*f };
            add_types(&mut f, replacements);
            let refused = Btf::parse(f.target.finish()).unwrap_err();
            assert!(matches!(refused, BtfError::NameRef { .. } | BtfError::TypeRef { .. }), "{refused}");
            let errors: Vec<_> = f
                .plan(&records)
                .into_iter()
                .map(|planned| match planned.decision {
                    Ok(_) => None,
                    Err(RelocError::Match { error: MatchError::Walk(error), .. }) => Some(error),
                    Err(other) => panic!("{other}"),
                })
                .collect();
            assert_eq!(errors, expected);
        }
    });
}

/// A missing id in a base BTF must not refer to a type of the split BTF, which continues the ids of the base.
#[test]
fn ids_refer_to_types_of_their_own_btf() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let long = f.local.int("long", 8, Builder::SIGNED);
        let array = f.local.array(int, int, 2);
        let s = f.local.structure("s", 24, &[("f", int, 0), ("a", array, 64)]);
        let m = f.local.structure("m", 24, &[("s", s, 0)]);
        let p = f.local.func_proto(int, &[("x", long)]);
        let p = f.local.typedef("p", p);

        let int = f.target.int("int", 4, Builder::SIGNED);
        let array = f.target.array(TypeId(7), int, 2);
        let s = f.target.structure("s", 24, &[("f", TypeId(7), 0), ("a", array, 64)]);
        let proto = f.target.func_proto(int, &[("x", TypeId(7))]);
        let target_long = f.target.int("long", 8, Builder::SIGNED);
        // The builder of the module needs a parsed base, which may refer to missing types only without
        // validation.
        let base = Btf::parse_unvalidated(f.target.finish(), None).unwrap();
        let mut module = Builder::split(&base);
        let pad = module.typedef("pad", target_long);
        let module_long = module.int("long", 8, Builder::SIGNED);
        module.structure("m", 24, &[("s", s, 0)]);
        module.typedef("p", proto);
        assert_eq!([pad, module_long], [TypeId(6), TypeId(7)]);
        f.modules.push(module.finish());
        f.is_unvalidated = true;

        let got = f.plan(&[
            (FieldByteSize, m, "0:0:0", mov(4)),
            (FieldByteOffset, m, "0:0:1:1", load(4, 12)),
            (FieldByteSize, m, "0:0:1", mov(8)),
            (TypeMatches, m, "0", mov(1)),
            (TypeMatches, p, "0", mov(1)),
            (TypeExists, p, "0", mov(1)),
        ]);
        for planned in got {
            assert!(planned.decision.is_err(), "{planned:?}");
            assert!(planned.reason.contains("[7] does not exist"), "{planned:?}");
        }
    });
}
