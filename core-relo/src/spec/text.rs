//! The text of an access, in libbpf's notation and in C notation.

use super::access::Spec;
use crate::{
    Name,
    btf::{Btf, Kind, Type},
};
use core::fmt::{Display, Formatter, Result};

/// A spec in libbpf's notation: `[12] struct task_struct.__state (0:3 @ offset 24)` (`bpf_core_format_spec`).
#[derive(Clone, Copy, Debug)]
pub struct SpecText<'s> {
    spec: &'s Spec,
    btf: &'s Btf<'s>,
}

/// A spec in C notation: `struct task_struct.__state`, `enum pid_type::PIDTYPE_TGID`.
#[derive(Clone, Copy, Debug)]
pub struct AccessText<'s> {
    spec: &'s Spec,
    btf: &'s Btf<'s>,
}

impl Spec {
    /// Returns the access in libbpf's notation. `btf` is the BTF of the spec.
    pub fn text<'s>(&'s self, btf: &'s Btf<'_>) -> SpecText<'s> {
        SpecText { spec: self, btf }
    }

    /// Returns the access in C notation: `struct task_struct.mm` for `task->mm`.
    pub fn access_text<'s>(&'s self, btf: &'s Btf<'_>) -> AccessText<'s> {
        AccessText { spec: self, btf }
    }
}

impl Display for SpecText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { spec, btf } = self;
        write!(f, "[{}] {}", spec.root, spec.access_text(btf))?;
        if spec.kind.is_enumval() {
            return write_enumerator_value(f, spec, btf);
        }
        if spec.kind.is_type() || spec.accessors.is_empty() {
            return Ok(());
        }
        f.write_str(" (")?;
        for (i, part) in spec.raw.iter().enumerate() {
            write!(f, "{}{part}", if i == 0 { "" } else { ":" })?;
        }
        let (bytes, bits) = (spec.bit_offset.0 / 8, spec.bit_offset.0 % 8);
        if bits == 0 { write!(f, " @ offset {bytes})") } else { write!(f, " @ offset {bytes}.{bits})") }
    }
}

impl Display for AccessText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { spec, btf } = self;
        match btf.ty(spec.root) {
            Some(root) => write_type_name(f, root)?,
            None => f.write_str("<no type>")?,
        }
        for (i, accessor) in spec.accessors.iter().enumerate() {
            match accessor.name(btf) {
                Some(name) if spec.kind.is_enumval() => write!(f, "::{}", name.shortened())?,
                Some(name) => write!(f, ".{}", name.shortened())?,
                None if i > 0 || accessor.index > 0 => write!(f, "[{}]", accessor.index)?,
                None => {}
            }
        }
        Ok(())
    }
}

fn write_enumerator_value(f: &mut Formatter<'_>, spec: &Spec, btf: &Btf<'_>) -> Result {
    let accessor = spec.accessors.first();
    let enumerator = accessor.and_then(|accessor| btf.ty(accessor.ty)?.enumerator(accessor.index));
    match enumerator {
        Some(v) if v.signed => write!(f, " = {}", v.value.cast_signed()),
        Some(v) => write!(f, " = {}", v.c_value()),
        None => Ok(()),
    }
}

/// Writes a type's keyword and name: `struct foo`, `typedef foo`, `int`. An anonymous type's name is
/// `<anon>`.
fn write_type_name(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    let keyword = match ty.kind() {
        Kind::Fwd if ty.kflag() => "union ",
        Kind::Struct | Kind::Fwd => "struct ",
        Kind::Union => "union ",
        Kind::Enum | Kind::Enum64 => "enum ",
        Kind::Typedef => "typedef ",
        _ => "",
    };
    let name = if ty.name().is_empty() { Name::new(b"<anon>") } else { ty.name() };
    match keyword {
        "" if ty.name().is_empty() => write!(f, "{} <anon>", ty.kind()),
        _ => write!(f, "{keyword}{}", name.shortened()),
    }
}
