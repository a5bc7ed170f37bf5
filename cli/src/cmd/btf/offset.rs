//! `btf offset`: a field by its path.

use super::read::{read_source, suggest_type};
use crate::{
    args::btf_query::BtfOffsetArgs,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    text::line::Line,
};
use core_relo::{
    Escaped, Name,
    btf::{Btf, CType, FieldPathError, FieldStep, Kind, Type, field_path},
    explain::nearest_names,
};
use serde::Serialize;

/// The number of members of a type with which an unknown one is compared.
const COMPARED_MEMBERS: usize = 1 << 16;

/// A step of a path as JSON.
#[derive(Debug, Serialize)]
struct StepJson<'s> {
    path: &'s str,
    r#type: String,
    bit_offset: u32,
    bits: u64,
    is_bitfield: bool,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfOffsetArgs) -> CommandResult {
    let btf = read_source(&args.source)?;
    let steps = field_path(&btf, &args.path).map_err(|error| unknown_field(&btf, &args.path, &error))?;
    let width = steps.iter().map(|step| step.path.chars().count()).max().unwrap_or(0);
    for FieldStep { path, ty, extent, .. } in steps {
        let c_type = CType::new(&btf, ty).to_string();
        let (bit_offset, bits) = (extent.bit_offset.0, extent.bits);
        match args.format {
            Format::Json => console.out.json(&StepJson {
                path,
                r#type: c_type,
                bit_offset,
                bits,
                is_bitfield: extent.is_bitfield,
            })?,
            Format::Text => {
                let place = if extent.is_bitfield {
                    format!("bit {bit_offset}, {bits} bits")
                } else {
                    format!("offset {}, {} bytes", bit_offset / 8, bits / 8)
                };
                console
                    .out
                    .line(Line::new().column(width, path).text(format_args!("  {place}  {c_type}")))?;
            }
        }
    }
    Ok(())
}

/// Returns the error of a path that leads nowhere, with the most similar name.
fn unknown_field(btf: &Btf<'_>, path: &str, error: &FieldPathError) -> BadInput {
    let bad = BadInput::new(path, error);
    match error {
        FieldPathError::NoType { name } => suggest_type(btf, &name.to_string(), |ty| is_root(ty.kind()), bad),
        FieldPathError::NoMember { ty, member } => {
            let is_named = |of: &Type<'_>| is_root(of.kind()) && of.name().to_string() == ty.to_string();
            let members = btf.types().find(is_named).map_or_else(Vec::new, member_names);
            let members = members.into_iter().map(Name::as_bytes);
            match nearest_names(member.as_str().as_bytes(), members).first() {
                Some(similar) => bad.help(format!("there is `{}`", Escaped(similar))),
                None => bad,
            }
        }
        _ => bad,
    }
}

/// Returns whether a path can begin with types of a kind.
fn is_root(kind: Kind) -> bool {
    matches!(kind, Kind::Struct | Kind::Union | Kind::Typedef)
}

/// Returns the names of the members of a type, those of its anonymous members included.
fn member_names(ty: Type<'_>) -> Vec<Name<'_>> {
    let (mut names, mut composites) = (Vec::new(), vec![ty]);
    while let Some(composite) = composites.pop().filter(|_| names.len() < COMPARED_MEMBERS) {
        let composite = composite.btf().strip(composite.id()).unwrap_or(composite);
        for member in composite.members() {
            if member.name.is_empty() {
                composites.extend(composite.btf().ty(member.ty));
            }
            // Anonymous members count, so that the search ends in types that contain each other.
            names.push(member.name);
        }
    }
    names.retain(|name| !name.is_empty());
    names
}
