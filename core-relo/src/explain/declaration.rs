//! C declarations with a name.

use crate::{
    Name, TypeId,
    btf::{Btf, CType, Kind, Type},
    limits,
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt::{self, Write};

/// Text of limited length. Further text is left out, and replaced by `…`.
#[derive(Debug, Default)]
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = limits::DECLARATION_BYTES.saturating_sub(self.0.len());
        if text.len() <= rest {
            self.0.push_str(text);
            return Ok(());
        }
        // The text cannot be longer: a hostile type has an endless declaration.
        self.0.extend(text.chars().take(rest / 4));
        self.0.push('…');
        Err(fmt::Error)
    }
}

impl BoundedText {
    /// Returns the text that `write` writes, shortened if necessary.
    fn collect(write: impl FnOnce(&mut Self) -> fmt::Result) -> String {
        let mut text = Self::default();
        match write(&mut text) {
            // The error only says that the text is shortened.
            Ok(()) | Err(fmt::Error) => text.0,
        }
    }
}

/// Returns the declaration of a variable or member: `char comm[16]`, `int (*f)(void)`.
pub fn declare(btf: &Btf<'_>, id: TypeId, name: &str) -> String {
    BoundedText::collect(|text| write_declaration(text, btf, id, name))
}

/// Returns the declaration of a function: `int f(struct file *file)`.
pub fn declare_function(btf: &Btf<'_>, proto: Type<'_>, name: &str, skipped_params: usize) -> String {
    BoundedText::collect(|text| write_function(text, btf, proto, name, skipped_params))
}

/// Returns the prototypes of a function that the kernel has with other parameters, for the end of a message:
/// the kernel's, and the one that the object declares.
pub fn declare_both(local: Type<'_>, function: Type<'_>, name: Name<'_>) -> Option<String> {
    let name = name.shortened().to_string();
    let proto = function.btf().ty(function.target()?)?;
    let target = declare_function(function.btf(), proto, &name, 0);
    let local = declare_function(local.btf(), local, &name, 0);
    Some(format!("`{target}`, expected `{local}`"))
}

fn write_declaration(out: &mut BoundedText, btf: &Btf<'_>, id: TypeId, name: &str) -> fmt::Result {
    let (mut element, mut dimensions) = (id, Vec::new());
    while let Some(array) = btf.ty(element).and_then(Type::array) {
        dimensions.push(array.nelems);
        element = array.element;
        if dimensions.len() >= limits::DECLARED_DIMENSIONS {
            break;
        }
    }
    let pointee = btf.ty(element).filter(|ty| ty.kind() == Kind::Ptr).and_then(|ty| btf.ty(ty.target()?));
    if let Some(proto) = pointee.filter(|ty| ty.kind() == Kind::FuncProto) {
        let dimensions: Vec<_> = dimensions.iter().map(|count| format!("[{count}]")).collect();
        return write_function(out, btf, proto, &format!("(*{name}{})", dimensions.concat()), 0);
    }
    let ty = type_text(btf, element);
    let space = if ty.ends_with('*') || name.is_empty() { "" } else { " " };
    write!(out, "{ty}{space}{name}")?;
    dimensions.iter().try_for_each(|count| write!(out, "[{count}]"))
}

fn write_function(
    out: &mut BoundedText,
    btf: &Btf<'_>,
    proto: Type<'_>,
    name: &str,
    skipped_params: usize,
) -> fmt::Result {
    let ret = type_text(btf, proto.target().unwrap_or(TypeId::VOID));
    let space = if ret.ends_with('*') { "" } else { " " };
    write!(out, "{ret}{space}{name}(")?;
    let params = proto.params().skip(skipped_params);
    if params.len() == 0 {
        out.write_str("void")?;
    }
    for (index, param) in params.enumerate() {
        if index > 0 {
            out.write_str(", ")?;
        }
        if param.ty == TypeId::VOID {
            out.write_str("...")?;
            continue;
        }
        let name = Name::shortened(param.name).to_string();
        out.write_str(&declare_param(btf, param.ty, &name))?;
    }
    out.write_str(")")
}

/// Returns a parameter's declaration. Function pointers in it are printed by their type.
fn declare_param(btf: &Btf<'_>, id: TypeId, name: &str) -> String {
    let ty = type_text(btf, id);
    let space = if ty.ends_with('*') || name.is_empty() { "" } else { " " };
    format!("{ty}{space}{name}")
}

/// Returns a type without a name.
pub fn type_text(btf: &Btf<'_>, id: TypeId) -> String {
    BoundedText::collect(|text| write!(text, "{}", CType::new(btf, id)))
}
