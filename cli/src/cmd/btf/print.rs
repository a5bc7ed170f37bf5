//! `btf print`: bytes as values of a type.

use super::read::{BtfOfFile, read_file_of_format};
use crate::{
    args::btf::BtfPrintArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::limits::MAX_VALUE_BYTES,
    long_double,
    text::line::Line,
    type_name::find_type,
};
use core_relo::{
    btf::{Btf, Kind, Type, Value},
    explain::CType,
};
use core_relo_kernels::file;
use serde::Serialize;
use std::io;

/// The JSON line of a value.
#[derive(Serialize)]
struct ValueLine<'a> {
    type_id: u32,
    #[serde(rename = "type")]
    type_name: String,
    /// The position of the value in the data, in bytes.
    offset: usize,
    value: &'a Value<'a>,
    /// The number of bytes that the data lacks.
    missing_bytes: usize,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfPrintArgs) -> CommandResult {
    let BtfOfFile { btf, format } = read_file_of_format(&args.path, args.base.as_deref())?;
    let data = file::read(&args.data, MAX_VALUE_BYTES)?;
    let bad = |what| BadInput::for_path(&args.path, what);
    let ty = find_type(&btf, &args.ty).map_err(bad)?;
    let Some(size) = value_size(&btf, ty) else {
        let what = format!("a type of the kind {:?} has no values: `{}`", ty.kind(), args.ty);
        return Err(bad(what).into());
    };
    if args.array && size == 0 {
        let what = format!("a type of 0 bytes cannot be the element of --array: `{}`", args.ty);
        return Err(bad(what).into());
    }
    let values: Box<dyn Iterator<Item = &[u8]>> = match args.array {
        true => Box::new(data.chunks(size.max(1))),
        false => Box::new(std::iter::once(&*data)),
    };
    let mut offset = 0usize;
    let long_double = long_double::of_file(&btf, format);
    for bytes in values {
        let value = btf.value(ty.id(), bytes).long_double(long_double);
        write_value(console, args, &value, offset, size)?;
        offset = offset.saturating_add(bytes.len());
    }
    if !args.array && !has_flexible_array(&btf, ty) && data.len() > size {
        let help =
            if size > 0 && data.len().is_multiple_of(size) { "; --array prints them as values" } else { "" };
        let rest = data.len().saturating_sub(size);
        console.note(&format!("{}: {rest} bytes follow the value{help}", escape_path(&args.data)))?;
    }
    Ok(())
}

/// Prints one value.
fn write_value(
    console: &mut Console<'_>,
    args: &BtfPrintArgs,
    value: &Value<'_>,
    offset: usize,
    size: usize,
) -> io::Result<()> {
    let missing_bytes = size.saturating_sub(value.bytes().len());
    match args.format {
        Format::Json => console.out.json(&ValueLine {
            type_id: value.ty().0,
            type_name: CType::new(value.btf(), value.ty()).to_string(),
            offset,
            value,
            missing_bytes,
        })?,
        Format::Text => {
            let indent = args.indent.map_or_else(|| "\t".to_owned(), |spaces| " ".repeat(spaces.into()));
            let text = value.text().types(args.types).names(!args.skip_names).zeroes(!args.skip_zeroes);
            let text = text.indent_unit(&indent);
            let text = if args.compact { text.to_string() } else { format!("{text:#}") };
            text.lines().try_for_each(|line| console.out.line(Line::new().formatted(line)))?;
        }
    }
    if missing_bytes > 0 {
        console.raise_exit(ExitStatus::Incompatible);
        let (data, len) = (escape_path(&args.data), value.bytes().len());
        console
            .warn(&format!("{data}: offset {offset}: the value is cut off: {len} bytes, expected {size}"))?;
    }
    Ok(())
}

/// Returns the size of a type's values in bytes; `None` if the type has no values.
fn value_size(btf: &Btf<'_>, ty: Type<'_>) -> Option<usize> {
    let size = match ty.kind() {
        Kind::Datasec => section_size(ty)?,
        Kind::Var => btf.size_of(ty.target()?).ok()?.0,
        _ => btf.size_of(ty.id()).ok()?.0,
    };
    usize::try_from(size).ok()
}

/// Returns the size of a section in bytes. Compilers leave it 0 until the loader knows it, so that the
/// variables count, too.
fn section_size(ty: Type<'_>) -> Option<u32> {
    let ends = ty.secinfos().map(|info| info.offset.checked_add(info.size));
    ends.chain([ty.size().map(|size| size.0)]).try_fold(0, |size, end| Some(size.max(end?)))
}

/// Returns whether the last member of a struct is an array without elements, or the type is such an array.
fn has_flexible_array(btf: &Btf<'_>, ty: Type<'_>) -> bool {
    let is_flexible = |id| btf.strip(id).ok().and_then(Type::array).is_some_and(|array| array.nelems == 0);
    let last =
        btf.strip(ty.id()).ok().filter(|ty| ty.kind() == Kind::Struct).and_then(|ty| ty.members().last());
    is_flexible(ty.id()) || last.is_some_and(|member| is_flexible(member.ty))
}
