//! Walks along chains of types: to the type under modifiers and typedefs, and to the size of a type.
//!
//! Every id is resolved in the BTF that contains the reference: a type of a base refers only to types of the
//! base.

use super::{error::WalkError, ty::Type};
use crate::{
    format::Kind,
    ids::{ByteSize, TypeId},
    limits,
    parse::Btf,
};

impl Btf<'_> {
    /// Skips modifiers, type tags and typedefs, and returns the type under them (libbpf:
    /// `skip_mods_and_typedefs`).
    ///
    /// A chain longer than [`limits::MODIFIER_HOPS`] is an error. libbpf loops forever on a cycle.
    #[inline]
    pub fn strip(&self, id: TypeId) -> Result<Type<'_>, WalkError> {
        self.strip_counting(id, &mut 0)
    }

    /// Returns the result of [`strip`](Self::strip), and stores the number of skipped types in `hops`.
    #[inline]
    pub fn strip_counting(&self, id: TypeId, hops: &mut u32) -> Result<Type<'_>, WalkError> {
        let mut ty = self.ty(id).ok_or(WalkError::NoType(id))?;
        for hop in 0..limits::MODIFIER_HOPS {
            *hops = hop;
            match ty.target() {
                Some(next) if ty.kind().is_modifier_or_typedef() => {
                    ty = ty.btf().ty(next).ok_or(WalkError::NoType(next))?;
                }
                _ => return Ok(ty),
            }
        }
        Err(WalkError::Endless(id))
    }

    /// Returns the size of a type in bytes, with all dimensions of an array (libbpf: `btf__resolve_size`).
    pub fn size_of(&self, id: TypeId) -> Result<ByteSize, WalkError> {
        let too_large = WalkError::TooLarge(id);
        let mut count = 1u32;
        let (mut btf, mut at) = (self, id);
        for _ in 0..limits::SIZE_HOPS {
            let ty = btf.ty(at).ok_or(WalkError::NoType(at))?;
            btf = ty.btf();
            let size = match ty.kind() {
                Kind::Ptr => Some(self.pointer_size()),
                _ => ty.size(),
            };
            if let Some(ByteSize(size)) = size {
                return count.checked_mul(size).map(ByteSize).ok_or(too_large);
            }
            at = match (ty.kind(), ty.array(), ty.target()) {
                (_, Some(array), _) => {
                    count = count.checked_mul(array.nelems).ok_or(too_large)?;
                    array.element
                }
                (Kind::Func | Kind::FuncProto, ..) | (.., None) => {
                    return Err(WalkError::NoSize { id: ty.id(), kind: ty.kind() });
                }
                (.., Some(next)) => next,
            };
        }
        Err(WalkError::Endless(id))
    }

    /// Returns the stripped element type of an array of any number of dimensions, or the stripped type itself
    /// if it is no array.
    pub fn innermost_element(&self, id: TypeId) -> Result<Type<'_>, WalkError> {
        let mut ty = self.strip(id)?;
        for _ in 0..limits::MODIFIER_HOPS {
            match ty.array() {
                Some(array) => ty = ty.btf().strip(array.element)?,
                None => return Ok(ty),
            }
        }
        Err(WalkError::Endless(id))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Btf, Builder, Endian, Kind, Type, WalkError,
        ids::{ByteSize, TypeId},
    };

    fn in_both_orders(test: impl Fn(Builder)) {
        for endian in [Endian::Little, Endian::Big] {
            test(Builder::new(endian));
        }
    }

    #[test]
    fn dimensions_multiply_and_overflow_is_an_error() {
        in_both_orders(|mut b| {
            let int = b.int("int", 4, Builder::SIGNED);
            let row = b.array(int, int, 4);
            let grid = b.array(row, int, 3);
            let huge = b.array(grid, int, 0x2000_0000);
            let none = b.array(grid, int, 0);
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.size_of(grid), Ok(ByteSize(48)));
            assert_eq!(btf.size_of(huge), Err(WalkError::TooLarge(huge)));
            assert_eq!(btf.size_of(none), Ok(ByteSize(0)));
            assert_eq!(btf.innermost_element(grid).unwrap().id(), int);
        });
    }

    #[test]
    fn a_cycle_of_modifiers_is_an_error() {
        in_both_orders(|mut b| {
            let first = b.modifier(Kind::Const, TypeId(2));
            let second = b.modifier(Kind::Volatile, first);
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.strip(first).map(Type::id), Err(WalkError::Endless(first)));
            assert_eq!(btf.size_of(second), Err(WalkError::Endless(second)));
        });
    }

    #[test]
    fn a_pointer_has_the_size_of_long_or_the_size_that_was_set() {
        in_both_orders(|mut b| {
            let long = b.int("long unsigned int", 4, 0);
            let ptr = b.pointer(long);
            let mut btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.size_of(ptr), Ok(ByteSize(4)));
            btf.set_pointer_size(ByteSize(8));
            assert_eq!(btf.size_of(ptr), Ok(ByteSize(8)));
        });
        in_both_orders(|mut b| {
            let ptr = b.pointer(TypeId::VOID);
            let btf = Btf::parse(b.finish()).unwrap();
            assert!(!btf.pointer_size_is_known());
            assert_eq!(
                btf.size_of(ptr),
                Ok(ByteSize(8)),
                "without `long` a pointer has 8 bytes on every host"
            );
        });
    }

    #[test]
    fn types_without_a_size_are_an_error() {
        in_both_orders(|mut b| {
            let fwd = b.forward("later", Kind::Struct);
            let tag = b.modifier(Kind::Const, fwd);
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.size_of(tag), Err(WalkError::NoSize { id: fwd, kind: Kind::Fwd }));
            assert_eq!(btf.size_of(TypeId(9)), Err(WalkError::NoType(TypeId(9))));
        });
    }
}
