//! Lookup of a variable by name, or of a part of a variable by a path such as `config.ports[2]`.

use super::{Global, GlobalError};
use crate::index::to_usize;
use core_relo::{
    Text, TypeId,
    btf::{Btf, Kind, Member, Type},
    explain::CType,
};
use hashbrown::HashSet;

/// Finds a variable by name or by `section/name`, since sections may each have a static variable of the same
/// name. `.member` and `[index]` after the name select a part of the variable.
pub fn find_global(globals: &[Global], btf: Option<&Btf<'_>>, name: &str) -> Result<Global, GlobalError> {
    find_path(globals, btf, name, |name| Ok(exact(globals, name)?.cloned()))
}

/// Finds a variable or a part of a variable, as [`find_global`]. `find_whole` finds a variable by name or by
/// `section/name`.
pub(crate) fn find_path(
    globals: &[Global],
    btf: Option<&Btf<'_>>,
    name: &str,
    find_whole: impl Fn(&str) -> Result<Option<Global>, GlobalError>,
) -> Result<Global, GlobalError> {
    if let Some(whole) = find_whole(name)? {
        return Ok(whole);
    }
    // Names of variables and sections may contain dots. The longest match is used.
    for (end, _) in name.rmatch_indices(['.', '[']) {
        let Some((base, path)) = name.split_at_checked(end) else { continue };
        if let Some(whole) = find_whole(base)? {
            let no_such_part =
                |what: String| GlobalError::NoSuchPart { name: name.into(), what: what.into() };
            return part(btf, &whole, path).map_err(no_such_part);
        }
    }
    let mut sections: Vec<Text> = globals.iter().map(|global| (*global.section).into()).collect();
    sections.sort_unstable();
    sections.dedup();
    Err(GlobalError::NotFound {
        name: name.into(),
        sections,
        known: globals.iter().map(|g| g.name.as_str().into()).collect(),
    })
}

fn exact<'g>(globals: &'g [Global], name: &str) -> Result<Option<&'g Global>, GlobalError> {
    let section_and_name = name.split_once('/');
    let is_match = |g: &&Global| g.name == name || section_and_name == Some((&*g.section, &*g.name));
    let mut matches = globals.iter().filter(is_match);
    match (matches.next(), matches.next()) {
        (Some(first), Some(second)) => Err(ambiguous(name, first, second)),
        (first, _) => Ok(first),
    }
}

pub(super) fn ambiguous(name: &str, first: &Global, second: &Global) -> GlobalError {
    GlobalError::Ambiguous {
        name: name.into(),
        sections: [(*first.section).into(), (*second.section).into()],
    }
}

/// Returns the part of a variable that a path selects, or an error message. The part's name is the variable's
/// with the path.
fn part(btf: Option<&Btf<'_>>, whole: &Global, path: &str) -> Result<Global, String> {
    let unknown = || format!("the type of `{}` is unknown: the object has no BTF for it", whole.name);
    let btf = btf.ok_or_else(unknown)?;
    let mut part = whole.clone();
    let mut rest = path;
    while !rest.is_empty() {
        let here = part.name.clone();
        let declared = part.ty.ok_or_else(unknown)?;
        let stripped = btf.strip(declared).map_err(|e| e.to_string())?;
        let shown = CType::new(btf, declared);
        let (offset, ty);
        if let Some(after) = rest.strip_prefix('.') {
            let split = after.find(['.', '[']).and_then(|end| after.split_at_checked(end));
            // The last member of the path has nothing after it.
            let (name, next) = split.unwrap_or((after, ""));
            if !stripped.kind().is_composite() {
                return Err(format!("`{here}` is `{shown}`, which has no members"));
            }
            let (byte, member) = member(btf, stripped, name).ok_or_else(|| {
                format!("`{shown}` has no member `{name}`; it has {}", member_names(stripped))
            })?;
            if is_bitfield(btf, &member) {
                return Err(format!("`{name}` is a bitfield: set `{here}` as a whole"));
            }
            part.name = format!("{here}.{name}");
            (offset, ty, rest) = (byte, member.ty, next);
        } else {
            let (index, next) =
                rest.strip_prefix('[').and_then(|inner| inner.split_once(']')).ok_or_else(|| {
                    format!("unexpected `{rest}` after `{here}`, expected `.member` or `[index]`")
                })?;
            let array =
                stripped.array().ok_or_else(|| format!("`{here}` is `{shown}`, which has no elements"))?;
            part.name = format!("{here}[{index}]");
            let index: usize =
                index.trim().parse().map_err(|_no_number| format!("`{index}` is not an array index"))?;
            let size = byte_size(btf, array.element)?;
            // An array that was resized with its section has more elements than its type.
            let len = part.size.checked_div(size);
            let len = len.ok_or_else(|| format!("the elements of `{here}` have no size"))?;
            if index >= len {
                return Err(format!("`{here}` has {len} elements"));
            }
            let start = index.checked_mul(size).ok_or_else(|| format!("`{index}` is too large"))?;
            (offset, ty, rest) = (start, array.element, next);
        }
        let size = byte_size(btf, ty)?;
        if offset.checked_add(size).is_none_or(|end| end > part.size) {
            return Err(format!("it reaches past the {} bytes of `{here}`", part.size));
        }
        part.offset = part.offset.checked_add(offset).ok_or("its offset overflows")?;
        part.value_offset = part.value_offset.checked_add(offset).ok_or("its offset overflows")?;
        (part.size, part.declared_size, part.ty) = (size, size, Some(ty));
    }
    Ok(part)
}

