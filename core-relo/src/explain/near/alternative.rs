//! Members of the target's type that a flavour can declare in place of a missing member.

use crate::{
    btf::{Btf, IntInfo, Kind, Member, Type},
    ids::TypeId,
    limits,
    name::Name,
};
use alloc::{format, string::String, vec::Vec};

/// A member of the target's type that may have the meaning of a missing member.
///
/// The texts are C that compiles without other declarations. Only integers and pointers have alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlternativeMember {
    /// The members that a flavour declares: `long state;`, `struct { struct robust_list_head *robust_list; } futex;`.
    pub declaration: String,
    /// The path from the type to the member: `state`, `futex.robust_list`.
    pub path: String,
    /// The member's type: `long`.
    pub c_type: String,
}

impl AlternativeMember {
    /// Returns the alternative that the last of `members` is. The others contain it, the outermost first.
    pub(super) fn new<'b>(btf: &'b Btf<'_>, members: &[Member<'b>]) -> Option<Self> {
        let (last, parents) = members.split_last()?;
        let c_type = c_type(btf, last.ty).filter(|_| last.bitfield_bits == 0)?;
        let name = identifier(last.name)?;
        let space = if c_type.ends_with('*') { "" } else { " " };
        let (mut declaration, mut path) = (format!("{c_type}{space}{name};"), Vec::from([name]));
        for parent in parents.iter().rev().filter(|parent| !parent.name.is_empty()) {
            let name = identifier(parent.name)?;
            let keyword = btf.strip(parent.ty).ok()?.kind().keyword();
            declaration = format!("{keyword} {{ {declaration} }} {name};");
            path.push(name);
        }
        path.reverse();
        Some(Self { declaration, path: path.join("."), c_type })
    }
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
fn c_type(btf: &Btf<'_>, id: TypeId) -> Option<String> {
    let ty = btf.strip(id).ok()?;
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
