//! `btf ids`: the ids in `.BTF_ids`, shown, checked or filled in.

use super::read::read_file;
use crate::{
    args::btf_ids::BtfIdsArgs,
    console::{Console, ExitStatus},
    describe,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::limits::MAX_OBJECT_BYTES,
    output::{self, OutputPath},
    text::{line::Line, style},
};
use core_relo::{Data, Name, TypeId, btf::Btf};
use core_relo_kernels::{
    Defect, InputError, btf_file,
    module::{find_base, is_split_without_base, missing_base},
};
use core_relo_loader::{
    btf_ids::{BtfIds, IdSet, IdSetKind, IdSlot},
    target::{BtfFile, ExtractError, TargetError},
};
use serde::Serialize;
use std::{io, path::Path, sync::Arc};

/// The JSON line of a list or set.
#[derive(Serialize)]
struct SetJson {
    set: String,
    kind: &'static str,
    count: Option<u32>,
    flags: Option<u32>,
    ids: Vec<SlotJson>,
    problems: Vec<String>,
}

/// The JSON object of an id.
#[derive(Serialize)]
struct SlotJson {
    id: u32,
    #[serde(rename = "type")]
    ty: Option<String>,
    flags: Option<u32>,
}

/// The JSON line of a written file.
#[derive(Serialize)]
struct WrittenJson {
    /// `null` if nothing was written.
    output: Option<String>,
    resolved: usize,
    missing: Vec<String>,
    ambiguous: Vec<String>,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfIdsArgs) -> CommandResult {
    let bytes = btf_file::read_unpacked(&args.path, MAX_OBJECT_BYTES)?;
    let ids = BtfIds::parse(&bytes).map_err(|e| BadInput::for_path(&args.path, e))?;
    let btf = read_btf(args, &bytes)?;
    match (&args.output, btf) {
        (Some(out), Some(btf)) => resolve(console, args, &ids, &btf, out),
        (Some(_), None) => {
            let bad = BadInput::for_path(&args.path, "no BTF to resolve ids with");
            Err(bad.help("give the kernel with --btf PATH").into())
        }
        (None, btf) => Ok(show(console, &ids, btf.as_ref())?),
    }
}

/// Returns the BTF of the file, or of `--btf` if the file has none. Returns `None` if there is neither, or no
/// base.
fn read_btf(args: &BtfIdsArgs, bytes: &[u8]) -> Result<Option<Btf<'static>>, BadInput> {
    let path = &*args.path;
    let bad = |e: TargetError| BadInput::from(InputError::new(path, Defect::Btf(Box::new(e))));
    let file = match BtfFile::from_bytes(path, Data::from(bytes.to_vec())) {
        Ok(file) => file,
        Err(TargetError::Extract { cause: ExtractError::NoBtf, .. }) => {
            return args.btf.as_deref().map(|path| read_file(path, None)).transpose();
        }
        Err(e) => return Err(bad(e)),
    };
    // With `.BTF.base`, the ids in the file are those of the distilled base.
    if file.base.is_some() {
        return file.parse(None).map(Some).map_err(bad);
    }
    match file.parse(None) {
        Ok(btf) => Ok(Some(btf)),
        Err(e) if is_split_without_base(&e) => {
            let Some(base) = args.btf.clone().or_else(|| find_base(path)) else {
                return if args.resolve { Err(missing_base_of(path, &e)) } else { Ok(None) };
            };
            let base = Arc::new(read_file(&base, None)?);
            file.parse(Some(&base)).map(Some).map_err(bad)
        }
        Err(e) => Err(bad(e)),
    }
}

/// Creates the error for a module whose base is not known.
fn missing_base_of(path: &Path, e: &TargetError) -> BadInput {
    BadInput::from(missing_base(path, Some(e))).help("give its kernel with --btf PATH")
}

