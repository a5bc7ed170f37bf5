//! `gen rust`: generates the Rust skeleton of an object.

use crate::{
    args::gen_rust::GenRustArgs,
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    input::object::ObjectFile,
    output,
    text::{line::Line, style},
};
use core_relo_build::skeleton::{Options, SkeletonError, generate};
use core_relo_loader::object::Object;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

pub(crate) fn run(console: &mut Console<'_>, args: &GenRustArgs) -> CommandResult {
    let lines = write_skeleton(args)?;
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    let text = format_args!(": {}: {lines} lines", escape_path(&args.output));
    Ok(console.out.line(Line::new().styled(style::GOOD, "written").text(text))?)
}

/// Writes the skeleton, and returns its number of lines.
fn write_skeleton(args: &GenRustArgs) -> Result<usize, BadInput> {
    let file = ObjectFile::read(&args.object)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => module_name(&args.object)?,
    };
    let mut options = Options::default();
    options.events.clone_from(&args.events);
    options.types.clone_from(&args.types);
    options.optional_maps.clone_from(&args.optional_map);
    (options.bytemuck, options.zerocopy) = (args.bytemuck, args.zerocopy);
    let path = include_path(&args.object, &args.output)?;
    let mut bytes = file.bytes();
    let other =
        args.other.as_deref().map(|path| Ok::<_, BadInput>((path, ObjectFile::read(path)?))).transpose()?;
    match &other {
        None => options.object_path = Some(path),
        Some((other_path, other)) => {
            let other_include = include_path(other_path, &args.output)?;
            let is_little =
                |bytes: &[u8]| Object::parse(bytes).is_ok_and(|o| o.endian() == core_relo::Endian::Little);
            // The skeleton's first object is the one for little-endian machines.
            let (first, second) = if is_little(file.bytes()) {
                ((file.bytes(), path), (other.bytes(), other_include))
            } else {
                ((other.bytes(), other_include), (file.bytes(), path))
            };
            bytes = first.0;
            options.object_path = Some(first.1);
            options.other_byte_order = Some((second.0.to_vec(), second.1));
        }
    }
    let text = generate(bytes, &name, &options).map_err(|error| bad_object(&file.name, &error))?;
    output::write(&args.output, text.as_bytes())?;
    Ok(text.lines().count())
}

fn bad_object(file: &str, error: &SkeletonError) -> BadInput {
    let bad = BadInput::new(file, error);
    match error {
        SkeletonError::NoSuchMap { .. } => bad.help("`core-relo inspect` lists the maps of an object"),
        SkeletonError::CrateName { .. } => bad.help("give the skeleton another name: --name NAME"),
        SkeletonError::NoSuchType { .. } => bad.help("`core-relo btf dump` prints the types of an object"),
        _ => bad,
    }
}

/// Returns the name of the module: the file's name without its extensions.
fn module_name(object: &Path) -> Result<String, BadInput> {
    let name = object.file_name().map(|name| name.to_string_lossy().into_owned());
    let stem = name
        .as_deref()
        .and_then(|name| name.split('.').next())
        .filter(|stem| !stem.is_empty() && *stem != "-");
    stem.map(str::to_owned).ok_or_else(|| {
        BadInput::for_path(object, "has no name for the skeleton's module").help("give a name: --name NAME")
    })
}

/// Returns the path of the object for `include_bytes!`: relative to the directory of the skeleton, or its
/// file name if the skeleton goes to stdout.
fn include_path(object: &Path, output: &Path) -> Result<String, BadInput> {
    let not_text = || BadInput::for_path(object, "its path is not UTF-8, which `include_bytes!` needs");
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(not_text);
    if output.as_os_str() == "-" {
        return text(Path::new(object.file_name().unwrap_or(object.as_os_str())));
    }
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (fs::canonicalize(object), fs::canonicalize(directory)) {
        (Ok(object), Ok(directory)) => text(&relative(&object, &directory)),
        // Stdin, or a directory that does not exist, which the write reports.
        _ => text(object),
    }
}

/// Returns the path from a directory to a file. Both are absolute.
fn relative(file: &Path, directory: &Path) -> PathBuf {
    let shared = file.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(file.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_found_from_the_skeleton() {
        let path = |file, directory| relative(Path::new(file), Path::new(directory));
        assert_eq!(path("/a/out/x.bpf.o", "/a/src"), Path::new("../out/x.bpf.o"));
        assert_eq!(path("/a/x.bpf.o", "/a"), Path::new("x.bpf.o"));
        assert_eq!(module_name(Path::new("el/exec_monitor.bpf.o")).ok().as_deref(), Some("exec_monitor"));
        assert!(module_name(Path::new("-")).is_err());
    }
}
