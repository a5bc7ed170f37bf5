//! C declarations of types.

use crate::{format::Kind, ids::TypeId, parse::Btf, view::Type};
use core::fmt::{Display, Formatter, Result};

/// The levels of nested types that are printed. `...` replaces deeper levels.
const DEPTH: u32 = 12;
/// The levels of functions that are parameters or results of functions. Hostile BTF may have functions with
/// thousands of parameters that are functions.
const FUNCTIONS: u32 = 3;
/// The number of parameters that are printed.
const PARAMETERS: usize = 8;

/// A C declaration of a type: `struct file *`, `char[16]`, `unsigned int`.
#[derive(Clone, Copy, Debug)]
pub struct CType<'b> {
    btf: &'b Btf<'b>,
    id: TypeId,
    depth: u32,
    functions: u32,
}

impl<'b> CType<'b> {
    /// Returns the declaration of the type `id` of `btf`.
    pub fn new(btf: &'b Btf<'_>, id: TypeId) -> Self {
        Self { btf, id, depth: DEPTH, functions: FUNCTIONS }
    }

    fn inner(self, id: TypeId) -> Self {
        Self { id, depth: self.depth.saturating_sub(1), ..self }
    }
}

/// The kind of declarator that a pointer points to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pointee {
    /// A pointer, perhaps `const` or `volatile`.
    Pointer,
    /// An array or a function, whose brackets bind stronger than `*`.
    Bracketed,
    Other,
}

impl CType<'_> {
    /// Returns the kind of a pointer's target. A typedef is a name, whatever its type.
    fn pointee(self, id: TypeId) -> Pointee {
        let mut id = id;
        for _ in 0..DEPTH {
            match self.btf.ty(id).map(|ty| (ty.kind(), ty.target())) {
                Some((Kind::Ptr, _)) => return Pointee::Pointer,
                Some((Kind::Array | Kind::FuncProto, _)) => return Pointee::Bracketed,
                Some((Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag, Some(target))) => {
                    id = target;
                }
                _ => return Pointee::Other,
            }
        }
        Pointee::Other
    }

    /// Writes the part of the declaration before the place of the variable's name.
    fn before_name(self, f: &mut Formatter<'_>) -> Result {
        let Some(ty) = self.btf.ty(self.id).filter(|_| self.depth > 0) else {
            return f.write_str("...");
        };
        let name = ty.name().shortened();
        let inner = self.inner(TypeId(ty.size_or_type()));
        match ty.kind() {
            Kind::Void => f.write_str("void"),
            Kind::Fwd if ty.kflag() => write!(f, "union {name}"),
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Fwd => {
                let keyword = ty.kind().keyword();
                if ty.name().is_empty() {
                    write!(f, "{keyword} {{...}}")
                } else {
                    write!(f, "{keyword} {name}")
                }
            }
            Kind::Ptr => {
                inner.before_name(f)?;
                let target = self.btf.ty(inner.id).map(Type::kind);
                f.write_str(match self.pointee(inner.id) {
                    Pointee::Pointer if !matches!(target, Some(Kind::Const | Kind::Volatile)) => "*",
                    Pointee::Bracketed => " (*",
                    Pointee::Pointer | Pointee::Other => " *",
                })
            }
            Kind::Array => match ty.array() {
                Some(array) => self.inner(array.element).before_name(f),
                None => f.write_str("[]"),
            },
            Kind::Const | Kind::Volatile => {
                let word = if ty.kind() == Kind::Const { "const" } else { "volatile" };
                if self.pointee(inner.id) == Pointee::Pointer {
                    // The pointer is constant, not its target.
                    inner.before_name(f)?;
                    f.write_str(word)
                } else {
                    write!(f, "{word} ")?;
                    inner.before_name(f)
                }
            }
            Kind::Restrict | Kind::TypeTag | Kind::FuncProto => inner.before_name(f),
            _ if ty.name().is_empty() => write!(f, "{}", ty.kind()),
            _ => write!(f, "{name}"),
        }
    }

    /// Writes the part of the declaration after the place of the variable's name.
    fn after_name(self, f: &mut Formatter<'_>) -> Result {
        let Some(ty) = self.btf.ty(self.id).filter(|_| self.depth > 0) else { return Ok(()) };
        let inner = self.inner(TypeId(ty.size_or_type()));
        match ty.kind() {
            Kind::Ptr => {
                if self.depth > 1 && self.pointee(inner.id) == Pointee::Bracketed {
                    f.write_str(")")?;
                }
                inner.after_name(f)
            }
            Kind::Array => match ty.array() {
                Some(array) => {
                    write!(f, "[{}]", array.nelems)?;
                    self.inner(array.element).after_name(f)
                }
                None => Ok(()),
            },
            Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag => inner.after_name(f),
            Kind::FuncProto => {
                let Some(functions) = self.functions.checked_sub(1) else { return f.write_str("(...)") };
                f.write_str("(")?;
                for (i, param) in ty.params().take(PARAMETERS).enumerate() {
                    let param = Self { functions, ..self.inner(param.ty) };
                    write!(f, "{}{param}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(match ty.params().len() {
                    0 => "void)",
                    count if count > PARAMETERS => ", ...)",
                    _ => ")",
                })?;
                Self { functions, ..inner }.after_name(f)
            }
            _ => Ok(()),
        }
    }
}