/// Prints the lists and sets, with the types of their ids, and the problems.
fn show(console: &mut Console<'_>, ids: &BtfIds<'_>, btf: Option<&Btf<'_>>) -> io::Result<()> {
    let is_resolved = ids.is_resolved();
    let problems = match btf {
        Some(btf) if is_resolved => ids.check(btf),
        _ => vec![Vec::new(); ids.sets().len()],
    };
    for (set, problems) in ids.sets().iter().zip(problems) {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            console.raise_exit(ExitStatus::Incompatible);
        }
        let kind = match set.kind {
            IdSetKind::List => "list",
            IdSetKind::Set => "set",
            IdSetKind::FlagSet => "set8",
        };
        let slots = set.slots.iter().map(|slot| SlotJson {
            id: slot.id.0,
            ty: slot_type(set, slot, btf, is_resolved),
            flags: slot.flags,
        });
        let set = SetJson {
            set: describe::name(set.name),
            kind,
            count: set.count,
            flags: set.flags,
            ids: slots.collect(),
            problems,
        };
        if console.format == Format::Json {
            console.out.json(&set)?;
        } else {
            print_set(console, &set)?;
        }
    }
    Ok(())
}

/// Returns the kind and name of the type in a slot. Symbols name the slots of lists, and of sets that are not
/// sorted yet.
fn slot_type(set: &IdSet<'_>, slot: &IdSlot, btf: Option<&Btf<'_>>, is_resolved: bool) -> Option<String> {
    if let Some(ty) = btf.and_then(|btf| btf.ty(slot.id)).filter(|_| slot.id != TypeId::VOID) {
        return Some(format!("{} {}", ty.kind(), ty.name()));
    }
    if is_resolved && set.kind != IdSetKind::List {
        return None;
    }
    let at = set.names.binary_search_by_key(&slot.offset, |name| name.offset).ok()?;
    let name = set.names.get(at)?;
    Some(format!("{} {}", name.kind, Name::new(name.name)))
}

fn print_set(console: &mut Console<'_>, set: &SetJson) -> io::Result<()> {
    let flags = |flags: Option<u32>| flags.map_or_else(String::new, |flags| format!(", flags {flags:#x}"));
    let (kind, n) = (set.kind, set.ids.len());
    let head = format!(" {}: {n} ids{}", set.set, flags(set.flags));
    console.out.line(Line::new().styled(style::BOLD, kind).text(head))?;
    for SlotJson { id, ty, flags: own_flags } in &set.ids {
        let ty = ty.as_deref().unwrap_or("-");
        console.out.line(Line::new().text(format_args!("  [{id}] {ty}{}", flags(*own_flags))))?;
    }
    for problem in &set.problems {
        console
            .out
            .line(Line::new().text("  ").styled(style::ERROR, "wrong").text(format_args!(": {problem}")))?;
    }
    Ok(())
}

/// Writes the file with its ids filled in, unless a type is missing.
fn resolve(
    console: &mut Console<'_>,
    args: &BtfIdsArgs,
    ids: &BtfIds<'_>,
    btf: &Btf<'_>,
    out: &OutputPath,
) -> CommandResult {
    let resolved = ids.resolve(btf).map_err(|e| BadInput::for_path(&args.path, e))?;
    let text = |names: &[core_relo_loader::btf_ids::UnresolvedName<'_>]| -> Vec<String> {
        names.iter().map(|name| format!("{} {}", name.kind, Name::new(name.name))).collect()
    };
    let (missing, ambiguous) = (text(&resolved.missing), text(&resolved.ambiguous));
    let is_written = missing.is_empty() || args.allow_missing;
    if is_written {
        output::write(out, &resolved.file)?;
    } else {
        console.raise_exit(ExitStatus::Incompatible);
    }
    let report = WrittenJson {
        output: is_written.then(|| escape_path(out)),
        resolved: resolved.resolved,
        missing,
        ambiguous,
    };
    Ok(print_written(console, &args.path, &report)?)
}

fn print_written(console: &mut Console<'_>, path: &Path, report: &WrittenJson) -> io::Result<()> {
    if console.format == Format::Json {
        return console.out.json(report);
    }
    let place = escape_path(path);
    for name in &report.missing {
        console.err.line(
            Line::new().styled(style::ERROR, "missing").text(format_args!(": {place}: no {name} in the BTF")),
        )?;
    }
    for name in &report.ambiguous {
        console.note(&format!("{place}: the BTF has several {name}; the first was taken"))?;
    }
    let (resolved, missing) = (report.resolved, report.missing.len());
    match &report.output {
        Some(output) => console.out.line(
            Line::new()
                .styled(style::GOOD, "written")
                .text(format_args!(": {output}: {resolved} ids resolved, {missing} missing")),
        ),
        None => console.err.line(Line::new().styled(style::ERROR, "core-relo").text(format_args!(
            ": {place}: nothing written: {missing} types are missing; --allow-missing leaves their ids 0"
        ))),
    }
}
