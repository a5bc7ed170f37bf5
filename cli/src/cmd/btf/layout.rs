//! `btf layout`: the members of a struct or union, with holes and cache lines.

use super::read::{find_type, read_source};
use crate::{
    args::btf_query::BtfLayoutArgs,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    text::{
        line::Line,
        style::{BOLD, DIM, WARNING},
    },
};
use core_relo::btf::{CType, Kind, Layout, LayoutPart, Type};
use serde::Serialize;
use std::io;

/// The structs that may contain each other in an expanded layout, and its members. Hostile types have any
/// number.
const DEPTH: usize = 16;
const MEMBERS: usize = 100_000;

/// A line of a layout.
#[derive(Debug, Serialize)]
struct Row {
    /// `member`, `hole` or `padding`.
    part: &'static str,
    bit_offset: u64,
    bits: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    r#type: String,
    is_bitfield: bool,
    depth: usize,
}

/// A layout as JSON.
#[derive(Debug, Serialize)]
struct LayoutJson<'r> {
    r#type: String,
    size: u64,
    holes: usize,
    hole_bits: u64,
    padding_bits: u64,
    cache_lines: u64,
    parts: &'r [Row],
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfLayoutArgs) -> CommandResult {
    let btf = read_source(&args.source)?;
    let bad = |cause| BadInput::new(&*args.ty, cause);
    let ty = btf.strip(find_type(&btf, &args.ty)?.id()).map_err(bad)?;
    if !ty.kind().is_composite() {
        return Err(BadInput::new(&*args.ty, "no struct or union").into());
    }
    let layout = Layout::new(ty).map_err(bad)?;
    let mut rows = Vec::new();
    collect(ty, 0, 0, args.expand, &mut rows).map_err(bad)?;
    let size = layout.bits / 8;
    let summary = LayoutJson {
        r#type: CType::new(&btf, ty.id()).to_string(),
        size,
        holes: layout.holes().count(),
        hole_bits: layout.holes().map(|(_, bits)| bits).sum(),
        padding_bits: match layout.parts.last() {
            Some(LayoutPart::Padding { bits, .. }) => *bits,
            _ => 0,
        },
        cache_lines: size.div_ceil(args.cache_line.into()),
        parts: &rows,
    };
    match args.format {
        Format::Json => Ok(console.out.json(&summary)?),
        Format::Text => Ok(write_text(console, &summary, ty.kind(), args.cache_line.into())?),
    }
}

/// Collects the rows of a composite that begins at `start`, and with `expand` those of its members.
fn collect(
    ty: Type<'_>,
    start: u64,
    depth: usize,
    expand: bool,
    rows: &mut Vec<Row>,
) -> Result<(), core_relo::btf::WalkError> {
    for part in Layout::new(ty)?.parts {
        if rows.len() >= MEMBERS {
            return Ok(());
        }
        let gap = |part, offset: u64, bits| Row {
            part,
            bit_offset: start.saturating_add(offset),
            bits,
            name: String::new(),
            r#type: String::new(),
            is_bitfield: false,
            depth,
        };
        match part {
            LayoutPart::Hole { start: offset, bits } => rows.push(gap("hole", offset, bits)),
            LayoutPart::Padding { start: offset, bits } => rows.push(gap("padding", offset, bits)),
            LayoutPart::Member { member, extent } => {
                let offset = u64::from(extent.bit_offset.0);
                rows.push(Row {
                    name: member.name.to_string(),
                    r#type: CType::new(ty.btf(), member.ty).to_string(),
                    is_bitfield: extent.is_bitfield,
                    ..gap("member", offset, extent.bits)
                });
                let inner = ty.btf().strip(member.ty)?;
                // Anonymous members are part of the struct around them.
                if inner.kind().is_composite() && depth < DEPTH && (expand || member.name.is_empty()) {
                    collect(inner, start.saturating_add(offset), depth.saturating_add(1), expand, rows)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn write_text(
    console: &mut Console<'_>,
    layout: &LayoutJson<'_>,
    kind: Kind,
    cache_line: u64,
) -> io::Result<()> {
    let LayoutJson { size, holes, hole_bits, padding_bits, cache_lines, parts, .. } = layout;
    console.out.line(Line::new().styled(BOLD, &layout.r#type).text(" {"))?;
    console.out.line(Line::new().styled(DIM, "  offset   size"))?;
    let mut line = 0;
    for row in *parts {
        let at = row.bit_offset / 8 / cache_line;
        if kind == Kind::Struct && row.depth == 0 && at > line {
            line = at;
            let text = format!("  --- cache line {at}, byte {} ---", at.saturating_mul(cache_line));
            console.out.line(Line::new().styled(DIM, text))?;
        }
        let offset = match row.bit_offset % 8 {
            bit if row.is_bitfield || bit != 0 => format!("{}:{bit}", row.bit_offset / 8),
            _ => (row.bit_offset / 8).to_string(),
        };
        let is_bytes = row.bits.is_multiple_of(8) && !row.is_bitfield;
        let width = if is_bytes { (row.bits / 8).to_string() } else { format!(":{}", row.bits) };
        let start = Line::new().text(format_args!("{offset:>8} {width:>6}  {}", "  ".repeat(row.depth)));
        console.out.line(match row.part {
            "member" if row.name.is_empty() => start.text(&row.r#type),
            "member" => start.text(format_args!("{}: {}", row.name, row.r#type)),
            part => start.styled(WARNING, format_args!("({part})")),
        })?;
    }
    let bytes = |bits: u64| {
        if bits.is_multiple_of(8) { format!("{} bytes", bits / 8) } else { format!("{bits} bits") }
    };
    console.out.line("}")?;
    console.out.line(format!(
        "{size} bytes, {cache_lines} cache lines; {holes} holes of {}; padding of {}",
        bytes(*hole_bits),
        bytes(*padding_bits)
    ))
}
