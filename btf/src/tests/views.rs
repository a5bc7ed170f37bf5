//! Tests of the accessors of [`Type`], for every kind.

use crate::Member;
use crate::{
    ArrayInfo, Btf, Builder, BuiltMember, BuiltRecord, Endian, IntInfo, Kind, Type,
    ids::{BitOffset, ByteSize, TypeId},
};
use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};

/// Builds types in both byte orders, and calls `check` with the type whose id `build` returns.
fn check_type(build: impl Fn(&mut Builder) -> TypeId, check: impl Fn(Type<'_>)) {
    for endian in [Endian::Little, Endian::Big] {
        let mut b = Builder::new(endian);
        b.int("int", 4, Builder::SIGNED);
        let id = build(&mut b);
        let btf = Btf::parse(b.finish()).unwrap();
        check(btf.ty(id).unwrap());
    }
}

const INT: TypeId = TypeId(1);

/// Returns which accessors return a value: size, target, array, int, linkage, component, members,
/// enumerators, params, secinfos.
fn present_values(ty: Type<'_>) -> [bool; 10] {
    let elements = [ty.members().len(), ty.enumerators().len(), ty.params().len(), ty.secinfos().len()];
    let firsts =
        [ty.member(0).is_some(), ty.enumerator(0).is_some(), ty.param(0).is_some(), ty.secinfo(0).is_some()];
    let [members, enumerators, params, secinfos] = elements.map(|len| len > 0);
    assert_eq!(firsts, [members, enumerators, params, secinfos]);
    [
        ty.size().is_some(),
        ty.target().is_some(),
        ty.array().is_some(),
        ty.int().is_some(),
        ty.linkage().is_some(),
        ty.component_index().is_some(),
        members,
        enumerators,
        params,
        secinfos,
    ]
}

#[test]
fn each_kind_has_values_only_for_its_own_accessors() {
    let accessors_of = |kind: Kind| -> &[usize] {
        match kind {
            Kind::Int => &[0, 3],
            Kind::Array => &[2],
            Kind::Struct | Kind::Union => &[0, 6],
            Kind::Enum | Kind::Enum64 => &[0, 7],
            Kind::Fwd => &[],
            Kind::Func | Kind::Var => &[1, 4],
            Kind::FuncProto => &[1, 8],
            Kind::Datasec => &[0, 9],
            Kind::Float => &[0],
            Kind::DeclTag => &[1, 5],
            _ => &[1],
        }
    };
    for raw in 1..=19 {
        let kind = Kind::from_raw(raw);
        let build = |b: &mut Builder| {
            // Type 2 is the FUNC_PROTO to which a FUNC must refer. Every record has room for one element.
            b.func_proto(INT, &[]);
            b.raw(
                "x",
                BuiltRecord { kind, vlen: 1, kflag: true, size_or_type: 2, words: &[0, 1, 1][..words(kind)] },
            )
        };
        check_type(build, |ty| {
            let mut expected = [false; 10];
            for at in accessors_of(kind) {
                expected[*at] = true;
            }
            assert_eq!(present_values(ty), expected, "{kind}");
            assert_eq!((ty.kind(), ty.vlen(), ty.kflag(), ty.size_or_type()), (kind, 1, true, 2));
            assert_eq!(ty.name().as_bytes(), b"x");
        });
    }
    check_type(
        |_| TypeId::VOID,
        |void| {
            assert_eq!(present_values(void), [false; 10]);
            assert_eq!((void.kind(), void.id(), void.name().is_empty()), (Kind::Void, TypeId::VOID, true));
        },
    );
}

fn words(kind: Kind) -> usize {
    let layout = kind.layout().unwrap();
    layout.fixed.len().max(layout.element.len())
}

#[test]
fn an_int_has_encoding_offset_and_width() {
    let build = |b: &mut Builder| b.legacy_bitfield("flags", 4, Builder::SIGNED | Builder::BOOL, 3, 5);
    check_type(build, |ty| {
        assert_eq!(ty.int(), Some(IntInfo { encoding: 5, offset: 3, bits: 5 }));
        assert!(ty.int().unwrap().is_signed());
        assert_eq!(ty.size(), Some(ByteSize(4)));
    });
    let build = |b: &mut Builder| {
        b.raw("i", BuiltRecord { size_or_type: 1, words: &[0xf200_0008], ..BuiltRecord::new(Kind::Int) })
    };
    check_type(build, |ty| {
        let int = ty.int().unwrap();
        assert_eq!(int, IntInfo { encoding: 2, offset: 0, bits: 8 }, "the encoding has four bits");
        assert!(!int.is_signed());
    });
}

#[test]
fn types_with_a_target_return_it() {
    let modifiers = [Kind::Const, Kind::Volatile, Kind::Restrict];
    for kind in modifiers {
        check_type(|b| b.modifier(kind, INT), |ty| assert_eq!((ty.kind(), ty.target()), (kind, Some(INT))));
    }
    check_type(|b| b.pointer(TypeId::VOID), |ty| assert_eq!(ty.target(), Some(TypeId::VOID)));
    check_type(
        |b| b.typedef("t", INT),
        |ty| assert_eq!((ty.name().as_bytes(), ty.target()), (&b"t"[..], Some(INT))),
    );
}

#[test]
fn an_array_has_element_index_and_length() {
    check_type(
        |b| {
            let long = b.int("long", 8, 0);
            b.array(INT, long, u32::MAX)
        },
        |ty| {
            let expected = ArrayInfo { element: INT, index: TypeId(2), nelems: u32::MAX };
            assert_eq!(ty.array(), Some(expected));
        },
    );
}

#[test]
fn members_without_the_flag_have_32_bits_of_offset_and_no_width() {
    for kind in [Kind::Struct, Kind::Union] {
        let build = |b: &mut Builder| {
            let name = b.string("far").0;
            b.raw(
                "s",
                BuiltRecord {
                    vlen: 2,
                    size_or_type: 0x2000_0000,
                    words: &[0, 1, 32, name, 1, 0xfedc_ba98],
                    ..BuiltRecord::new(kind)
                },
            )
        };
        check_type(build, |ty| {
            assert_eq!((ty.size(), ty.kflag()), (Some(ByteSize(0x2000_0000)), false));
            let found: Vec<_> =
                ty.members().map(|m| (m.index, m.bit_offset.0, m.bitfield_bits, m.ty)).collect();
            assert_eq!(found, [(0, 32, 0, INT), (1, 0xfedc_ba98, 0, INT)]);
            let names: Vec<_> = ty.members().map(|m| m.name.as_bytes()).collect();
            assert_eq!(names, [&b""[..], b"far"]);
            assert_eq!(ty.member(1).unwrap().name_offset.0, ty.name_offset().0 - 4);
            assert_eq!(ty.member(2), None);
            assert_eq!(ty.member(u32::MAX), None);
        });
    }
}

#[test]
fn members_with_the_flag_have_24_bits_of_offset_and_8_of_width() {
    for kind in [Kind::Struct, Kind::Union] {
        let bit = |name, bit_offset, bitfield_bits| BuiltMember { name, ty: INT, bit_offset, bitfield_bits };
        let members = [bit("whole", 0x00ff_fff0, 0), bit("part", 0x0012_3456, 255), bit("", 7, 1)];
        check_type(
            |b| b.composite(kind, "s", 8, &members),
            |ty| {
                assert!(ty.kflag());
                let found: Vec<_> = ty.members().map(|m| (m.bit_offset, m.bitfield_bits)).collect();
                let expected = [(0x00ff_fff0, 0), (0x0012_3456, 255), (7, 1)];
                assert_eq!(found, expected.map(|(offset, bits)| (BitOffset(offset), bits)));
            },
        );
    }
}

#[test]
fn an_enums_values_are_sign_extended_and_c_values_by_the_kflag() {
    for signed in [true, false] {
        let build = |b: &mut Builder| {
            let values = [("A", -1), ("B", 0x7fff_ffff), ("C", 0x8000_0000)];
            if signed { b.signed_enumeration("e", 4, &values) } else { b.enumeration("e", 4, &values) }
        };
        check_type(build, |ty| {
            let values: Vec<_> = ty.enumerators().map(|v| v.value).collect();
            assert_eq!(values, [u64::MAX, 0x7fff_ffff, 0xffff_ffff_8000_0000]);
            let c_values: Vec<_> = ty.enumerators().map(|v| v.c_value()).collect();
            let unsigned = [0xffff_ffff, 0x7fff_ffff, 0x8000_0000];
            assert_eq!(c_values, if signed { values } else { unsigned.to_vec() });
            assert!(ty.enumerators().all(|v| v.signed == signed && !v.wide));
            let names: String = ty.enumerators().map(|v| v.name.to_string()).collect();
            assert_eq!(names, "ABC");
            assert_eq!(ty.enumerator(3), None);
            assert_eq!(ty.size(), Some(ByteSize(4)));
        });
    }
}

#[test]
fn an_enum64s_values_are_low_word_then_high_word() {
    for signed in [true, false] {
        let build = |b: &mut Builder| {
            let values = [("A", u64::MAX), ("B", 0x0123_4567_89ab_cdef)];
            if signed { b.signed_enumeration64("e", 8, &values) } else { b.enumeration64("e", 8, &values) }
        };
        check_type(build, |ty| {
            let values: Vec<_> = ty.enumerators().map(|v| (v.index, v.value, v.c_value())).collect();
            let second = 0x0123_4567_89ab_cdef;
            assert_eq!(values, [(0, u64::MAX, u64::MAX), (1, second, second)]);
            assert!(ty.enumerators().all(|v| v.signed == signed && v.wide));
            assert_eq!(ty.enumerator(2), None);
        });
    }
}

#[test]
fn the_kflag_of_a_fwd_declares_a_union() {
    for (kind, is_union) in [(Kind::Struct, false), (Kind::Union, true)] {
        check_type(
            |b| b.forward("f", kind),
            |ty| assert_eq!((ty.kflag(), ty.size(), ty.target()), (is_union, None, None)),
        );
    }
}

#[test]
fn a_float_has_a_size() {
    check_type(|b| b.float("long double", 16), |ty| assert_eq!(ty.size(), Some(ByteSize(16))));
}

#[test]
fn functions_and_variables_have_a_linkage() {
    for linkage in [0, 1, 2, 200] {
        check_type(
            |b| {
                let proto = b.func_proto(INT, &[]);
                b.func("f", proto, linkage)
            },
            |ty| assert_eq!((ty.linkage(), ty.target()), (Some(u32::from(linkage)), Some(TypeId(2)))),
        );
    }
    for linkage in [0, 1, 2, u32::MAX] {
        check_type(
            |b| b.var("v", INT, linkage),
            |ty| assert_eq!((ty.linkage(), ty.target()), (Some(linkage), Some(INT))),
        );
    }
}

#[test]
fn a_func_proto_has_parameters_and_a_return_type() {
    let build = |b: &mut Builder| b.func_proto(INT, &[("a", INT), ("", INT), ("", TypeId::VOID)]);
    check_type(build, |ty| {
        assert_eq!(ty.target(), Some(INT));
        let found: Vec<_> = ty.params().map(|p| (p.name.as_bytes(), p.ty)).collect();
        let expected: [(&[u8], _); 3] = [(b"a", INT), (b"", INT), (b"", TypeId::VOID)];
        assert_eq!(found, expected);
        assert_eq!(ty.param(3), None);
    });
}

#[test]
fn a_datasec_has_variables_with_offset_and_size() {
    let build = |b: &mut Builder| {
        let var = b.var("v", INT, 1);
        b.datasec(".data", 12, &[(var, 0, 4), (var, 0x8000_0000, u32::MAX)])
    };
    check_type(build, |ty| {
        assert_eq!((ty.size(), ty.name().as_bytes()), (Some(ByteSize(12)), &b".data"[..]));
        let found: Vec<(TypeId, u32, u32)> = ty.secinfos().map(Into::into).collect();
        assert_eq!(found, [(TypeId(2), 0, 4), (TypeId(2), 0x8000_0000, u32::MAX)]);
        assert_eq!(ty.secinfo(2), None);
    });
}

#[test]
fn tags_have_a_flag_and_a_decl_tag_a_component() {
    for attribute in [false, true] {
        for component in [-1, 0, 7, i32::MAX, i32::MIN] {
            let build = |b: &mut Builder| {
                if attribute {
                    b.decl_attribute("tag", INT, component)
                } else {
                    b.decl_tag("tag", INT, component)
                }
            };
            check_type(build, |ty| {
                assert_eq!((ty.component_index(), ty.kflag()), (Some(component), attribute));
                assert_eq!((ty.target(), ty.name().as_bytes()), (Some(INT), &b"tag"[..]));
            });
        }
        let build =
            |b: &mut Builder| if attribute { b.type_attribute("user", INT) } else { b.type_tag("user", INT) };
        check_type(build, |ty| {
            assert_eq!((ty.kflag(), ty.target(), ty.name().as_bytes()), (attribute, Some(INT), &b"user"[..]));
        });
    }
}

#[test]
fn a_record_is_read_to_its_own_end_and_not_into_the_next() {
    let build = |b: &mut Builder| {
        let s = b.structure("s", 4, &[("a", INT, 0)]);
        b.structure("next", 4, &[("b", INT, 0)]);
        s
    };
    check_type(build, |ty| {
        assert_eq!(ty.members().map(|m| m.name.to_string()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(ty.members().len(), 1);
    });
}

#[test]
fn the_next_member_is_the_first_of_that_name_or_of_none() {
    let names = ["a", "", "ab", "b", "a", "", "abc", "longer than eight"];
    let build = |b: &mut Builder| b.structure("s", 4, &names.map(|name| (name, INT, 0)));
    check_type(build, |ty| {
        for wanted in ["a", "ab", "abc", "longer than eight", "longer than", "c", ""] {
            for from in 0..=8 {
                for to in from..=9 {
                    let within = |m: &Member<'_>| m.index >= from && m.index < to;
                    let is_match =
                        |m: &Member<'_>| m.name.is_empty() || m.name.as_bytes() == wanted.as_bytes();
                    let expected = ty.members().filter(within).find(is_match);
                    assert_eq!(
                        ty.next_member(from..to, wanted.as_bytes()),
                        expected,
                        "{wanted} in {from}..{to}"
                    );
                }
            }
        }
    });
    check_type(|b| b.pointer(INT), |ty| assert_eq!(ty.next_member(0..1, b"a"), None));
}
