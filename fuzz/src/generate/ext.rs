//! Generator of `.BTF.ext`: CO-RE records of every kind, with mostly valid access strings.

use super::{below, one_in, types::Types};
use arbitrary::{Arbitrary, Result, Unstructured};
use core_relo::{
    Endian, TypeId,
    btf::Kind,
    ext::{ExtBuilder, ExtPart},
};
use std::fmt::Write as _;

/// Invalid access strings.
const INVALID_ACCESS: [&str; 8] = ["", ":", "0:", "99", "-1", "0:4294967296", "0:0:0:0:0:0:0:0:0:0", "0:x"];

/// A code section with its patchable instructions.
pub struct Code {
    pub name: String,
    /// Indices of the instructions that a relocation can patch.
    pub patchable: Vec<usize>,
    /// The number of instruction slots.
    pub slots: usize,
    /// Indices of the first instructions of functions.
    pub functions: Vec<usize>,
}

/// Generates the records of code sections.
pub fn ext(
    u: &mut Unstructured<'_>,
    endian: Endian,
    types: &mut Types,
    sections: &[Code],
) -> Result<Vec<u8>> {
    let mut ext = ExtBuilder::new(endian);
    for code in sections {
        let name = types.builder.string(&code.name);
        let mut records = Vec::new();
        for at in &code.patchable {
            if one_in(u, 3)? {
                continue;
            }
            let at = if one_in(u, 64)? { u32::arbitrary(u)? } else { *at as u32 * 8 };
            let (root, access, kind) = core_relo(u, types)?;
            let access = types.builder.string(&access);
            put(endian, &mut records, &[at, root.0, access.0, kind]);
        }
        if !records.is_empty() {
            ext.group(ExtPart::CoreRelo, name, 16, &records);
        }
        functions_and_lines(u, endian, types, code, &mut ext)?;
    }
    Ok(ext.finish())
}

/// Generates a CO-RE record: root type, access string, kind.
fn core_relo(u: &mut Unstructured<'_>, types: &Types) -> Result<(TypeId, String, u32)> {
    let kind = if one_in(u, 64)? { u32::arbitrary(u)? } else { below(u, 13)? as u32 };
    let Some(root) = types.pick(u)? else { return Ok((TypeId(1), "0".to_owned(), kind)) };
    if one_in(u, 16)? {
        return Ok((root.id, (*u.choose(&INVALID_ACCESS)?).to_owned(), kind));
    }
    // The kinds 6 to 9 and 12 apply to types, 10 and 11 to enumerators.
    if matches!(kind, 6..=9 | 12) {
        return Ok((root.id, "0".to_owned(), kind));
    }
    if matches!(kind, 10 | 11) {
        let variant = below(u, root.variants.max(1))?;
        return Ok((root.id, variant.to_string(), kind));
    }
    let mut access = below(u, 2)?.to_string();
    let mut current = Some(root);
    for _ in 0..below(u, 6)? {
        let Some(ty) = current else { break };
        let part = below(u, ty.parts.len().max(1))?;
        let is_modifier = !matches!(ty.kind, Kind::Struct | Kind::Union | Kind::Array);
        if !is_modifier {
            let _ = write!(access, ":{part}");
        }
        current = ty.parts.get(if ty.kind == Kind::Array { 0 } else { part }).and_then(|id| types.get(*id));
    }
    Ok((root.id, access, kind))
}

/// Generates the function and line records of a section.
fn functions_and_lines(
    u: &mut Unstructured<'_>,
    endian: Endian,
    types: &mut Types,
    code: &Code,
    ext: &mut ExtBuilder,
) -> Result<()> {
    let name = types.builder.string(&code.name);
    let (mut functions, mut lines) = (Vec::new(), Vec::new());
    let all_functions =
        types.all.iter().filter(|ty| ty.kind == Kind::Func).map(|ty| ty.id).collect::<Vec<_>>();
    for at in &code.functions {
        let ty = if all_functions.is_empty() { TypeId(1) } else { *u.choose(&all_functions)? };
        put(endian, &mut functions, &[*at as u32 * 8, ty.0]);
    }
    let file = types.builder.string("generated.bpf.c");
    let text = types.builder.string("	return 0;");
    for at in 0..below(u, code.slots + 1)? {
        put(endian, &mut lines, &[at as u32 * 8, file.0, text.0, (at as u32 + 1) << 10]);
    }
    if !functions.is_empty() && !one_in(u, 8)? {
        ext.group(ExtPart::FuncInfo, name, 8, &functions);
    }
    if !lines.is_empty() {
        ext.group(ExtPart::LineInfo, name, 16, &lines);
    }
    Ok(())
}

fn put(endian: Endian, out: &mut Vec<u8>, words: &[u32]) {
    for word in words {
        endian.put_u32(out, *word);
    }
}
