//! Checks that the members of a Rust struct lie where those of a C type do.
//!
//! The names of members do not count. Bytes in Rust stand for anything in C, and a gap between C's members
//! may be a member in Rust.

use super::{
    rust_type::{Element, MemberShape, RustType, Shape},
    type_check::{display_type, expected_type},
};
use core_relo::{
    Text, TypeId,
    btf::{Btf, Member, Type},
};
use thiserror::Error;

/// The structs and arrays that may contain each other. What lies deeper is not compared.
const DEPTH: u32 = 16;
/// The members that are compared. Those after them are not compared.
const STEPS: u32 = 100_000;

/// The difference between a Rust type and a C type.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutMismatch {
    /// The kinds of values differ.
    #[error("it is `{c_type}` in C, expected {expected}")]
    Kind {
        /// The type in C.
        c_type: Text,
        /// The Rust types that fit.
        expected: Text,
    },
    /// No member of the C type lies where a member of the Rust type lies, with a fitting type.
    #[error("`{c_type}` has no fitting member for `{member}`, {size} bytes at offset {offset}")]
    Member {
        /// The type in C.
        c_type: Text,
        /// The member of the Rust type.
        member: &'static str,
        /// The member's offset in the Rust type, in bytes.
        offset: usize,
        /// The member's size in bytes.
        size: usize,
    },
}

core_relo::debug_as_message!(LayoutMismatch);

/// Checks that values of a Rust type have the layout of a C type of the same size.
pub fn check_layout(btf: &Btf<'_>, declared: TypeId, found: &RustType) -> Result<(), LayoutMismatch> {
    let Ok(ty) = btf.strip(declared) else { return Ok(()) };
    if found.shape.is_bytes() {
        return Ok(());
    }
    if let Some(expected) = expected_type(btf, ty, found.size, found.shape) {
        return Err(LayoutMismatch::Kind { c_type: display_type(btf, declared), expected: expected.into() });
    }
    let members = found.shape.members.filter(|_| ty.kind().is_composite() && !found.shape.is_array);
    let mut comparison = Comparison { btf, steps: STEPS };
    match members.unwrap_or(&[]).iter().find(|member| !comparison.has_member(ty, member, DEPTH)) {
        None => Ok(()),
        Some(MemberShape { name, offset, size, .. }) => Err(LayoutMismatch::Member {
            c_type: display_type(btf, declared),
            member: name,
            offset: *offset,
            size: *size,
        }),
    }
}

/// A comparison of members, with the number of steps that remain.
struct Comparison<'b> {
    btf: &'b Btf<'b>,
    steps: u32,
}

impl Comparison<'_> {
    /// Returns whether a C type has a fitting member where a member of a Rust struct lies.
    fn has_member(&mut self, ty: Type<'_>, rust: &MemberShape, depth: u32) -> bool {
        rust.size == 0
            || rust.shape.is_bytes()
            || self.has_value(ty, rust.offset, rust.size, rust.shape, depth)
    }

    /// Returns whether a C type has a value of a shape at an offset, or nothing at all there.
    fn has_value(&mut self, ty: Type<'_>, offset: usize, size: usize, shape: Shape, depth: u32) -> bool {
        let Some(deeper) = depth.checked_sub(1) else { return true };
        let Some(end) = offset.checked_add(size) else { return false };
        if let Some(array) = ty.array() {
            let element_size = self.btf.size_of(array.element).ok().and_then(|s| usize::try_from(s.0).ok());
            let inner = element_size.and_then(|size| offset.checked_rem(size));
            return match (inner, self.btf.strip(array.element)) {
                (Some(offset), Ok(element)) => self.is_value(element, offset, size, shape, deeper),
                _ => true,
            };
        }
        let mut is_gap = true;
        for member in ty.members() {
            let Some(left) = self.steps.checked_sub(1) else { return true };
            self.steps = left;
            let Some((start, member_end)) = self.extent(&member) else { return true };
            if start >= end || member_end <= offset {
                continue;
            }
            is_gap = false;
            // Rust has integers or bytes for the storage of bitfields.
            if member.bitfield_bits != 0 || !member.bit_offset.0.is_multiple_of(8) {
                return true;
            }
            let (Some(inner), Ok(inner_ty)) = (offset.checked_sub(start), self.btf.strip(member.ty)) else {
                continue;
            };
            if self.is_value(inner_ty, inner, size, shape, deeper) {
                return true;
            }
        }
        is_gap
    }

    /// Returns whether a C type is a value of a shape, or has one at the offset.
    fn is_value(&mut self, ty: Type<'_>, offset: usize, size: usize, shape: Shape, depth: u32) -> bool {
        let has_size = self.btf.size_of(ty.id()).is_ok_and(|found| usize::try_from(found.0) == Ok(size));
        if offset == 0 && has_size && expected_type(self.btf, ty, size, shape).is_none() {
            let members = shape.members.filter(|_| shape.element == Element::Record && !shape.is_array);
            let is_struct = ty.kind().is_composite();
            return !is_struct || members.unwrap_or(&[]).iter().all(|m| self.has_member(ty, m, depth));
        }
        (ty.kind().is_composite() || ty.array().is_some()) && self.has_value(ty, offset, size, shape, depth)
    }

    /// Returns the first byte of a member, and the byte after its last.
    fn extent(&self, member: &Member<'_>) -> Option<(usize, usize)> {
        let start = usize::try_from(member.bit_offset.0 / 8).ok()?;
        let end = if member.bitfield_bits == 0 {
            start.checked_add(usize::try_from(self.btf.size_of(member.ty).ok()?.0).ok()?)?
        } else {
            let bits = member.bit_offset.0.checked_add(member.bitfield_bits)?;
            usize::try_from(bits.div_ceil(8)).ok()?
        };
        Some((start, end))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_in_result, reason = "tests")]
