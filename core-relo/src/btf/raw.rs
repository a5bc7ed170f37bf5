//! Types in the notation of `bpftool btf dump format raw`.

use super::{IntInfo, Kind, Type};
use crate::name::Name;
use core::fmt::{Display, Formatter, Result};

/// A type as bpftool prints it: `[12] STRUCT 'foo' size=8 vlen=2`, and a line for each member, without a last line end.
#[derive(Clone, Copy, Debug)]
pub struct RawType<'b>(Type<'b>);

impl<'b> Type<'b> {
    /// The type in bpftool's raw notation.
    pub fn raw(self) -> RawType<'b> {
        RawType(self)
    }
}

impl Display for RawType<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let ty = self.0;
        let third = ty.size_or_type();
        write!(f, "[{}] {} '{}'", ty.id(), ty.kind(), name(ty.name()))?;
        match ty.kind() {
            Kind::Int => int(f, ty),
            Kind::Ptr | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::Typedef | Kind::TypeTag => {
                write!(f, " type_id={third}")
            }
            Kind::Array => {
                let Some(array) = ty.array() else { return Ok(()) };
                let (element, index) = (array.element, array.index);
                write!(f, " type_id={element} index_type_id={index} nr_elems={}", array.nelems)
            }
            Kind::Struct | Kind::Union => members(f, ty),
            Kind::Enum | Kind::Enum64 => variants(f, ty),
            Kind::Fwd => write!(f, " fwd_kind={}", if ty.kflag() { "union" } else { "struct" }),
            Kind::Func => write!(f, " type_id={third} linkage={}", linkage(ty)),
            Kind::FuncProto => params(f, ty),
            Kind::Var => write!(f, " type_id={third}, linkage={}", linkage(ty)),
            Kind::Datasec => variables(f, ty),
            Kind::Float => write!(f, " size={third}"),
            Kind::DeclTag => {
                write!(f, " type_id={third} component_idx={}", ty.component_index().unwrap_or_default())
            }
            Kind::Void | Kind::Unknown(_) => Ok(()),
        }
    }
}

fn name(name: Name<'_>) -> Name<'_> {
    if name.is_empty() { Name::new(b"(anon)") } else { name }
}

fn int(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    let Some(int) = ty.int() else { return Ok(()) };
    let encoding = match int.encoding {
        0 => "(none)",
        IntInfo::SIGNED => "SIGNED",
        IntInfo::CHAR => "CHAR",
        IntInfo::BOOL => "BOOL",
        _ => "UNKN",
    };
    let (size, offset, bits) = (ty.size_or_type(), int.offset, int.bits);
    write!(f, " size={size} bits_offset={offset} nr_bits={bits} encoding={encoding}")
}

fn members(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    write!(f, " size={} vlen={}", ty.size_or_type(), ty.vlen())?;
    for m in ty.members() {
        write!(f, "\n\t'{}' type_id={} bits_offset={}", name(m.name), m.ty, m.bit_offset)?;
        if m.bitfield_bits > 0 {
            write!(f, " bitfield_size={}", m.bitfield_bits)?;
        }
    }
    Ok(())
}

fn variants(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    let encoding = if ty.kflag() { "SIGNED" } else { "UNSIGNED" };
    write!(f, " encoding={encoding} size={} vlen={}", ty.size_or_type(), ty.vlen())?;
    for v in ty.variants() {
        write!(f, "\n\t'{}' val=", name(v.name))?;
        match (v.signed, v.wide) {
            (true, false) => write!(f, "{}", v.value.cast_signed())?,
            (true, true) => write!(f, "{}LL", v.value.cast_signed())?,
            (false, false) => write!(f, "{}", v.c_value())?,
            (false, true) => write!(f, "{}ULL", v.value)?,
        }
    }
    Ok(())
}

fn params(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    write!(f, " ret_type_id={} vlen={}", ty.size_or_type(), ty.vlen())?;
    ty.params().try_for_each(|p| write!(f, "\n\t'{}' type_id={}", name(p.name), p.ty))
}

fn variables(f: &mut Formatter<'_>, ty: Type<'_>) -> Result {
    write!(f, " size={} vlen={}", ty.size_or_type(), ty.vlen())?;
    for v in ty.secinfos() {
        write!(f, "\n\ttype_id={} offset={} size={}", v.ty, v.offset, v.size)?;
        if let Some(var) = ty.btf().ty(v.ty) {
            write!(f, " ({} '{}')", var.kind(), name(var.name()))?;
        }
    }
    Ok(())
}

fn linkage(ty: Type<'_>) -> &'static str {
    match ty.linkage() {
        Some(0) => "static",
        Some(1) => "global",
        Some(2) => "extern",
        _ => "(unknown)",
    }
}
