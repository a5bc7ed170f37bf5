//! The C types of INTs.

use super::layout::is_scalar_size;
use crate::{
    format::Kind,
    ids::TypeId,
    parse::Btf,
    view::{IntInfo, Type},
};

/// Returns the type of a bitfield that is too wide for `_Bool`, which has one bit.
pub(super) fn bool_substitute(btf: &Btf<'_>, id: TypeId, bits: u64) -> Option<&'static str> {
    let ty = btf.strip(id).ok().filter(|ty| bits > 1 && ty.kind() == Kind::Int)?;
    (integer(ty, btf.pointer_size().0) == Some("_Bool")).then_some("unsigned char")
}

/// Returns the C type of an INT: its name, or an integer of the same size if the name is not C's.
pub(super) fn integer(ty: Type<'_>, long: u32) -> Option<&'static str> {
    const NAMES: [(&str, u32); 24] = [
        ("_Bool", 1),
        ("char", 1),
        ("signed char", 1),
        ("unsigned char", 1),
        ("short", 2),
        ("short int", 2),
        ("short unsigned int", 2),
        ("unsigned short", 2),
        ("int", 4),
        ("unsigned int", 4),
        ("unsigned", 4),
        ("long", 0),
        ("long int", 0),
        ("long unsigned int", 0),
        ("unsigned long", 0),
        ("long long int", 8),
        ("long long", 8),
        ("long long unsigned int", 8),
        ("unsigned long long", 8),
        ("__int128", 16),
        ("__int128 unsigned", 16),
        ("unsigned __int128", 16),
        ("signed short", 2),
        ("signed int", 4),
    ];
    let size = ty.size_or_type();
    let matching = NAMES.iter().find(|(name, bytes)| {
        name.as_bytes() == ty.name().as_bytes() && size == if *bytes == 0 { long } else { *bytes }
    });
    if let Some((name, _)) = matching {
        return Some(name);
    }
    let encoding = ty.int()?;
    let is_bool = encoding.encoding & IntInfo::BOOL != 0;
    match (size, encoding.is_signed()) {
        (1, _) if is_bool => Some("_Bool"),
        (1, true) => Some("signed char"),
        (1, false) => Some("unsigned char"),
        (2, true) => Some("short"),
        (2, false) => Some("unsigned short"),
        (4, true) => Some("int"),
        (4, false) => Some("unsigned int"),
        (8, true) => Some("long long"),
        (8, false) => Some("unsigned long long"),
        (16, true) => Some("__int128"),
        (16, false) => Some("unsigned __int128"),
        _ => {
            debug_assert!(!is_scalar_size(u64::from(size)));
            None
        }
    }
}
