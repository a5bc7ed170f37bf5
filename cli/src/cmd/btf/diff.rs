//! `btf diff`: the differences between the BTFs of two kernels.

use super::read::read_file;
use crate::{
    args::btf::BtfDiffArgs,
    cmd::verdicts::objects::with_needs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    format::Format,
    input::object::ObjectFile,
    text::{
        line::Line,
        printer::Printer,
        style::{BOLD, DIM, ERROR, GOOD},
    },
};
use core_relo_verdict::btf_diff::{
    Change, ChangeKind, Details, Filter, ItemKind, Member, ObjectUses, Side, TypeSide, diff,
};
use core_relo_verdict::loaders::LoaderKind;
use std::{io, path::Path};

pub(super) fn run(console: &mut Console<'_>, args: &BtfDiffArgs) -> CommandResult {
    let (old, new) = (read_file(&args.old, None)?, read_file(&args.new, None)?);
    let uses = collect_uses(&args.objects)?;
    let is_wanted = |kind: ItemKind, name: &[u8]| {
        let has_kind = args.kind.is_empty() || args.kind.iter().any(|wanted| wanted.0 == kind);
        let name = String::from_utf8_lossy(name);
        has_kind && (args.name.is_empty() || args.name.iter().any(|glob| glob.matches(&name)))
    };
    let changes = diff(&old, &new, &Filter { is_wanted: &is_wanted, uses: uses.as_ref() });
    if !changes.is_empty() {
        console.raise_exit(ExitStatus::Incompatible);
    }
    match args.format {
        Format::Json => Ok(changes.iter().try_for_each(|change| console.out.json(change))?),
        Format::Text => Ok(write_changes(&changes, &mut console.out)?),
    }
}

/// Returns what the objects use; `None` without objects.
fn collect_uses(objects: &[impl AsRef<Path>]) -> Result<Option<ObjectUses>, BadInput> {
    let mut uses = ObjectUses::default();
    for path in objects {
        let file = ObjectFile::read(path.as_ref())?;
        with_needs(LoaderKind::CoreRelo, &file, None, |needs, table, relocs| {
            uses.add_object(needs, table, Some(relocs))
        })?;
    }
    Ok((!objects.is_empty()).then_some(uses))
}

fn write_changes(changes: &[Change], out: &mut Printer<'_>) -> io::Result<()> {
    for (index, group) in changes.chunk_by(|a, b| a.kind == b.kind).enumerate() {
        if index > 0 {
            out.line("")?;
        }
        let count = |kind| group.iter().filter(|change| change.change == kind).count();
        let counts = [ChangeKind::Added, ChangeKind::Removed, ChangeKind::Changed];
        let counts = counts.map(|kind| (count(kind), kind.word()));
        let counts: Vec<_> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let title = group.first().map_or("", |change| plural(change.kind));
        out.line(Line::new().styled(BOLD, title).text(format_args!(": {}", counts.join(", "))))?;
        group.iter().try_for_each(|change| write_change(change, out))?;
    }
    Ok(())
}

const fn plural(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Struct => "Structs",
        ItemKind::Union => "Unions",
        ItemKind::Enum => "Enums",
        ItemKind::Typedef => "Typedefs",
        ItemKind::Function => "Functions",
        ItemKind::Kfunc => "Kfuncs",
        ItemKind::Tracepoint => "Tracepoints",
        ItemKind::Variable => "Variables",
        _ => "Others",
    }
}

fn write_change(change: &Change, out: &mut Printer<'_>) -> io::Result<()> {
    let Side { old, new } = &change.declaration;
    let has_parts = match &change.details {
        Details::Members(members) => !members.is_empty(),
        Details::Enumerators(values) => !values.is_empty(),
        _ => false,
    };
    if !has_parts {
        let side = |side: &TypeSide| with_note(format!("{};", side.text), side.size.map(bytes));
        return write_pair(old.as_ref().map(side), new.as_ref().map(side), out);
    }
    let (text, size) = (new.as_ref().map_or("", |new| &new.text), |side: &TypeSide| side.size);
    let note = match (old.as_ref().and_then(size), new.as_ref().and_then(size)) {
        (Some(old), Some(new)) if old != new => Some(format!("{} before, now {}", bytes(old), bytes(new))),
        (_, size) => size.map(bytes),
    };
    let head = with_note(format!("{text} {{"), note);
    out.line(Line::new().text("  ").text(head.0).styled(DIM, head.1))?;
    match &change.details {
        Details::Members(members) => {
            for member in members {
                let Side { old, new } = &member.member;
                let bits = |member: &Option<Member>| member.as_ref().and_then(|member| member.bits);
                let same_width = old.is_none() || new.is_none() || bits(old) == bits(new);
                let side = |member: &Member| {
                    let width = member.bits.filter(|_| !same_width && !member.is_bitfield);
                    let width = width.map_or_else(String::new, |bits| format!(", {}", bytes(bits / 8)));
                    with_note(format!("    {};", member.text), Some(format!("{}{width}", position(member))))
                };
                write_pair(old.as_ref().map(side), new.as_ref().map(side), out)?;
            }
        }
        Details::Enumerators(values) => {
            for enumerator in values {
                let side = |value: i128| (format!("    {} = {value},", enumerator.name), String::new());
                let Side { old, new } = enumerator.value;
                write_pair(old.map(|old| side(old.value)), new.map(|new| side(new.value)), out)?;
            }
        }
        _ => {}
    }
    out.line("  };")
}

/// Prints a line of the old kernel and a line of the new one.
fn write_pair(
    old: Option<(String, String)>,
    new: Option<(String, String)>,
    out: &mut Printer<'_>,
) -> io::Result<()> {
    for (side, sign, style) in [(old, "- ", ERROR), (new, "+ ", GOOD)] {
        let Some((text, note)) = side else { continue };
        out.line(Line::new().styled(style, sign).styled(style, text).styled(DIM, note))?;
    }
    Ok(())
}

/// Returns a text and a comment after it.
fn with_note(text: String, note: Option<String>) -> (String, String) {
    (text, note.map_or_else(String::new, |note| format!(" // {note}")))
}

fn bytes(size: impl Into<u64>) -> String {
    let size = size.into();
    format!("{size} byte{}", if size == 1 { "" } else { "s" })
}

/// Returns the offset of a member in bytes, and the bits of a bitfield.
fn position(member: &Member) -> String {
    let (byte, bit) = (member.bit_offset / 8, member.bit_offset % 8);
    let bit = if bit == 0 { String::new() } else { format!(", bit {bit}") };
    format!("offset {byte}{bit}")
}
