//! Types by the name that the user gives.

use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
    explain::CType,
};

/// The kinds of types that have values, with the keyword of each in C.
const VALUE_KINDS: [(Kind, Option<&str>); 10] = [
    (Kind::Struct, Some("struct")),
    (Kind::Union, Some("union")),
    (Kind::Typedef, None),
    (Kind::Enum, Some("enum")),
    (Kind::Enum64, Some("enum")),
    (Kind::Int, None),
    (Kind::Float, None),
    (Kind::Datasec, None),
    (Kind::Var, None),
    (Kind::TypeTag, None),
];

/// The number of types that an error lists.
const LISTED_TYPES: usize = 8;

/// Returns the type that the user named: by id, or by name with or without a keyword.
///
/// Several types may have the name. It is an error if they are not the same type.
pub(crate) fn find_type<'b>(btf: &'b Btf<'_>, text: &str) -> Result<Type<'b>, String> {
    if let Ok(id) = text.parse::<u32>() {
        let last = btf.end_id().0.saturating_sub(1);
        return btf.ty(TypeId(id)).ok_or_else(|| format!("no type [{id}], expected [1] to [{last}]"));
    }
    let mut words = text.split_whitespace();
    let (keyword, name) = match (words.next(), words.next(), words.next()) {
        (Some(keyword @ ("struct" | "union" | "enum")), Some(name), None) => (Some(keyword), name),
        _ => (None, text.trim()),
    };
    let of_kind = |ty: &Type<'_>| {
        let mut kinds = VALUE_KINDS.iter().filter(|(_, of_kind)| keyword.is_none() || keyword == *of_kind);
        kinds.any(|(kind, _)| *kind == ty.kind())
    };
    let mut named = btf
        .all_types()
        .filter(|ty| !name.is_empty() && of_kind(ty) && ty.name().as_bytes() == name.as_bytes());
    let first = named.next().ok_or_else(|| no_type(btf, text, name))?;
    let mut others: Vec<_> = named.filter(|other| !are_same(btf, first, *other)).collect();
    if others.is_empty() {
        return Ok(first);
    }
    others.insert(0, first);
    Err(ambiguous(btf, text, &others))
}

/// Returns the error for a name that no type with values has.
fn no_type(btf: &Btf<'_>, text: &str, name: &str) -> String {
    let mut other = btf.all_types().filter(|ty| !name.is_empty() && ty.name().as_bytes() == name.as_bytes());
    match other.next() {
        Some(ty) => format!("no type `{text}`: `{name}` is of the kind {:?}", ty.kind()),
        None => format!("no type `{text}`"),
    }
}

/// Returns whether values of two types are the same: the types are equal without typedefs, or they are equal
/// numbers.
fn are_same<'b>(btf: &'b Btf<'_>, one: Type<'b>, other: Type<'b>) -> bool {
    let stripped = |ty: Type<'b>| btf.strip(ty.id()).ok();
    match (stripped(one), stripped(other)) {
        (Some(one), Some(other)) => {
            let is_number = matches!(one.kind(), Kind::Int | Kind::Float);
            let same_number = is_number
                && one.kind() == other.kind()
                && one.name() == other.name()
                && one.size() == other.size()
                && one.int() == other.int();
            one.id() == other.id() || same_number
        }
        _ => false,
    }
}

/// Returns the error for a name of several types, and how to choose one of them.
fn ambiguous(btf: &Btf<'_>, text: &str, types: &[Type<'_>]) -> String {
    let describe = |ty: &Type<'_>| match btf.size_of(ty.id()) {
        Ok(size) => format!("[{}] {} of {} bytes", ty.id().0, noun(btf, *ty), size.0),
        Err(_) => format!("[{}] {}", ty.id().0, noun(btf, *ty)),
    };
    let mut listed: Vec<_> = types.iter().take(LISTED_TYPES).map(describe).collect();
    if let Some(more) = types.len().checked_sub(LISTED_TYPES).filter(|more| *more > 0) {
        listed.push(format!("{more} more"));
    }
    // The first type that a keyword selects alone.
    let by_keyword = types.iter().find_map(|ty| {
        let keyword = VALUE_KINDS.iter().find(|(kind, _)| *kind == ty.kind())?.1?;
        let is_alone = types.iter().filter(|other| other.kind() == ty.kind()).count() == 1;
        (is_alone && !text.trim_start().starts_with(keyword)).then(|| format!("`{keyword} {text}`, or "))
    });
    format!(
        "`{text}` is the name of several types: {}: choose one by {}its id",
        listed.join(", "),
        by_keyword.as_deref().unwrap_or("")
    )
}

/// Returns the text for a type: its C type, or its kind and name.
fn noun(btf: &Btf<'_>, ty: Type<'_>) -> String {
    match ty.kind() {
        Kind::Typedef => format!("typedef {}", ty.name()),
        _ => CType::new(btf, ty.id()).to_string(),
    }
}
