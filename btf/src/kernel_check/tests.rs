//! The rules that differ between kernels, in either byte order. The crate `tests` has a case for each rule,
//! and compares all of them with the running kernel.

use super::*;
use crate::{Builder, BuiltMember, Kind, endian::Endian, ids::TypeId};
use alloc::{borrow::ToOwned as _, string::ToString, vec::Vec};

const RELEASES: [[u8; 2]; 5] = [[5, 10], [6, 1], [6, 12], [6, 18], [7, 2]];

/// Returns the releases that refuse a BTF, with the words of their logs.
fn refusals(build: impl Fn(&mut Builder)) -> Vec<([u8; 2], &'static str)> {
    let [little, big] = [Endian::Little, Endian::Big].map(|endian| {
        let mut b = Builder::new(endian);
        b.int("int", 4, Builder::SIGNED);
        build(&mut b);
        let btf = b.finish();
        let message = |[major, minor]: [u8; 2]| {
            let violations = kernel_violations(&btf, &KernelBtfRules::of_release(major, minor));
            violations.first().and_then(BtfViolation::kernel_message)
        };
        RELEASES.iter().filter_map(|release| Some((*release, message(*release)?))).collect::<Vec<_>>()
    });
    assert_eq!(little, big);
    little
}

#[test]
fn rules_that_differ_between_kernels() {
    let int = TypeId(1);
    let info = "Invalid btf_info:";
    assert_eq!(refusals(|b| _ = b.float("f", 4)), [([5, 10], info)]);
    assert_eq!(refusals(|b| _ = b.type_tag("t", int)), [([5, 10], info)]);
    assert_eq!(refusals(|b| _ = b.enumeration64("e", 8, &[])), [([5, 10], info)]);
    let flag = "Invalid btf_info kind_flag";
    assert_eq!(refusals(|b| _ = b.signed_enumeration("e", 4, &[("A", 1)])), [([5, 10], flag)]);
    let flags: Vec<_> = [([5, 10], info), ([6, 1], flag), ([6, 12], flag)].into();
    assert_eq!(refusals(|b| _ = b.type_attribute("t", int)), flags);
    assert_eq!(refusals(|b| _ = b.datasec(".data", 4, &[])), [([5, 10], "vlen == 0")]);
    let long = "a".repeat(129);
    assert_eq!(refusals(|b| _ = b.typedef(&long, int)), [([5, 10], "Invalid name")]);
    let section = |b: &mut Builder| {
        let variable = b.var("a.b", int, 1);
        b.datasec("?.data", 4, &[(variable, 0, 4)]);
    };
    assert_eq!(refusals(section), [([5, 10], "Invalid name"), ([6, 1], "Invalid name")]);
    let returns_variable = |b: &mut Builder| {
        let variable = b.var("x", int, 1);
        b.func_proto(variable, &[]);
    };
    let refused = [[6, 1], [6, 12], [6, 18], [7, 2]].map(|release| (release, "Invalid return type"));
    assert_eq!(refusals(returns_variable), refused);
    let tag_after_const = |b: &mut Builder| {
        let tag = b.type_tag("t", int);
        b.modifier(Kind::Const, tag);
    };
    let order = "Type tags don't precede modifiers";
    let refused = [([5, 10], info), ([6, 1], order), ([6, 12], order), ([6, 18], order)];
    assert_eq!(refusals(tag_after_const), refused);
}

#[test]
fn a_violation_names_type_place_and_rule() {
    for endian in [Endian::Little, Endian::Big] {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("Option<u32>", 4, &[("value", int, 0), ("a-b", int, 32)]);
        let btf = Btf::parse(b.finish()).unwrap();
        let violations = btf.kernel_violations(&KernelBtfRules::newest());
        let texts: Vec<_> = violations.list().iter().map(ToString::to_string).collect();
        let expected = [
            "type [2] STRUCT `Option<u32>`: has a name with `<` at byte 6, which the kernel does not allow",
            "type [2] STRUCT `Option<u32>`, member 1 `a-b`: has a name with `-` at byte 1, which the kernel does not allow",
            "type [2] STRUCT `Option<u32>`, member 1 `a-b`: the member at bit 32 with 32 bits exceeds the struct's size of 4 bytes",
        ];
        assert_eq!(texts, expected);
    }
}

