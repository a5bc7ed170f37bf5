//! `cgroup list` and `cgroup tree`: the programs of cgroups.

mod query;

use crate::{
    args::attachments::{CgroupCommand, CgroupListArgs},
    console::Console,
    describe::short_type_name,
    error::{BadInput, CommandResult},
    format::Format,
    text::{
        line::Line,
        style::{BOLD, DIM},
    },
};
use core_relo_loader::inventory::mounts;
pub(crate) use query::open_directory;
use query::{CgroupError, CgroupProgram, CgroupQuery};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(crate) fn run(console: &mut Console<'_>, command: &CgroupCommand) -> CommandResult {
    let (args, is_tree) = match command {
        CgroupCommand::List(args) => (args, false),
        CgroupCommand::Tree(args) => (args, true),
    };
    let root = args.path.clone().map_or_else(find_root, Ok)?;
    let mut query = CgroupQuery::new(args.effective);
    let programs = query.programs(&root).map_err(CgroupError::into_bad_input)?;
    let mut printed = print(console, args, &programs)?;
    if is_tree {
        printed |= print_descendants(console, args, &mut query, &root)?;
    }
    if !printed && args.format == Format::Text {
        console.out.line("no programs are attached")?;
    }
    Ok(())
}

/// Returns the mount point of the first mounted cgroup2.
fn find_root() -> Result<PathBuf, BadInput> {
    const MOUNTS: &str = "/proc/self/mounts";
    let found = mounts("cgroup2").map_err(|e| BadInput::new(MOUNTS, format_args!("cannot read it: {e}")))?;
    let first = found.into_iter().next().map(|mount| mount.dir);
    first.ok_or_else(|| {
        BadInput::new(MOUNTS, "no cgroup2 is mounted").help("mount -t cgroup2 none /sys/fs/cgroup")
    })
}

/// Prints the programs of the cgroups below `root`, each directory before those in it. Returns whether there
/// are any.
///
/// The stack has the directories that are still to be visited, so neither memory nor descriptors grow with
/// the depth.
fn print_descendants(
    console: &mut Console<'_>,
    args: &CgroupListArgs,
    query: &mut CgroupQuery,
    root: &Path,
) -> io::Result<bool> {
    let mut is_any = false;
    let mut stack = Vec::new();
    push_children(console, root, &mut stack)?;
    while let Some(path) = stack.pop() {
        match query.programs(&path) {
            Ok(programs) => is_any |= print(console, args, &programs)?,
            // The cgroup was removed since its directory was read.
            Err(CgroupError::Gone(_)) => continue,
            Err(CgroupError::Bad(bad)) => {
                console.report_error(&bad)?;
                continue;
            }
        }
        push_children(console, &path, &mut stack)?;
    }
    Ok(is_any)
}

/// Adds the cgroups in a cgroup to the stack, so that the first by name is on top.
fn push_children(console: &mut Console<'_>, path: &Path, stack: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut children = Vec::new();
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => {
            return console.report_error(&BadInput::for_path(path, format_args!("cannot be read: {e}")));
        }
    };
    for entry in entries {
        match entry {
            Ok(entry) if entry.file_type().is_ok_and(|kind| kind.is_dir()) => children.push(entry.path()),
            Ok(_) => {}
            // The cgroup was removed.
            Err(_) => break,
        }
    }
    children.sort_by(|a, b| b.cmp(a));
    stack.append(&mut children);
    Ok(())
}

/// Prints the programs of a cgroup. Returns whether there are any.
fn print(console: &mut Console<'_>, args: &CgroupListArgs, programs: &[CgroupProgram]) -> io::Result<bool> {
    let Some(first) = programs.first() else { return Ok(false) };
    if args.format == Format::Json {
        programs.iter().try_for_each(|program| console.out.json(program))?;
        return Ok(true);
    }
    console.out.line(Line::new().styled(BOLD, &first.cgroup))?;
    for program in programs {
        let attach_type = short_type_name(program.attach_type);
        let flags = program.attach_flags.as_deref().unwrap_or("");
        let line = Line::new().text("    ").column(8, program.prog_id).column(26, attach_type);
        let mut line = line.column(10, flags).text(program.name.as_deref().unwrap_or("?"));
        if let Some(function) = &program.attach_btf_name {
            line = line.styled(DIM, format_args!("  on {function}"));
        }
        console.out.line(line)?;
    }
    Ok(true)
}
