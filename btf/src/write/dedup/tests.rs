//! Rules of deduplication, one by one; libbpf's own answers are compared in `tests/`.

use super::{DedupError, DedupResult, dedup};
use crate::{Btf, Builder, Endian, Kind, Type, ids::TypeId};
use alloc::{
    string::{String, ToString as _},
    sync::Arc,
    vec::Vec,
};

/// Builds and deduplicates types in both byte orders. Returns the remaining types in bpftool's notation, and
/// the new id of each type.
fn deduped(build: impl Fn(&mut Builder)) -> Result<(Vec<String>, Vec<u32>), DedupError> {
    let dedup_in = |endian| {
        let mut b = Builder::new(endian);
        build(&mut b);
        let btf = Btf::parse(b.finish()).unwrap();
        let deduped = dedup(&btf)?;
        let ids = (1..btf.end_id().0).map(|id| deduped.id(TypeId(id)).unwrap().0).collect();
        let left = Btf::parse(deduped.finish()).unwrap();
        let text = left.types().map(|ty| Type::raw(ty).to_string()).collect();
        Ok((text, ids))
    };
    let (little, big) = (dedup_in(Endian::Little), dedup_in(Endian::Big));
    assert_eq!(little, big);
    little
}

fn ids(build: impl Fn(&mut Builder)) -> Vec<u32> {
    deduped(build).unwrap().1
}

#[test]
fn types_without_references_become_one_unless_anything_differs() {
    let kept = ids(|b| {
        b.int("int", 4, Builder::SIGNED);
        b.int("int", 4, Builder::SIGNED);
        b.int("int", 4, 0);
        b.float("double", 8);
        b.float("double", 8);
        b.forward("s", Kind::Struct);
        b.forward("s", Kind::Union);
        b.forward("s", Kind::Struct);
    });
    assert_eq!(kept, [1, 1, 2, 3, 3, 4, 5, 4]);
}

#[test]
fn a_declared_enum_becomes_the_full_one_of_either_width() {
    let declared_first = ids(|b| {
        b.enumeration("e", 4, &[]);
        b.enumeration("e", 4, &[("A", 1)]);
        b.enumeration("e", 4, &[("A", 2)]);
    });
    assert_eq!(declared_first, [2, 1, 2]);
    let full_first = ids(|b| {
        b.enumeration64("e", 8, &[("A", 1)]);
        b.enumeration("e", 4, &[]);
    });
    assert_eq!(full_first, [1, 1]);
}

/// `struct list { struct list *next; }`, whose members have these types.
fn list(b: &mut Builder, value: &str) {
    let (structure, pointer) = (b.next_id(), b.next_id().next());
    let int = pointer.next();
    b.structure("list", 16, &[("next", pointer, 0), ("value", int, 64)]);
    b.pointer(structure);
    b.int(value, 4, 0);
}

