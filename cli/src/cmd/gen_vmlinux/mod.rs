//! `gen vmlinux`: generates a header with the kernel types that objects and sources use.

mod source;

use crate::{
    args::gen_vmlinux::GenVmlinuxArgs,
    cmd::btf::{header::matching_types, read::read_file},
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    input::object::ObjectFile,
    output,
    text::{line::Line, style},
};
use core_relo::{
    btf::{Btf, CHeader, HeaderRoots},
    ext::RelocKind,
};
use core_relo_dwarf::{EncodeError, EncodeSettings, encode};
use std::path::Path;

pub(crate) fn run(console: &mut Console<'_>, args: &GenVmlinuxArgs) -> CommandResult {
    let (text, notes) = generate(args)?;
    output::write(&args.output, text.as_bytes())?;
    for note in notes {
        console.note(&note)?;
    }
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let lines = text.lines().count();
    Ok(console.out.line(
        Line::new()
            .styled(style::GOOD, "written")
            .text(format_args!(": {}: {lines} lines", escape_path(&args.output))),
    )?)
}

/// Returns the header, and notes: what could not be read, names that the kernel does not have, and sources
/// that do not compile with the header.
fn generate(args: &GenVmlinuxArgs) -> Result<(String, Vec<String>), BadInput> {
    let (mut roots, mut notes, mut sources) = (HeaderRoots::new(), Vec::new(), Vec::new());
    let kernel = read_file(&args.btf, None)?;
    for path in &args.inputs {
        if path.extension().is_some_and(|extension| extension == "c") {
            source::add(&mut roots, path, &kernel, args)?;
            sources.push(path);
        } else {
            notes.extend(add_object(&mut roots, path)?);
        }
    }
    let mut ids = roots.resolve(&kernel);
    ids.extend(matching_types(&kernel, &args.root, &escape_path(&args.btf))?);
    let header = CHeader::with_roots(&kernel, ids).assertions(args.assertions);
    notes.extend(roots.missing().map(|name| format!("the kernel does not have `{name}`")));
    let text = header.to_string();
    for found in roots.redefinitions(&text) {
        // The numbers are those of the calls above.
        let path = sources.get(found.source).ok_or_else(|| BadInput::new("sources", "one is missing"))?;
        notes.push(source::redefinition_note(path, &found.names));
    }
    Ok((text, notes))
}

/// Adds the types that an object uses: those of its BTF, and of its debug information, if it has some.
/// Returns a note about debug information that cannot be read.
fn add_object(roots: &mut HeaderRoots, path: &Path) -> Result<Option<String>, BadInput> {
    let file = ObjectFile::read(path)?;
    let object = file.parse()?;
    let btf = object
        .btf()
        .ok_or_else(|| BadInput::new(&*file.name, "has no BTF").help("compile the object with -g"))?;
    let relocs = file.relocs_or_none(&object)?;
    // A local id is that of a type of the object.
    let accesses = relocs.records().iter().filter(|record| record.relo.kind != RelocKind::TypeIdLocal);
    roots.add_object(btf, accesses.map(|record| record.relo.root));
    // The types of local variables, and enums whose enumerators are constants in the code.
    let unread = |e: &dyn core::fmt::Display| {
        Ok(Some(format!("{}: the types of its debug information are missing: {e}", file.name)))
    };
    let encoded = match encode(file.bytes(), &EncodeSettings::default()) {
        Ok(encoded) => encoded,
        Err(EncodeError::NoDebugInfo) => return Ok(None),
        Err(e) => return unread(&e),
    };
    match Btf::parse(encoded.bytes) {
        Ok(types) => roots.add_object(&types, []),
        Err(e) => return unread(&e),
    }
    Ok(None)
}