impl Display for CType<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.before_name(f)?;
        // A function has a name here, so that the text reads as the type of a function.
        if self.btf.ty(self.id).is_some_and(|ty| ty.kind() == Kind::FuncProto) {
            f.write_str(" (*)")?;
        }
        self.after_name(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Endian};
    use alloc::string::ToString as _;

    #[test]
    fn types_read_as_in_c_and_end() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let file = b.forward("file", Kind::Struct);
        let constant = b.modifier(Kind::Const, file);
        let ptr = b.pointer(constant);
        let array = b.array(ptr, int, 3);
        let proto = b.func_proto(int, &[("f", ptr)]);
        let callback = b.pointer(proto);
        let callback_array = b.array(callback, int, 3);
        let pointer_to_callback = b.pointer(callback);
        let function_name = b.typedef("function_t", proto);
        let named_callback = b.pointer(function_name);
        let rows = b.array(int, int, 4);
        let table = b.array(rows, int, 3);
        let pointer_to_rows = b.pointer(rows);
        let constant_pointer = b.modifier(Kind::Const, ptr);
        let pointer_to_constant = b.pointer(constant_pointer);
        let nothing = b.func_proto(pointer_to_rows, &[]);
        let returns_pointer = b.pointer(nothing);
        let mut nested = proto;
        for _ in 0..40 {
            nested = b.func_proto(nested, &[("f", nested); 9]);
        }
        let endless = b.pointer(b.next_id());
        let btf = Btf::parse(b.finish()).unwrap();
        let text = |id| CType::new(&btf, id).to_string();
        assert_eq!(text(array), "const struct file *[3]");
        assert_eq!(text(callback), "int (*)(const struct file *)");
        assert_eq!(text(proto), "int (*)(const struct file *)");
        assert_eq!(text(callback_array), "int (*[3])(const struct file *)");
        assert_eq!(text(pointer_to_callback), "int (**)(const struct file *)");
        assert_eq!(text(named_callback), "function_t *");
        assert_eq!(text(table), "int[3][4]");
        assert_eq!(text(pointer_to_rows), "int (*)[4]");
        assert_eq!(text(constant_pointer), "const struct file *const");
        assert_eq!(text(pointer_to_constant), "const struct file *const *");
        assert_eq!(text(returns_pointer), "int (* (*)(void))[4]");
        assert!(text(nested).len() < 20_000, "{}", text(nested).len());
        assert!(text(endless).contains("..."));
    }
}
