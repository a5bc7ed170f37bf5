//! Walks from a type to what it stands for: without modifiers, its size.
//!
//! An id counts in the BTF that holds it: in a base, whatever is split from that goes on with the numbers.

use super::{Btf, Kind, KindSet, Type, WalkError};
use crate::{
    ids::{ByteSize, TypeId},
    limits,
};
use core::ops::ControlFlow;

/// The spellings of `long` whose size is a pointer's (libbpf: `determine_ptr_size`).
const LONG: [&[u8]; 11] = [
    b"long",
    b"long int",
    b"int long",
    b"unsigned long",
    b"long unsigned",
    b"unsigned long int",
    b"unsigned int long",
    b"long unsigned int",
    b"long int unsigned",
    b"int unsigned long",
    b"int long unsigned",
];

impl Btf<'_> {
    /// The type behind modifiers, type tags and typedefs (libbpf: `skip_mods_and_typedefs`).
    ///
    /// A chain longer than [`limits::MODIFIER_HOPS`] is an error, where libbpf would turn in circles.
    pub fn strip(&self, id: TypeId) -> Result<Type<'_>, WalkError> {
        self.strip_in(id, &mut 0)
    }

    /// The same, and how many types were passed through.
    #[inline]
    pub(crate) fn strip_in(&self, id: TypeId, hops: &mut u32) -> Result<Type<'_>, WalkError> {
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

    /// The size of a type, arrays multiplied out (libbpf: `btf__resolve_size`).
    pub fn size_of(&self, id: TypeId) -> Result<ByteSize, WalkError> {
        let too_large = WalkError::TooLarge(id);
        let mut count = 1u32;
        let (mut btf, mut at) = (self, id);
        for _ in 0..limits::SIZE_HOPS {
            let ty = btf.ty(at).ok_or(WalkError::NoType(at))?;
            btf = ty.btf();
            let own = match ty.kind() {
                Kind::Ptr => Some(self.pointer_size()),
                _ => ty.size(),
            };
            if let Some(ByteSize(own)) = own {
                return count.checked_mul(own).map(ByteSize).ok_or(too_large);
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

    /// The type below all dimensions of an array, stripped; the stripped type itself if it is none.
    pub(crate) fn innermost_element(&self, id: TypeId) -> Result<Type<'_>, WalkError> {
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

/// What the BTF itself says of pointers.
pub(super) fn pointer_size(btf: &Btf<'_>) -> Option<ByteSize> {
    if let Some(known) = btf.base().and_then(|base| base.pointer_size) {
        return Some(known);
    }
    let long = |ty: &Type<'_>| matches!(ty.size_or_type(), 4 | 8) && LONG.contains(&ty.name().as_bytes());
    btf.visit(&KindSet::new([Kind::Int]), |ty| {
        if long(&ty) { ControlFlow::Break(ty.size()) } else { ControlFlow::Continue(()) }
    })?
}

#[cfg(test)]
mod tests {
    use crate::{
        Endian,
        btf::{Btf, Builder, Kind, Type, WalkError},
        ids::{ByteSize, TypeId},
    };

    fn both(test: impl Fn(Builder)) {
        for endian in [Endian::Little, Endian::Big] {
            test(Builder::new(endian));
        }
    }

    #[test]
    fn dimensions_multiply_and_overflow_is_an_error() {
        both(|mut b| {
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
    fn a_circle_of_modifiers_ends() {
        both(|mut b| {
            let first = b.modifier(Kind::Const, TypeId(2));
            let second = b.modifier(Kind::Volatile, first);
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.strip(first).map(Type::id), Err(WalkError::Endless(first)));
            assert_eq!(btf.size_of(second), Err(WalkError::Endless(second)));
        });
    }

    #[test]
    fn a_pointer_is_as_large_as_long_or_as_the_caller_says() {
        both(|mut b| {
            let long = b.int("long unsigned int", 4, 0);
            let ptr = b.pointer(long);
            let mut btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.size_of(ptr), Ok(ByteSize(4)));
            btf.set_pointer_size(ByteSize(8));
            assert_eq!(btf.size_of(ptr), Ok(ByteSize(8)));
        });
        both(|mut b| {
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
    fn things_without_a_size_say_so() {
        both(|mut b| {
            let fwd = b.forward("later", false);
            let tag = b.modifier(Kind::Const, fwd);
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.size_of(tag), Err(WalkError::NoSize { id: fwd, kind: Kind::Fwd }));
            assert_eq!(btf.size_of(TypeId(9)), Err(WalkError::NoType(TypeId(9))));
        });
    }
}
