//! From a name, or a path such as `config.ports[2]`, to a variable or a part of one.

use super::{Global, GlobalError};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Member, Type},
    explain::CType,
};
use std::collections::HashSet;

/// The variable of a name, or of `section/name`: files and sections may each have a static one of the same name. Behind it,
/// `.member` and `[index]` lead to its parts.
pub fn find_global(globals: &[Global], btf: Option<&Btf<'_>>, name: &str) -> Result<Global, GlobalError> {
    if let Some(whole) = exact(globals, name)? {
        return Ok(whole.clone());
    }
    // Names of variables and sections may have dots themselves: the longest one counts.
    for (at, _) in name.rmatch_indices(['.', '[']) {
        let Some((base, path)) = name.split_at_checked(at) else { continue };
        if let Some(whole) = exact(globals, base)? {
            let no_part = |what: String| GlobalError::NoPart { name: name.into(), what: what.into() };
            let mut part = part(btf, whole, path).map_err(no_part)?;
            part.name = name.into();
            return Ok(part);
        }
    }
    Err(GlobalError::NoSuch {
        name: name.into(),
        near: globals.iter().map(|g| g.name.as_str().into()).collect(),
    })
}

fn exact<'g>(globals: &'g [Global], name: &str) -> Result<Option<&'g Global>, GlobalError> {
    let is_it = |g: &&Global| g.name == name || name.split_once('/') == Some((&*g.section, &*g.name));
    let mut found = globals.iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => Err(GlobalError::Ambiguous {
            name: name.into(),
            sections: [(*one.section).into(), (*other.section).into()],
        }),
        (one, _) => Ok(one),
    }
}

/// The part of a variable that a path leads to; else why it leads nowhere.
fn part(btf: Option<&Btf<'_>>, whole: &Global, path: &str) -> Result<Global, String> {
    let unknown = || format!("what `{}` consists of is not known (the object has no BTF for it)", whole.name);
    let btf = btf.ok_or_else(unknown)?;
    let mut at = whole.clone();
    let mut rest = path;
    while !rest.is_empty() {
        let here = path.strip_suffix(rest).unwrap_or_default();
        let here = format!("{}{here}", whole.name);
        let declared = at.ty.ok_or_else(unknown)?;
        let ty = btf.strip(declared).map_err(|e| e.to_string())?;
        let shown = CType::new(btf, declared);
        let (offset, of);
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, next) = after.split_at_checked(end).unwrap_or_default();
            if !ty.kind().is_composite() {
                return Err(format!("`{here}` is `{shown}`, which has no members"));
            }
            let (byte, member) = member(btf, ty, name)
                .ok_or_else(|| format!("`{shown}` has no member `{name}`; it has {}", members(ty)))?;
            if is_bitfield(btf, &member) {
                return Err(format!("`{name}` is a bitfield, which can be set with all of `{here}` only"));
            }
            (offset, of, rest) = (byte, member.ty, next);
        } else {
            let (index, next) = rest
                .strip_prefix('[')
                .and_then(|inner| inner.split_once(']'))
                .ok_or_else(|| format!("behind `{here}` comes `{rest}`, neither `.member` nor `[index]`"))?;
            let array = ty.array().ok_or_else(|| format!("`{here}` is `{shown}`, which has no elements"))?;
            let index: usize =
                index.trim().parse().map_err(|_no_number| format!("`{index}` is no number of an element"))?;
            let size = bytes_of(btf, array.element)?;
            // An array that grew with its section has more than its type says.
            let len = at.size.checked_div(size).unwrap_or_default();
            if index >= len {
                return Err(format!("`{here}` has {len} elements"));
            }
            (offset, of, rest) = (index.saturating_mul(size), array.element, next);
        }
        let size = bytes_of(btf, of)?;
        if offset.checked_add(size).is_none_or(|end| end > at.size) {
            return Err(format!("it reaches past the {} bytes of `{here}`", at.size));
        }
        (at.offset, at.size, at.ty) = (at.offset.saturating_add(offset), size, Some(of));
        at.declared_size = size;
    }
    Ok(at)
}

fn bytes_of(btf: &Btf<'_>, ty: TypeId) -> Result<usize, String> {
    let size = btf.size_of(ty).map_err(|e| e.to_string())?;
    usize::try_from(size.0).map_err(|e| e.to_string())
}

/// The member of a name, those of anonymous members included, and its byte.
fn member<'b>(btf: &'b Btf<'_>, ty: Type<'b>, name: &str) -> Option<(usize, Member<'b>)> {
    let mut open = vec![(0usize, ty)];
    // A type that did not have the name the first time does not have it the second.
    let mut seen = HashSet::from([ty.id()]);
    while let Some((start, ty)) = open.pop() {
        for m in ty.members() {
            let byte = start.saturating_add(usize::try_from(m.bit_offset.0 / 8).ok()?);
            if m.name.as_bytes() == name.as_bytes() && !name.is_empty() {
                return Some((byte, m));
            }
            if m.name.is_empty()
                && let Ok(inner) = btf.strip(m.ty)
                && inner.kind().is_composite()
                && seen.insert(inner.id())
            {
                open.push((byte, inner));
            }
        }
    }
    None
}

fn is_bitfield(btf: &Btf<'_>, member: &Member<'_>) -> bool {
    let int = btf.strip(member.ty).ok().filter(|t| t.kind() == Kind::Int);
    let is_narrow = int
        .and_then(|t| Some((t.int()?, t.size()?)))
        .is_some_and(|(int, size)| u32::from(int.bits) != size.0.saturating_mul(8) || int.offset != 0);
    member.bitfield_bits != 0 || !member.bit_offset.0.is_multiple_of(8) || is_narrow
}

/// The names of some members.
fn members(ty: Type<'_>) -> String {
    const SHOWN: usize = 8;
    let names = ty.members().map(|m| m.name).filter(|n| !n.is_empty());
    let mut shown: Vec<_> = names.take(SHOWN).map(|n| n.to_string()).collect();
    if ty.members().len() > SHOWN {
        shown.push("more".into());
    }
    if shown.is_empty() { "none with a name".into() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{super::GlobalKind, *};

    #[test]
    fn two_of_a_name_are_told_apart_by_their_section() {
        let global = |section: &str| Global {
            name: "n".into(),
            section: section.into(),
            map: section.into(),
            kind: GlobalKind::Variable,
            offset: 0,
            size: 4,
            ty: None,
            start: 0,
            declared_size: 4,
        };
        let globals = [global(".data"), global(".bss")];
        let find = |all, name| find_global(all, None, name);
        assert_eq!(find(&globals, ".bss/n").map(|g| g.section), Ok(".bss".into()));
        assert!(matches!(find(&globals, "n"), Err(GlobalError::Ambiguous { .. })));
        assert!(matches!(find(&globals, "n.x"), Err(GlobalError::Ambiguous { .. })));
        assert!(matches!(find(&globals, ".rodata/n"), Err(GlobalError::NoSuch { .. })));
        assert_eq!(find(&globals[..1], "n").map(|g| g.section), Ok(".data".into()));
    }
}