#[test]
fn violations_are_bounded_and_counted() {
    let mut b = Builder::new(Endian::Little);
    for _ in 0..2 * crate::limits::KERNEL_VIOLATIONS {
        b.typedef("", TypeId::VOID);
    }
    let violations = kernel_violations(&b.finish(), &KernelBtfRules::newest());
    assert_eq!(violations.list().len(), crate::limits::KERNEL_VIOLATIONS);
    assert_eq!(violations.omitted(), crate::limits::KERNEL_VIOLATIONS);
}

#[test]
fn a_type_that_needs_a_refused_type_is_no_violation_of_its_own() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let bad = b.array(TypeId(99), int, 1);
    let outer = b.structure("outer", 64, &[("bad", bad, 0)]);
    b.var("x", outer, 1);
    b.func_proto(outer, &[("a", outer)]);
    let violations = kernel_violations(&b.finish(), &KernelBtfRules::newest());
    assert_eq!(violations.list().len(), 1);
}

/// The crate `tests` has more cases, which it compares with kernels of both kinds.
#[test]
fn a_layout_section_is_known_since_7_2() {
    let first = |layout: &[u8], release: [u8; 2]| {
        let mut b = Builder::new(Endian::Little);
        b.int("int", 4, Builder::SIGNED);
        let plain = b.finish();
        let (header, body) = plain.split_at(24);
        let (types, strings) = body.split_at(16);
        let len = u8::try_from(layout.len()).unwrap();
        let mut header = header.to_vec();
        (header[4], header[16]) = (32, 16 + len);
        let btf = [&header, &[16, 0, 0, 0, len, 0, 0, 0][..], types, layout, strings].concat();
        let [major, minor] = release;
        let violations = kernel_violations(&btf, &KernelBtfRules::of_release(major, minor));
        violations.first().map(ToString::to_string)
    };
    assert_eq!(first(&[1; 8], [7, 2]), None);
    let length =
        |found| Some(alloc::format!("the layout section has {found} bytes, expected a multiple of 4"));
    assert_eq!([3, 6].map(|len| first(&[1; 8][..len], [7, 2])), [length(3), length(6)]);
    let old = first(&[1; 8], [6, 18]).unwrap();
    assert_eq!(old, "the header has a value after its last field that the kernel knows");
}

/// The crate `tests` has a case for each rule of these structs.
#[test]
fn structs_with_managed_fields_are_refused_without_words() {
    let refused = |build: &dyn Fn(&mut Builder)| {
        let mut b = Builder::new(Endian::Big);
        b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_spin_lock", 4, &[]);
        build(&mut b);
        let btf = b.finish();
        let texts = RELEASES.iter().filter_map(|[major, minor]| {
            let violations = kernel_violations(&btf, &KernelBtfRules::of_release(*major, *minor));
            let first = violations.first()?;
            // Linux 5.10 does not know type tags.
            first.kernel_message().is_none().then(|| ([*major, *minor], first.to_string()))
        });
        texts.collect::<Vec<_>>()
    };
    let (int, lock) = (TypeId(1), TypeId(2));
    let bitfields = |b: &mut Builder| {
        let member =
            |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
        let members = [member("lock", lock, 0, 0), member("a", int, 32, 1), member("b", int, 33, 1)];
        b.composite(Kind::Struct, "value", 8, &members);
    };
    let text = "type [3] STRUCT `value`, member 2 `b`: begins at bit 33, expected a multiple of 8 in a struct with fields that the kernel manages";
    let expected = [[6, 12], [6, 18], [7, 2]].map(|release| (release, text.to_owned()));
    assert_eq!(refused(&bitfields), expected);
    let tagged = |b: &mut Builder| {
        let tag = b.type_tag("user", int);
        let pointer = b.pointer(tag);
        b.structure("value", 16, &[("lock", lock, 0), ("p", pointer, 64)]);
    };
    let releases: Vec<_> = refused(&tagged).into_iter().map(|(release, _)| release).collect();
    assert_eq!(releases, [[6, 12], [6, 18]]);
    let nested = |b: &mut Builder| {
        let inner = b.structure("inner", 4, &[("lock", lock, 0)]);
        b.structure("value", 8, &[("lock", lock, 0), ("inner", inner, 32)]);
    };
    let releases: Vec<_> = refused(&nested).into_iter().map(|(release, _)| release).collect();
    assert_eq!(releases, [[6, 12], [7, 2]]);
}