#[test]
fn circles_become_one_and_those_that_differ_far_away_stay_apart() {
    assert_eq!(ids(|b| ["int", "int"].iter().for_each(|value| list(b, value))), [1, 2, 3, 1, 2, 3]);
    assert_eq!(ids(|b| ["int", "long"].iter().for_each(|value| list(b, value))), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_declared_struct_becomes_the_defined_one_if_there_is_one_of_the_name_and_kind() {
    let one = ids(|b| {
        let declared = b.forward("s", Kind::Struct);
        b.pointer(declared);
        let int = b.int("int", 4, 0);
        let defined = b.structure("s", 4, &[("a", int, 0)]);
        b.pointer(defined);
    });
    assert_eq!(one, [3, 1, 2, 3, 1]);
    let two = ids(|b| {
        b.forward("s", Kind::Struct);
        let int = b.int("int", 4, 0);
        b.structure("s", 4, &[("a", int, 0)]);
        b.structure("s", 4, &[("b", int, 0)]);
    });
    assert_eq!(two, [1, 2, 3, 4]);
    let other_kind = ids(|b| {
        b.forward("s", Kind::Union);
        b.structure("s", 0, &[]);
    });
    assert_eq!(other_kind, [1, 2]);
}

#[test]
fn a_declaration_within_a_graph_is_resolved_by_the_graph_like_it() {
    let build = |b: &mut Builder, with_definition: bool| {
        let inner =
            if with_definition { b.structure("inner", 0, &[]) } else { b.forward("inner", Kind::Struct) };
        let pointer = b.pointer(inner);
        b.structure("outer", 8, &[("inner", pointer, 0)]);
    };
    for order in [[true, false], [false, true]] {
        let (text, ids) = deduped(|b| order.iter().for_each(|with| build(b, *with))).unwrap();
        assert_eq!(text.len(), 3, "{text:?}");
        assert_eq!(ids[..3], ids[3..], "{text:?}");
    }
}

#[test]
fn references_become_one_bottom_up_and_variables_never() {
    let kept = ids(|b| {
        let int = b.int("int", 4, 0);
        for _ in 0..2 {
            let constant = b.modifier(Kind::Const, int);
            let proto = b.func_proto(int, &[("x", constant)]);
            b.func("f", proto, 1);
            b.array(constant, int, 3);
            b.decl_tag("tag", proto, 0);
            b.var("v", int, 1);
        }
        let proto = b.func_proto(int, &[("y", int)]);
        b.func("f", proto, 1);
    });
    assert_eq!(kept, [1, 2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6, 8, 9, 10]);
}

/// libbpf compares the first array with itself, and makes one of the two structs.
#[test]
fn arrays_of_one_length_and_other_elements_are_not_alike() {
    let build = |b: &mut Builder, second: &str| {
        let int = b.int("int", 4, 0);
        let other = b.int(second, 4, 0);
        let (first, second) = (b.array(int, int, 4), b.array(other, int, 4));
        b.structure("pair", 32, &[("a", first, 0), ("b", second, 128)]);
    };
    let kept = ids(|b| {
        // A compiler that has written `int[4]` once, and uses it twice.
        let int = b.int("int", 4, 0);
        let array = b.array(int, int, 4);
        b.structure("pair", 32, &[("a", array, 0), ("b", array, 128)]);
        build(b, "float");
        build(b, "int");
    });
    assert_eq!(kept.last(), Some(&3));
    assert_ne!(kept.get(7), Some(&3));
}

#[test]
fn strings_that_nothing_refers_to_are_left_out() {
    let mut b = Builder::new(Endian::Little);
    b.string("unused");
    b.int("int", 4, 0);
    let deduped = dedup(&Btf::parse(b.finish()).unwrap()).unwrap();
    assert!(deduped.finish().ends_with(b"\0int\0"));
    assert!(!deduped.finish().windows(6).any(|w| w == b"unused"));
}

#[test]
fn types_that_no_compiler_writes_are_an_error() {
    let looped = deduped(|b| {
        let next = b.next_id().next();
        let pointer = b.pointer(next);
        b.modifier(Kind::Const, pointer);
    });
    assert_eq!(looped, Err(DedupError::Loop { id: TypeId(1) }));
    let variable = deduped(|b| {
        let int = b.int("int", 4, 0);
        let var = b.var("v", int, 1);
        b.structure("s", 4, &[("m", var, 0)]);
        let int = b.int("long", 8, 0);
        let var = b.var("v", int, 1);
        b.structure("s", 4, &[("m", var, 0)]);
    });
    assert_eq!(variable, Err(DedupError::Kind { id: TypeId(5), kind: Kind::Var }));
}

/// Three equal chains of functions whose parameters are functions, sixteen levels deep. Two chains merge into
/// the third.
#[test]
fn types_made_to_take_exponential_time_are_given_up() {
    let family = |b: &mut Builder, int| {
        let mut ty = int;
        for _ in 0..16 {
            ty = b.func_proto(TypeId::VOID, &[("", ty); 8]);
        }
        ty
    };
    let entangled = deduped(|b| {
        let int = b.int("int", 4, 0);
        let one = family(b, int);
        b.structure("s", 16, &[("a", one, 0), ("b", one, 64)]);
        let int = b.int("int", 4, 0);
        let (two, three) = (family(b, int), family(b, int));
        b.structure("s", 16, &[("a", two, 0), ("b", three, 64)]);
    });
    assert_eq!(entangled, Err(DedupError::TooManySteps));
}

#[test]
fn a_long_chain_of_references_needs_no_stack() {
    let count = 100_000;
    let kept = ids(|b| {
        for _ in 0..2 {
            let mut ty = b.int("int", 4, 0);
            for _ in 0..count {
                ty = b.pointer(ty);
            }
            b.structure("s", 8, &[("p", ty, 0)]);
        }
    });
    assert_eq!(kept.last(), Some(&(count + 2)));
}

/// Types of a split BTF, deduplicated against a base, in bpftool's notation.
fn split_deduped(base: impl Fn(&mut Builder), split: impl Fn(&mut Builder)) -> Vec<String> {
    let in_order = |endian| {
        let mut b = Builder::new(endian);
        base(&mut b);
        let base = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut s = Builder::split(&base);
        split(&mut s);
        let btf = Btf::parse_split(s.finish(), Arc::clone(&base)).unwrap();
        let deduped = dedup(&btf).unwrap();
        let left = Btf::parse_split(deduped.finish(), base).unwrap();
        left.types().map(|ty| Type::raw(ty).to_string()).collect()
    };
    let (little, big): (Vec<String>, Vec<String>) = (in_order(Endian::Little), in_order(Endian::Big));
    assert_eq!(little, big);
    little
}

#[test]
fn types_of_the_base_are_left_out_of_a_split_btf() {
    let common = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let pointer = b.pointer(int);
        b.structure("s", 8, &[("p", pointer, 0)]);
        b.enumeration("e", 4, &[("A", 1)]);
        b.typedef("t", pointer);
    };
    assert_eq!(split_deduped(common, common), [""; 0]);
    let left = split_deduped(common, |b| {
        common(b);
        let s = b.structure("own", 8, &[("p", TypeId(7), 0), ("s", TypeId(8), 0)]);
        b.var("e", s, 1);
    });
    assert_eq!(
        left,
        [
            "[6] STRUCT 'own' size=8 vlen=2\n\t'p' type_id=2 bits_offset=0\n\t's' type_id=3 bits_offset=0",
            "[7] VAR 'e' type_id=6, linkage=global",
        ]
    );
}

/// The base declares `inner`, the split BTF defines it. The base's `outer` therefore is another type than the
/// split BTF's.
#[test]
fn a_struct_that_the_base_only_declares_makes_other_types() {
    let outer = |b: &mut Builder, inner| {
        let pointer = b.pointer(inner);
        b.structure("outer", 8, &[("inner", pointer, 0)]);
    };
    let left = split_deduped(
        |b| {
            let inner = b.forward("inner", Kind::Struct);
            outer(b, inner);
        },
        |b| {
            let inner = b.structure("inner", 4, &[]);
            outer(b, inner);
        },
    );
    assert_eq!(
        left,
        [
            "[4] STRUCT 'inner' size=4 vlen=0",
            "[5] PTR '(anon)' type_id=4",
            "[6] STRUCT 'outer' size=8 vlen=1\n\t'inner' type_id=5 bits_offset=0",
        ]
    );
}

#[test]
fn a_declaration_in_a_split_btf_becomes_the_definition_in_the_base() {
    let left = split_deduped(
        |b| {
            b.structure("s", 4, &[]);
        },
        |b| {
            let declared = b.forward("s", Kind::Struct);
            b.pointer(declared);
        },
    );
    assert_eq!(left, ["[2] PTR '(anon)' type_id=1"]);
}

#[test]
fn a_builder_of_another_base_is_an_error() {
    let mut b = Builder::new(Endian::Little);
    b.int("int", 4, 0);
    let base = Btf::parse(b.finish()).unwrap();
    let error = super::dedup_into(&base, Builder::split(&base), 1).err();
    assert_eq!(error, Some(DedupError::BuilderBase { expected: TypeId(1), found: TypeId(2) }));
}

/// Tags with the flag of GCC and newer clang differ from tags without it.
#[test]
fn tags_are_kept_apart_by_name_flag_and_component() {
    let kept = ids(|b| {
        let int = b.int("int", 4, 0);
        for _ in 0..2 {
            b.type_tag("user", int);
            b.type_attribute("user", int);
            b.type_tag("rcu", int);
            b.decl_tag("user", int, -1);
            b.decl_attribute("user", int, -1);
            b.decl_tag("user", int, 0);
        }
    });
    assert_eq!(kept, [1, 2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6, 7]);
}

/// A hundred thousand structs of one name that refer to each other as nobody writes them: how many types are
/// left.
#[expect(clippy::arithmetic_side_effects, reason = "small numbers that the tests choose")]
mod many {
    use super::*;
    use crate::dedup_into;

    const COUNT: u32 = 100_000;
    const STEPS: u64 = 20_000_000;
    const TOO_MANY: Result<u32, DedupError> = Err(DedupError::TooManySteps);

    fn assert_left(expected: Result<u32, DedupError>, build: impl Fn(&mut Builder)) {
        let mut b = Builder::new(Endian::Little);
        build(&mut b);
        let btf = Btf::parse(b.finish()).unwrap();
        let deduped = dedup_into(&btf, Builder::new(Endian::Little), STEPS);
        let left = |deduped: DedupResult| Btf::parse(deduped.finish()).unwrap().types().count();
        assert_eq!(deduped.map(left), expected.map(|left| usize::try_from(left).unwrap()));
    }

    /// Builds structs, of which struct `n` contains a pointer to struct `to(n)`, or to `void` if there is
    /// none. Asserts the number of types after deduplication.
    fn assert_pointing(expected: Result<u32, DedupError>, to: impl Fn(u32) -> u32) {
        let structure = |number: u32| TypeId(2 * number + 1);
        assert_left(expected, |b| {
            for number in 0..COUNT {
                b.structure("s", 8, &[("p", structure(number).next(), 0)]);
                let to = to(number);
                b.pointer(if to < COUNT { structure(to) } else { TypeId::VOID });
            }
        });
    }

    #[test]
    fn circles_of_any_length_become_one_struct() {
        assert_pointing(Ok(2), |number| (number + 1) % COUNT);
        assert_pointing(Ok(2), |number| if number % 100 == 99 { number - 99 } else { number + 1 });
    }

    #[test]
    fn a_tree_becomes_a_struct_for_each_level() {
        assert_pointing(Ok(34), |number| number.checked_sub(1).map_or(COUNT, |up| up / 2));
    }

    #[test]
    fn graphs_that_differ_at_their_ends_only_are_kept() {
        assert_pointing(Ok(2 * COUNT), |number| number.wrapping_sub(1));
        assert_pointing(Ok(2 * COUNT), |number| number + 1);
        assert_left(Ok(2 * COUNT), |b| {
            for number in 0..COUNT {
                b.structure("s", 4, &[("value", TypeId(COUNT + number + 1), 0)]);
            }
            for number in 0..COUNT {
                b.int(&alloc::format!("i{number}"), 4, 0);
            }
        });
    }

    #[test]
    fn circles_of_many_lengths_and_enums_of_one_name_are_given_up() {
        assert_pointing(TOO_MANY, |number| (number.wrapping_mul(48_271) + 11) % COUNT);
        assert_left(TOO_MANY, |b| {
            for value in 0..COUNT {
                b.enumeration("e", 4, &[("A", value.into())]);
            }
        });
    }
}

#[test]
fn a_reference_to_a_missing_type_is_an_error() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let missing = TypeId(9);
    b.structure("s", 8, &[("a", int, 0), ("b", missing, 32)]);
    let btf = Btf::parse_unvalidated(b.finish(), None).unwrap();
    let expected = DedupError::NoType { id: TypeId(2), target: missing };
    assert_eq!(dedup(&btf).err(), Some(expected));
}
