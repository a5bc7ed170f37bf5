//! Declarators.

use super::{
    composite::{COMPOSITE_DEPTH, keyword},
    integer::integer,
    layout::Unmeasured,
    names,
    printer::Printer,
    tags::{attribute, comment},
};
use crate::{format::Kind, ids::TypeId, view::Type};
use alloc::{format, string::String};
use core::fmt::{Result, Write as _};
use hashbrown::HashSet;

/// The parts of one declarator: pointers, arrays, qualifiers, functions.
const DECLARATOR_PARTS: u32 = 64;
/// The functions in the parameters of functions.
const FUNCTION_DEPTH: u32 = 6;
/// A declarator's outermost part so far. C has no arrays of functions, and no functions that return arrays or
/// functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outer {
    Name,
    Pointer,
    Array,
    Function,
}

impl<'b> Printer<'_, 'b, '_> {
    /// Writes the declaration of `name` with the type `id`, without the semicolon. `depth` counts composites
    /// and functions around it.
    pub(super) fn declare(&mut self, id: TypeId, name: &str, depth: u32) -> Result {
        let btf = self.header.btf;
        let mut declarator = String::from(name);
        let mut qualifiers = String::new();
        let mut outer = Outer::Name;
        let mut at = id;
        for _ in 0..DECLARATOR_PARTS {
            let Some(ty) = btf.ty(at) else { break };
            at = TypeId(ty.size_or_type());
            match ty.kind() {
                Kind::Typedef if outer == Outer::Function && !self.is_result(ty) => break,
                Kind::Typedef if self.is_hidden(ty) => {}
                Kind::Const => add_qualifier(&mut qualifiers, "const "),
                Kind::Volatile => add_qualifier(&mut qualifiers, "volatile "),
                Kind::Restrict => {
                    if btf.strip(at).is_ok_and(|ty| ty.kind() == Kind::Ptr) {
                        // C89 has no other spelling.
                        add_qualifier(&mut qualifiers, "__restrict ");
                    }
                }
                Kind::TypeTag => {
                    qualifiers.push_str(&attribute(ty.name().as_bytes(), ty.kflag(), "__core_relo_type_tag"));
                    qualifiers.push(' ');
                }
                Kind::Ptr => {
                    declarator.insert_str(0, &qualifiers);
                    declarator.insert(0, '*');
                    qualifiers.clear();
                    outer = Outer::Pointer;
                }
                Kind::Array => {
                    let Some(array) = ty.array().filter(|_| outer != Outer::Function) else { break };
                    // An array that is too large, or whose elements have no size.
                    if let Err(Unmeasured::NoSize | Unmeasured::Open) =
                        self.header.graph.layouts.measure(btf, ty.id())
                    {
                        break;
                    }
                    if outer == Outer::Pointer {
                        declarator = format!("({declarator})");
                    }
                    write!(declarator, "[{}]", array.nelems)?;
                    outer = Outer::Array;
                    at = array.element;
                }
                Kind::FuncProto => {
                    if matches!(outer, Outer::Array | Outer::Function) || depth >= FUNCTION_DEPTH {
                        break;
                    }
                    if outer == Outer::Pointer {
                        declarator = format!("({declarator})");
                    }
                    let parameters = self.parameters(ty, depth)?;
                    declarator.push_str(&parameters);
                    qualifiers.clear();
                    outer = Outer::Function;
                }
                _ => {
                    self.text.push_str(&qualifiers);
                    return self.base(ty, &declarator, outer, depth);
                }
            }
        }
        write!(self.text, "/* [{id}]: no type in C */ unsigned char")?;
        self.declarator(&declarator);
        Ok(())
    }

    /// Returns whether a function can return a type.
    fn is_result(&self, ty: Type<'_>) -> bool {
        let stripped = self.header.btf.strip(ty.id());
        !stripped.is_ok_and(|ty| matches!(ty.kind(), Kind::Array | Kind::FuncProto))
    }

    /// Returns whether a typedef has the name of a member that hides it. Its target is then written in its
    /// place.
    fn is_hidden(&self, ty: Type<'_>) -> bool {
        !self.hiding.is_empty() && self.hiding.contains(&self.identifier(ty))
    }

    fn declarator(&mut self, declarator: &str) {
        if !declarator.is_empty() {
            self.text.push(' ');
            self.text.push_str(declarator);
        }
    }

