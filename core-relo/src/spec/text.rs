//! Accesses as text: libbpf's form, and C's.

use super::Spec;
use crate::{
    btf::{Btf, Kind, Type},
    name::Name,
};
use core::fmt::{Display, Formatter, Result};

/// A spec as libbpf prints it: `[12] struct task_struct.__state (0:3 @ offset 24)` (`bpf_core_format_spec`).
#[derive(Clone, Copy, Debug)]
pub struct SpecText<'s> {
    spec: &'s Spec,
    btf: &'s Btf<'s>,
}

/// A spec as C names the thing: `struct task_struct.__state`, `enum pid_type::PIDTYPE_TGID`.
#[derive(Clone, Copy, Debug)]
pub struct AccessText<'s> {
    spec: &'s Spec,
    btf: &'s Btf<'s>,
}

impl<'s> SpecText<'s> {
    pub(super) fn new(spec: &'s Spec, btf: &'s Btf<'_>) -> Self {
        Self { spec, btf }
    }
}

impl<'s> AccessText<'s> {
    pub(super) fn new(spec: &'s Spec, btf: &'s Btf<'_>) -> Self {
        Self { spec, btf }
    }
}

impl Display for SpecText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { spec, btf } = self;
        write!(f, "[{}] {}", spec.root, spec.access_text(btf))?;
        if spec.kind.is_enumval() {
            return enumerator_value(f, spec, btf);
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
            Some(root) => type_name(f, root)?,
            None => f.write_str("<no type>")?,
        }
        for (i, step) in spec.accessors.iter().enumerate() {
            match step.named {
                true if spec.kind.is_enumval() => write!(f, "::{}", step.name(btf).shortened())?,
                true => write!(f, ".{}", step.name(btf).shortened())?,
                false if i > 0 || step.index > 0 => write!(f, "[{}]", step.index)?,
                false => {}
            }
        }
        Ok(())
    }
}

fn enumerator_value(f: &mut Formatter<'_>, spec: &Spec, btf: &Btf<'_>) -> Result {
    let step = spec.accessors.first();
    let variant = step.and_then(|step| btf.ty(step.ty)?.enumerator(step.index));
    match variant {
        Some(v) if v.signed => write!(f, " = {}", v.value.cast_signed()),
        Some(v) => write!(f, " = {}", v.c_value()),
        None => Ok(()),
    }
}

/// `struct foo`, `typedef foo`, `int`; `<anon>` where there is no name.
pub(crate) fn type_name(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
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
