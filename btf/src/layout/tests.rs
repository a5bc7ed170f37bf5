//! Holes, padding, and fields by path.

use super::{FieldPathError, Layout, LayoutPart, field_path};
use crate::{Btf, Builder, BuiltMember, Endian, Kind};
use alloc::{string::ToString as _, vec::Vec};

/// `struct outer { char c; int x; struct { long y; struct outer *next; }; int bits : 3; int array[4]; }`, 56
/// bytes.
fn outer() -> Btf<'static> {
    let mut b = Builder::new(Endian::Little);
    let char = b.int("char", 1, Builder::SIGNED);
    let int = b.int("int", 4, Builder::SIGNED);
    let long = b.int("long", 8, Builder::SIGNED);
    let array = b.array(int, int, 4);
    // Types are numbered in the order in which they are added: the pointer, the anonymous struct, the struct
    // around it.
    let outer = crate::TypeId(b.next_id().0.checked_add(2).unwrap());
    let next = b.pointer(outer);
    let anonymous = b.structure("", 16, &[("y", long, 0), ("next", next, 64)]);
    let member = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let members = [
        member("c", char, 0, 0),
        member("x", int, 32, 0),
        member("", anonymous, 64, 0),
        member("bits", int, 192, 3),
        member("array", array, 224, 0),
    ];
    b.composite(Kind::Struct, "outer", 56, &members);
    b.typedef("outer_t", outer);
    Btf::parse(b.finish()).unwrap()
}

#[test]
fn holes_and_padding_lie_between_and_after_members() {
    let btf = outer();
    let layout = Layout::new(btf.find(b"outer", Kind::Struct).unwrap()).unwrap();
    assert_eq!(layout.holes().collect::<Vec<_>>(), [(8, 24), (195, 29)]);
    assert_eq!(layout.parts.last(), Some(&LayoutPart::Padding { start: 352, bits: 96 }));
    assert_eq!(layout.bits, 448);
}

#[test]
fn paths_lead_through_anonymous_members_arrays_and_pointers() {
    let btf = outer();
    let steps = |path| {
        let steps = field_path(&btf, path).unwrap();
        steps.iter().map(|s| (s.path, s.extent.bit_offset.0, s.extent.bits)).collect::<Vec<_>>()
    };
    assert_eq!(steps("outer.y"), [("outer.y", 64, 64)]);
    assert_eq!(steps("outer_t.array[2]"), [("outer_t.array[2]", 224 + 64, 32)]);
    assert_eq!(steps("outer.bits"), [("outer.bits", 192, 3)]);
    let pointer = ("outer.next", 128, 64);
    assert_eq!(steps("outer.next.next.x"), [pointer, ("next", 128, 64), ("x", 32, 32)]);
    assert_eq!(steps("outer.next[1].x"), [pointer, ("[1].x", 448 + 32, 32)]);
}

#[test]
fn paths_that_lead_nowhere_name_the_place() {
    let btf = outer();
    let error = |path: &str| field_path(&btf, path).unwrap_err().to_string();
    assert_eq!(error("inner.x"), "no type `inner`");
    assert_eq!(error("outer.z"), "`outer` has no member `z`");
    assert_eq!(error("outer.x.y"), "`outer.x` has no members");
    assert_eq!(error("outer.array[4]"), "`outer.array` has no element 4");
    assert_eq!(error("outer.x[0]"), "`outer.x` has no element 0");
    assert_eq!(error("outer.array[a]"), "`[a]` after `outer.array`: expected the index of an array");
    for path in ["", "outer", "outer.", "outer..x", "outer[", ".x"] {
        assert!(matches!(field_path(&btf, path), Err(FieldPathError::Syntax { .. })), "{path}");
    }
}

#[test]
fn a_struct_in_itself_ends() {
    let mut b = Builder::new(Endian::Little);
    let own = b.next_id();
    b.structure("own", 8, &[("", own, 0)]);
    let btf = Btf::parse(b.finish()).unwrap();
    assert!(matches!(field_path(&btf, "own.x"), Err(FieldPathError::NoMember { .. })));
    assert!(Layout::new(btf.ty(own).unwrap()).is_ok());
}
