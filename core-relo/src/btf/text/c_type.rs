//! C declarations of types.

use crate::{
    btf::{format::Kind, parse::Btf, view::Type},
    ids::TypeId,
};
use core::fmt::{Display, Formatter, Result};

/// The levels of nested types that are printed. `...` replaces deeper levels.
const DEPTH: u32 = 12;
/// The levels of nested types that are printed in a parameter.
const PARAMETER_DEPTH: u32 = 4;
/// The number of parameters that are printed.
const PARAMETERS: usize = 8;

/// A C declaration of a type: `struct file *`, `char[16]`, `unsigned int`.
#[derive(Clone, Copy, Debug)]
pub struct CType<'b> {
    btf: &'b Btf<'b>,
    id: TypeId,
    depth: u32,
}

impl<'b> CType<'b> {
    /// Returns the declaration of the type `id` of `btf`.
    pub fn new(btf: &'b Btf<'_>, id: TypeId) -> Self {
        Self { btf, id, depth: DEPTH }
    }

    fn inner(self, id: TypeId) -> Self {
        Self { id, depth: self.depth.saturating_sub(1), ..self }
    }
}

impl Display for CType<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
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
                let pointee = self.btf.strip(inner.id).map_or(Kind::Void, Type::kind);
                let space = if pointee == Kind::Ptr { "" } else { " " };
                if pointee == Kind::FuncProto { write!(f, "{inner}") } else { write!(f, "{inner}{space}*") }
            }
            Kind::Array => match ty.array() {
                Some(array) => write!(f, "{}[{}]", self.inner(array.element), array.nelems),
                None => f.write_str("[]"),
            },
            Kind::Const => write!(f, "const {inner}"),
            Kind::Volatile => write!(f, "volatile {inner}"),
            Kind::Restrict | Kind::TypeTag => write!(f, "{inner}"),
            Kind::FuncProto => {
                write!(f, "{inner} (*)(")?;
                // Hostile BTF may have functions with thousands of parameters that are functions.
                let shallow = self.depth.min(PARAMETER_DEPTH).saturating_sub(1);
                for (i, param) in ty.params().take(PARAMETERS).enumerate() {
                    let param = Self { depth: shallow, ..self.inner(param.ty) };
                    write!(f, "{}{param}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(if ty.params().len() > PARAMETERS { ", ...)" } else { ")" })
            }
            _ if ty.name().is_empty() => write!(f, "{}", ty.kind()),
            _ => write!(f, "{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endian, btf::Builder};
    use alloc::string::ToString as _;

    #[test]
    fn types_read_as_in_c_and_end() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let file = b.forward("file", false);
        let constant = b.modifier(Kind::Const, file);
        let ptr = b.pointer(constant);
        let array = b.array(ptr, int, 3);
        let proto = b.func_proto(int, &[("f", ptr)]);
        let callback = b.pointer(proto);
        let endless = b.pointer(b.next_id());
        let btf = Btf::parse(b.finish()).unwrap();
        let text = |id| CType::new(&btf, id).to_string();
        assert_eq!(text(array), "const struct file *[3]");
        assert_eq!(text(callback), "int (*)(const struct file *)");
        assert!(text(endless).contains("..."));
    }
}
