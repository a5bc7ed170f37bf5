//! `btf offset`: a field by its path.

use super::read::read_source;
use crate::{
    args::{btf_query::BtfOffsetArgs, format::Format},
    console::Console,
    error::BadInput,
    text::line::Line,
};
use core_relo::btf::{CType, FieldStep, field_path};
use serde::Serialize;
use std::io;

/// A step of a path as JSON.
#[derive(Debug, Serialize)]
struct StepJson<'s> {
    path: &'s str,
    r#type: String,
    bit_offset: u32,
    bits: u64,
    is_bitfield: bool,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfOffsetArgs) -> io::Result<()> {
    let btf = match read_source(&args.source) {
        Ok(btf) => btf,
        Err(bad) => return console.report_error(&bad),
    };
    let steps = match field_path(&btf, &args.path) {
        Ok(steps) => steps,
        Err(error) => return console.report_error(&BadInput::new(&*args.path, error)),
    };
    let width = steps.iter().map(|step| step.path.chars().count()).max().unwrap_or_default();
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
