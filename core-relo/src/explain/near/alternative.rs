//! Members of the target's type that a flavour can declare in place of a missing member.

use crate::{
    ByteSize, Name, TypeId,
    btf::{Btf, IntInfo, Kind, Member, Type, limits},
};
use alloc::{format, string::String, vec::Vec};

/// A member of the target's type that may have the meaning of a missing member.
///
/// The texts are C that compiles without other declarations. Only integers and pointers have alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlternativeMember {
    /// The members that a flavour declares: `long state;`,
    /// `struct { struct robust_list_head *robust_list; } futex;`.
    pub declaration: String,
    /// The path from the type to the member: `state`, `futex.robust_list`, `rss_stat.count[0].counter`.
    pub path: String,
    /// The member's type: `long`.
    pub c_type: String,
    /// The size of the member's type.
    pub size: ByteSize,
}

/// A step of the path from the type to an alternative member.
#[derive(Clone, Copy, Debug)]
pub(super) enum PathStep<'b> {
    Member(Member<'b>),
    /// An element of the array before it.
    Element(u32),
}

impl AlternativeMember {
    /// Returns the alternative at the end of a path. Anonymous members need no declaration.
    pub(super) fn new(btf: &Btf<'_>, path: &[PathStep<'_>]) -> Option<Self> {
        let (mut inner, mut c_type, mut parts) = (None::<String>, None, Vec::new());
        let (mut dimensions, mut indices, mut levels) = (String::new(), String::new(), 0u32);
        for step in path.iter().rev() {
            let member = match step {
                PathStep::Element(index) => {
                    dimensions = format!("[{}]{dimensions}", index.checked_add(1)?);
                    indices = format!("[{index}]{indices}");
                    levels = levels.checked_add(1)?;
                    continue;
                }
                PathStep::Member(member) if member.name.is_empty() => continue,
                PathStep::Member(member) => member,
            };
            let (name, ty) = (identifier(member.name)?, element_type(btf, member.ty, levels)?);
            let declaration = if let Some(inner) = inner {
                format!("{} {{ {inner} }} {name}{dimensions};", ty.kind().keyword())
            } else {
                let own = c_type_of(btf, ty).filter(|_| member.bitfield_bits == 0)?;
                let space = if own.ends_with('*') { "" } else { " " };
                let declaration = format!("{own}{space}{name}{dimensions};");
                c_type = Some((own, btf.size_of(ty.id()).ok()?));
                declaration
            };
            inner = Some(declaration);
            parts.push(format!("{name}{indices}"));
            (dimensions, indices, levels) = (String::new(), String::new(), 0);
        }
        parts.reverse();
        let (c_type, size) = c_type?;
        Some(Self { declaration: inner?, path: parts.join("."), c_type, size })
    }
}

/// Returns the type of the elements of an array of arrays of this many levels.
fn element_type<'b>(btf: &'b Btf<'_>, id: TypeId, levels: u32) -> Option<Type<'b>> {
    let mut ty = btf.strip(id).ok()?;
    for _ in 0..levels {
        ty = btf.strip(ty.array()?.element).ok()?;
    }
    Some(ty)
}

/// Returns a name if it is an identifier in C.
fn identifier(name: Name<'_>) -> Option<&str> {
    let name = core::str::from_utf8(name.as_bytes()).ok()?;
    let is_identifier = !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.len() <= limits::NAME_BYTES
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_identifier.then_some(name)
}

/// Returns an integer or pointer type in C, without typedefs and qualifiers.
fn c_type_of(btf: &Btf<'_>, ty: Type<'_>) -> Option<String> {
    match ty.kind() {
        Kind::Int => {
            let int = ty.int()?;
            let name = match (ty.size()?.0, int.encoding == IntInfo::BOOL, int.is_signed()) {
                (1, true, _) => "_Bool",
                (1, false, true) => "signed char",
                (1, false, false) => "unsigned char",
                (2, _, true) => "short",
                (2, _, false) => "unsigned short",
                (4, _, true) => "int",
                (4, _, false) => "unsigned int",
                (8, _, true) => "long long",
                (8, _, false) => "unsigned long long",
                _ => return None,
            };
            Some(name.into())
        }
        Kind::Ptr => {
            let pointee = btf.strip(ty.target()?).ok();
            let named =
                pointee.filter(|pointee| pointee.kind().is_composite() || pointee.kind() == Kind::Fwd);
            let struct_name = |pointee: Type<'_>| {
                let is_union =
                    pointee.kind() == Kind::Union || (pointee.kind() == Kind::Fwd && pointee.kflag());
                let keyword = if is_union { "union" } else { "struct" };
                Some(format!("{keyword} {} *", identifier(pointee.name())?))
            };
            Some(named.and_then(struct_name).unwrap_or_else(|| "void *".into()))
        }
        _ => None,
    }
}