mod tests {
    use super::*;
    use core_relo::{Endian, btf::Builder};

    const U32: Shape = Shape::scalar(Element::Unsigned, 4);
    const U64: Shape = Shape::scalar(Element::Unsigned, 8);
    const F64: Shape = Shape::scalar(Element::Float, 8);
    /// A struct whose first member is a float.
    const WRONG: Shape = Shape::with_members(16, &[MemberShape::new("c", 0, 8, F64)]);

    /// `struct outer { int a; char pad[4]; struct { long b; double c; } inner; }`, and the check of a Rust
    /// struct of 24 bytes.
    fn check(members: Vec<MemberShape>) -> Result<(), String> {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let long = b.int("long", 8, Builder::SIGNED);
        let double = b.float("double", 8);
        let inner = b.structure("", 16, &[("b", long, 0), ("c", double, 64)]);
        let outer = b.structure("outer", 24, &[("a", int, 0), ("inner", inner, 64)]);
        let btf = Btf::parse(b.finish()).unwrap();
        let found = RustType { shape: Shape::with_members(24, members.leak()), size: 24, name: "Outer" };
        check_layout(&btf, outer, &found).map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn members_lie_where_those_of_c_do() {
        const INNER: Shape =
            Shape::with_members(16, &[MemberShape::new("b", 0, 8, U64), MemberShape::new("c", 8, 8, F64)]);
        assert_eq!(
            check(vec![MemberShape::new("a", 0, 4, U32), MemberShape::new("inner", 8, 16, INNER)]),
            Ok(())
        );
        let flat = vec![MemberShape::new("b", 8, 8, U64), MemberShape::new("c", 16, 8, F64)];
        assert_eq!(check(flat), Ok(()), "members of members");
        assert_eq!(check(vec![MemberShape::new("pad", 4, 4, U32)]), Ok(()), "a gap");
        assert_eq!(
            check(vec![MemberShape::new("all", 0, 24, Shape::scalar(Element::Unsigned, 1).array())]),
            Ok(())
        );
    }

    #[test]
    fn a_member_at_another_place_or_of_another_kind_is_named() {
        let swapped = check(vec![MemberShape::new("b", 0, 8, U64), MemberShape::new("a", 8, 4, U32)]);
        assert_eq!(swapped.unwrap_err(), "`struct outer` has no fitting member for `b`, 8 bytes at offset 0");
        assert!(
            check(vec![MemberShape::new("c", 16, 8, U64)]).unwrap_err().contains("`c`, 8 bytes at offset 16")
        );
        assert!(check(vec![MemberShape::new("inner", 8, 16, WRONG)]).unwrap_err().contains("`inner`"));
    }

    #[test]
    fn kinds_of_values_are_compared_and_bytes_fit_all() {
        let mut b = Builder::new(Endian::Little);
        let long = b.int("long", 8, Builder::SIGNED);
        let endless = b.next_id();
        b.array(endless, long, 1);
        let btf = Btf::parse(b.finish()).unwrap();
        let check = |ty, shape| check_layout(&btf, ty, &RustType { shape, size: 8, name: "T" });
        assert_eq!(check(long, U64), Ok(()));
        assert!(matches!(check(long, F64), Err(LayoutMismatch::Kind { .. })));
        assert!(check(long, U32.array()).is_err());
        assert_eq!(check(long, Shape::scalar(Element::Unsigned, 1).array()), Ok(()));
        assert_eq!(check(endless, U64), Ok(()), "an array in itself");
    }
}