    /// Returns the parameters of a function, with parentheses.
    fn parameters(&mut self, ty: Type<'b>, depth: u32) -> core::result::Result<String, core::fmt::Error> {
        // Parameters are declared as all else is, into a text of their own.
        let around = core::mem::take(&mut self.text);
        self.text.push('(');
        if ty.vlen() == 0 {
            self.text.push_str("void");
        }
        let mut names = HashSet::new();
        for (index, param) in ty.params().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if param.ty == TypeId::VOID || !self.take_step() {
                // In C variable arguments follow a parameter.
                self.text.push_str(if index > 0 { "..." } else { "void" });
                break;
            }
            let name = param.name.as_bytes();
            // Parameters hide types with the same name.
            let is_plain =
                names::is_identifier(name) && !self.header.typedefs.contains(name) && names.insert(name);
            let name = core::str::from_utf8(name).ok().filter(|_| is_plain).unwrap_or("");
            if self.is_value(param.ty) {
                self.declare(param.ty, name, depth.saturating_add(1))?;
            } else {
                write!(self.text, "/* [{}] is no type of a parameter */ int", param.ty)?;
                self.declarator(name);
            }
        }
        self.text.push(')');
        Ok(core::mem::replace(&mut self.text, around))
    }

    /// Returns whether a parameter can have a type: `void` with a name or a qualifier, variables and tags are
    /// no types of parameters.
    fn is_value(&self, id: TypeId) -> bool {
        let btf = self.header.btf;
        let is_none =
            |kind| matches!(kind, Kind::Void | Kind::Func | Kind::Var | Kind::Datasec | Kind::DeclTag);
        let has_size = || self.header.graph.layouts.measure(btf, id).is_ok();
        btf.strip(id).is_ok_and(|ty| !is_none(ty.kind()) && (ty.kind() != Kind::FuncProto || has_size()))
    }

    /// Returns whether the elements of an array can have a type: composites must have been defined.
    fn is_element(&self, ty: Type<'_>) -> bool {
        let has_definition = |ty: &Type<'_>| match ty.kind() {
            Kind::Struct | Kind::Union => ty.name().is_empty() || self.declared.contains(&ty.id()),
            kind => kind != Kind::Fwd,
        };
        self.header.btf.strip(ty.id()).as_ref().is_ok_and(has_definition)
    }

    /// Writes a type that is no pointer, array, function or qualifier, and the declarator.
    fn base(&mut self, ty: Type<'b>, declarator: &str, outer: Outer, depth: u32) -> Result {
        let size = u64::from(ty.size_or_type());
        let needs_size = matches!(outer, Outer::Array);
        match ty.kind() {
            Kind::Void | Kind::Func | Kind::Var | Kind::Datasec if needs_size => {
                self.text.push_str("unsigned char");
            }
            Kind::Void | Kind::Func | Kind::Var | Kind::Datasec => self.text.push_str("void"),
            _ if needs_size && !self.is_element(ty) => {
                let measured = self.header.graph.layouts.measure(self.header.btf, ty.id());
                return self.bytes(ty, declarator, measured.map_or(0, |measure| measure.size));
            }
            Kind::Int => match integer(ty, self.header.btf.pointer_size().0) {
                Some(name) => self.text.push_str(name),
                None => return self.bytes(ty, declarator, size),
            },
            Kind::Float => match size {
                4 => self.text.push_str("float"),
                8 => self.text.push_str("double"),
                _ => return self.bytes(ty, declarator, size),
            },
            Kind::Typedef if self.declared.contains(&ty.id()) => {
                let name = self.name(ty);
                self.text.push_str(&name);
            }
            Kind::Typedef => match self.header.graph.layouts.measure(self.header.btf, ty.id()) {
                // A cycle of typedefs, which C cannot declare.
                Ok(measure) => return self.bytes(ty, declarator, measure.size),
                Err(_) => write!(self.text, "/* [{}] TYPEDEF */ void", ty.id())?,
            },
            Kind::Enum | Kind::Enum64 => {
                if !matches!(size, 1 | 2 | 4 | 8) {
                    return self.bytes(ty, declarator, size);
                }
                if self.header.graph.inline_enums.get(&ty.id()) == Some(&true) && ty.name().is_empty() {
                    self.enumeration(ty, false)?;
                } else {
                    let name = self.name(ty);
                    write!(self.text, "enum {name}")?;
                }
            }
            Kind::Struct | Kind::Union if ty.name().is_empty() => {
                if depth >= COMPOSITE_DEPTH || !self.take_step() {
                    return self.bytes(ty, declarator, size);
                }
                self.nested_composite(ty, depth)?;
            }
            Kind::Struct | Kind::Union | Kind::Fwd => {
                let name = self.name(ty);
                write!(self.text, "{} {name}", keyword(ty))?;
            }
            _ => write!(self.text, "/* [{}] {} */ void", ty.id(), ty.kind())?,
        }
        self.declarator(declarator);
        Ok(())
    }

    /// Declares as many bytes as a type has that C does not have.
    pub(super) fn bytes(&mut self, ty: Type<'_>, declarator: &str, size: u64) -> Result {
        write!(self.text, "/* [{}] {} '{}' */ ", ty.id(), ty.kind(), comment(ty.name().as_bytes()))?;
        // Also right for pointers and arrays of the type.
        write!(self.text, "struct {{ unsigned char bytes[{size}]; }}")?;
        self.declarator(declarator);
        Ok(())
    }
}

/// Adds a qualifier once: those of an array and of its elements are the same in C.
fn add_qualifier(qualifiers: &mut String, qualifier: &str) {
    if !qualifiers.split_inclusive(' ').any(|known| known == qualifier) {
        qualifiers.push_str(qualifier);
    }
}
