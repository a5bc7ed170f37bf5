//! `gen vmlinux`: generates a header with the kernel types that objects use.

use crate::{
    args::gen_vmlinux::GenVmlinuxArgs,
    cmd::btf::{header::matching_types, read::read_file},
    console::Console,
    error::{BadInput, escape_path},
    input::object::ObjectFile,
    output,
    text::{line::Line, style},
};
use core_relo::{
    btf::{CHeader, HeaderRoots},
    ext::RelocKind,
};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, args: &GenVmlinuxArgs) -> io::Result<()> {
    let (text, missing) = match generate(args) {
        Ok(generated) => generated,
        Err(bad) => return console.report_error(&bad),
    };
    if let Err(bad) = output::write(&args.output, text.as_bytes()) {
        return console.report_error(&bad);
    }
    for name in missing {
        console.note(&format!("the kernel does not have `{name}`"))?;
    }
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let lines = text.lines().count();
    console.out.line(
        Line::new()
            .styled(style::GOOD, "written")
            .text(format_args!(": {}: {lines} lines", escape_path(&args.output))),
    )
}

/// Returns the header, and the names that the kernel does not have.
fn generate(args: &GenVmlinuxArgs) -> Result<(String, Vec<String>), BadInput> {
    let mut roots = HeaderRoots::new();
    for path in &args.objects {
        let file = ObjectFile::read(path)?;
        let object = file.parse()?;
        let btf = object
            .btf()
            .ok_or_else(|| BadInput::new(&*file.name, "has no BTF").help("compile the object with -g"))?;
        let relocs = file.relocs_or_none(&object)?;
        // A local id is that of a type of the object.
        let accesses = relocs.records().iter().filter(|record| record.relo.kind != RelocKind::TypeIdLocal);
        roots.add_object(btf, accesses.map(|record| record.relo.root));
    }
    let kernel = read_file(&args.btf, None)?;
    let mut ids = roots.resolve(&kernel);
    ids.extend(matching_types(&kernel, &args.root, &escape_path(&args.btf))?);
    let header = CHeader::with_roots(&kernel, ids).assertions(args.assertions);
    Ok((header.to_string(), roots.missing().map(|name| name.to_string()).collect()))
}