fn byte_size(btf: &Btf<'_>, ty: TypeId) -> Result<usize, String> {
    let size = btf.size_of(ty).map_err(|e| e.to_string())?;
    usize::try_from(size.0).map_err(|e| e.to_string())
}

/// Finds a member by name, also in anonymous members, and returns its offset in bytes.
fn member<'b>(btf: &'b Btf<'_>, ty: Type<'b>, name: &str) -> Option<(usize, Member<'b>)> {
    let mut pending = vec![(0usize, ty)];
    // Each type is searched once.
    let mut seen = HashSet::<_>::from([ty.id()]);
    while let Some((start, ty)) = pending.pop() {
        for m in ty.members() {
            let byte = start.checked_add(to_usize(m.bit_offset.0 / 8))?;
            if m.name.as_bytes() == name.as_bytes() && !name.is_empty() {
                return Some((byte, m));
            }
            if m.name.is_empty()
                && let Ok(inner) = btf.strip(m.ty)
                && inner.kind().is_composite()
                && seen.insert(inner.id())
            {
                pending.push((byte, inner));
            }
        }
    }
    None
}

fn is_bitfield(btf: &Btf<'_>, member: &Member<'_>) -> bool {
    let int = btf.strip(member.ty).ok().filter(|t| t.kind() == Kind::Int);
    let is_narrow = int
        .and_then(|t| Some((t.int()?, t.size()?)))
        .is_some_and(|(int, size)| size.0.checked_mul(8) != Some(int.bits.into()) || int.offset != 0);
    member.bitfield_bits != 0 || !member.bit_offset.0.is_multiple_of(8) || is_narrow
}

/// Lists the names of the first members.
fn member_names(ty: Type<'_>) -> String {
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
    fn the_section_distinguishes_variables_of_the_same_name() {
        let global = |section: &str| Global {
            name: "n".into(),
            section: section.into(),
            map: section.into(),
            kind: GlobalKind::Variable,
            offset: 0,
            size: 4,
            ty: None,
            value_offset: 0,
            declared_size: 4,
        };
        let globals = [global(".data"), global(".bss")];
        let find = |all, name| find_global(all, None, name);
        assert_eq!(find(&globals, ".bss/n").map(|g| g.section), Ok(".bss".into()));
        assert!(matches!(find(&globals, "n"), Err(GlobalError::Ambiguous { .. })));
        assert!(matches!(find(&globals, "n.x"), Err(GlobalError::Ambiguous { .. })));
        assert!(matches!(find(&globals, ".rodata/n"), Err(GlobalError::NotFound { .. })));
        assert_eq!(find(&globals[..1], "n").map(|g| g.section), Ok(".data".into()));
    }
}