/// Linux 6.2 to 6.18 refuse an element of a list that owns lists of owners. Linux 6.19, and updates of 6.12,
/// refuse circles only.
#[test]
fn owners_of_owners_are_refused_until_6_19() {
    let mut b = Builder::new(Endian::Little);
    b.int("int", 4, Builder::SIGNED);
    let lock = b.structure("bpf_spin_lock", 4, &[]);
    let head = b.structure("bpf_list_head", 16, &[]);
    let node = b.structure("bpf_list_node", 24, &[]);
    let mut element = |name: &str, contained: Option<&str>| {
        let owner = [("node", node, 0), ("head", head, 192), ("lock", lock, 320)];
        let members = if contained.is_some() { &owner[..] } else { &owner[..1] };
        let ty = b.structure(name, if contained.is_some() { 48 } else { 24 }, members);
        if let Some(contained) = contained {
            b.decl_tag(&alloc::format!("contains:{contained}:node"), ty, 1);
        }
    };
    element("leaf", None);
    element("middle", Some("leaf"));
    element("top", Some("middle"));
    let btf = b.finish();
    let refused = |release: &[u8; 2]| {
        let rules = KernelBtfRules::of_release(release[0], release[1]);
        kernel_violations(&btf, &rules).first().map(|first| first.rule)
    };
    let nested = Some(BtfRule::Managed(ManagedError::NestedOwnership));
    for release in [[6, 6], [6, 11], [6, 13], [6, 18]] {
        assert_eq!(refused(&release), nested, "{release:?}");
    }
    for release in [[6, 1], [6, 12], [6, 19], [7, 2]] {
        assert_eq!(refused(&release), None, "{release:?}");
    }
}

/// Each struct contains the one before twice. A search of every path would not end, and one without a limit
/// would exceed the stack.
#[test]
fn nested_structs_with_managed_fields_are_searched_once_and_to_a_limit() {
    let refused = |levels: u32| {
        let mut b = Builder::new(Endian::Little);
        b.int("int", 4, Builder::SIGNED);
        let lock = b.structure("bpf_spin_lock", 4, &[]);
        let mut inner = b.structure("empty", 0, &[]);
        for _ in 1..levels {
            inner = b.structure("s", 0, &[("a", inner, 0), ("b", inner, 0)]);
        }
        b.structure("top", 4, &[("lock", lock, 0), ("inner", inner, 0)]);
        let violations = kernel_violations(&b.finish(), &KernelBtfRules::of_release(6, 18));
        violations.first().map(|first| first.rule)
    };
    assert_eq!(refused(31), None);
    let too_deep = BtfRule::Managed(ManagedError::TooDeep { limit: 32 });
    assert_eq!([32, 50_000].map(refused), [Some(too_deep), Some(too_deep)]);
}

/// A release that changes a rule and is missing in the list would have its own rules as the next release of
/// the list.
#[test]
fn the_strictest_rules_are_those_of_all_releases() {
    let strictest = KernelBtfRules::strictest();
    for (major, last) in [(5u8, 19u8), (6, 19), (7, 9)] {
        for minor in if major == 5 { 10 } else { 0 }..=last {
            let rules = KernelBtfRules::of_release(major, minor);
            assert_eq!(strictest.or_stricter(rules), strictest, "{major}.{minor}");
        }
    }
}
