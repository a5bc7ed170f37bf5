//! A BTF type as JSON, with the keys of `bpftool btf dump -j`.

use core_relo::btf::{Kind, Type};
use serde::Serialize;
use std::io;

/// A type of any kind.
#[derive(Debug, Serialize)]
pub(crate) struct TypeJson {
    id: u32,
    kind: &'static str,
    name: String,
    #[serde(flatten)]
    details: Option<Details>,
}

/// The keys that depend on the kind. `None` has none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Details {
    Int { size: u32, bits_offset: u8, nr_bits: u8, encoding: &'static str },
    Reference { type_id: u32 },
    Array { type_id: u32, index_type_id: u32, nr_elems: u32 },
    Composite { size: u32, vlen: u32, members: Vec<Member> },
    Enum { encoding: &'static str, size: u32, vlen: u32, values: Vec<Enumerator> },
    Fwd { fwd_kind: &'static str },
    Linked { type_id: u32, linkage: &'static str },
    FuncProto { ret_type_id: u32, vlen: u32, params: Vec<Param> },
    Datasec { size: u32, vlen: u32, vars: Vec<SectionVariable> },
    Float { size: u32 },
    DeclTag { type_id: u32, component_idx: i32 },
}

#[derive(Debug, Serialize)]
struct Member {
    name: String,
    type_id: u32,
    bits_offset: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bitfield_size: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Enumerator {
    name: String,
    val: EnumeratorValue,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum EnumeratorValue {
    Signed(i64),
    Unsigned(u64),
}

#[derive(Debug, Serialize)]
struct Param {
    name: String,
    type_id: u32,
}

#[derive(Debug, Serialize)]
struct SectionVariable {
    type_id: u32,
    offset: u32,
    size: u32,
}

impl TypeJson {
    /// Converts a type. Fails if the record of the type has no data for its kind, which parsing excludes.
    pub(crate) fn new(ty: Type<'_>) -> io::Result<Self> {
        let incomplete = || io::Error::other(format!("BTF: type {} has no data of its kind", ty.id()));
        let details = match ty.kind() {
            Kind::Int => Some(int(ty).ok_or_else(incomplete)?),
            Kind::Array => Some(array(ty).ok_or_else(incomplete)?),
            Kind::DeclTag => Some(decl_tag(ty).ok_or_else(incomplete)?),
            Kind::Func | Kind::Var => Some(linked(ty).ok_or_else(incomplete)?),
            _ => other(ty),
        };
        let name = anonymous_or(ty.name().to_string());
        Ok(Self { id: ty.id().0, kind: ty.kind().name(), name, details })
    }
}

fn int(ty: Type<'_>) -> Option<Details> {
    let int = ty.int()?;
    let (bits_offset, nr_bits, encoding) = (int.offset, int.bits, int.encoding_name());
    Some(Details::Int { size: ty.size_or_type(), bits_offset, nr_bits, encoding })
}

fn array(ty: Type<'_>) -> Option<Details> {
    let array = ty.array()?;
    let (type_id, index_type_id) = (array.element.0, array.index.0);
    Some(Details::Array { type_id, index_type_id, nr_elems: array.nelems })
}

fn decl_tag(ty: Type<'_>) -> Option<Details> {
    Some(Details::DeclTag { type_id: ty.size_or_type(), component_idx: ty.component_index()? })
}

fn linked(ty: Type<'_>) -> Option<Details> {
    let linkage = match ty.linkage()? {
        0 => "static",
        1 => "global",
        2 => "extern",
        _ => "(unknown)",
    };
    Some(Details::Linked { type_id: ty.size_or_type(), linkage })
}

/// Returns the details of the kinds whose record always has them.
fn other(ty: Type<'_>) -> Option<Details> {
    let (size, type_id, vlen) = (ty.size_or_type(), ty.size_or_type(), ty.vlen());
    Some(match ty.kind() {
        Kind::Ptr | Kind::Typedef | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::TypeTag => {
            Details::Reference { type_id }
        }
        Kind::Struct | Kind::Union => Details::Composite { size, vlen, members: members(ty) },
        Kind::Enum | Kind::Enum64 => {
            let encoding = if ty.kflag() { "SIGNED" } else { "UNSIGNED" };
            Details::Enum { encoding, size, vlen, values: enumerators(ty) }
        }
        Kind::Fwd => Details::Fwd { fwd_kind: if ty.kflag() { "union" } else { "struct" } },
        Kind::FuncProto => {
            let param =
                ty.params().map(|p| Param { name: anonymous_or(p.name.to_string()), type_id: p.ty.0 });
            Details::FuncProto { ret_type_id: type_id, vlen, params: param.collect() }
        }
        Kind::Datasec => {
            let vars = ty.secinfos().map(|info| SectionVariable {
                type_id: info.ty.0,
                offset: info.offset,
                size: info.size,
            });
            Details::Datasec { size, vlen, vars: vars.collect() }
        }
        Kind::Float => Details::Float { size },
        _ => return None,
    })
}

fn members(ty: Type<'_>) -> Vec<Member> {
    let member = |m: core_relo::btf::Member<'_>| Member {
        name: anonymous_or(m.name.to_string()),
        type_id: m.ty.0,
        bits_offset: m.bit_offset.0,
        bitfield_size: Some(m.bitfield_bits).filter(|bits| *bits > 0),
    };
    ty.members().map(member).collect()
}

fn enumerators(ty: Type<'_>) -> Vec<Enumerator> {
    let values = ty.enumerators().map(|v| Enumerator {
        name: v.name.to_string(),
        val: match v.signed {
            true => EnumeratorValue::Signed(v.value.cast_signed()),
            false => EnumeratorValue::Unsigned(v.c_value()),
        },
    });
    values.collect()
}

fn anonymous_or(name: String) -> String {
    if name.is_empty() { "(anon)".to_owned() } else { name }
}
