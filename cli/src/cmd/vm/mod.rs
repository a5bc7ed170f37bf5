//! `vm`: loads objects on other kernels, in QEMU.

pub(crate) mod guest_load;
mod guest_setup;
mod user_command;

use crate::{
    args::{format::Format, vm::VmArgs},
    console::{Console, ExitStatus},
    error::escape_path,
    input::object::ObjectFile,
    json::vm as json,
    text::{
        line::Line,
        style::{BOLD, DIM, ERROR, GOOD},
    },
};
use core_relo_vm::KernelImage;
use guest_load::{GuestLoad, ObjectPrograms, Reality, load_in_guest};
use guest_setup::{new_guest, report_failure};
use std::{
    io,
    path::{Path, PathBuf},
};

pub(crate) fn run(console: &mut Console<'_>, args: &VmArgs) -> io::Result<()> {
    if !args.command.is_empty() {
        return user_command::run(console, args);
    }
    let objects = read_objects(console, &args.objects)?;
    if objects.is_empty() {
        return Ok(());
    }
    for path in &args.kernel {
        let loads = KernelImage::open(path)
            .and_then(|kernel| load_in_guest(new_guest(args, kernel.arch())?, &kernel, &objects));
        match loads {
            Ok(loads) => report(console, path, &loads)?,
            Err(error) => report_failure(console, &error)?,
        }
    }
    Ok(())
}

/// Reads the objects on the host, so that bad input is reported before a boot.
fn read_objects(console: &mut Console<'_>, paths: &[PathBuf]) -> io::Result<Vec<ObjectPrograms>> {
    let mut objects = Vec::new();
    for path in paths {
        let programs = ObjectFile::read(path).and_then(|file| {
            let object = file.parse()?;
            let programs = object.programs().iter().filter(|program| !program.is_subprogram);
            Ok(programs.map(|program| String::from_utf8_lossy(program.name()).into_owned()).collect())
        });
        match programs {
            Ok(programs) => objects.push(ObjectPrograms { path: path.clone(), programs }),
            Err(bad) => console.report_error(&bad)?,
        }
    }
    Ok(objects)
}

/// Returns the first line of a message. A heading of a list is followed by the first entry.
fn first_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    match (lines.next(), lines.next()) {
        (Some(heading), Some(entry)) if heading.ends_with(':') => format!("{heading} {entry}"),
        (line, _) => line.unwrap_or_default().to_owned(),
    }
}

/// Prints a line for each program.
fn report(console: &mut Console<'_>, kernel: &Path, loads: &GuestLoad) -> io::Result<()> {
    for program in &loads.programs {
        match program.reality {
            Reality::Loaded => {}
            Reality::Refused(_) => console.raise_exit(ExitStatus::Incompatible),
            Reality::Unknown(_) => console.raise_exit(ExitStatus::Error),
        }
        if console.format == Format::Json {
            console.out.json(&json::ProgramOutcome::new(kernel, &loads.release, program))?;
            continue;
        }
        let (style, word) = match program.reality {
            Reality::Loaded => (GOOD, "loaded"),
            Reality::Refused(_) => (ERROR, "refused"),
            Reality::Unknown(_) => (ERROR, "unknown"),
        };
        let line = Line::new().styled(style, format_args!("{word:<9}")).column(22, &loads.release);
        let line =
            line.text(" ").text(escape_path(&program.object)).text(": ").styled(BOLD, &program.program);
        let line = match program.reality.reason() {
            Some(reason) => line.text(": ").text(first_line(reason)),
            None => line,
        };
        console.out.line(line)?;
    }
    for line in loads.diagnostics.lines() {
        console.err.line(Line::new().styled(DIM, line))?;
    }
    console.out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_followed_by_its_first_entry() {
        assert_eq!(first_line("p: no\nmore"), "p: no");
        assert_eq!(first_line("unresolved externs:\n  a: x\n  b: y"), "unresolved externs: a: x");
        assert_eq!(first_line(""), "");
    }
}
