//! Messages that `load` and `run` share.

use super::loaded_object::LoadedObject;
use crate::{
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    plan_error::{load_message, zero_extend_help},
    process::signals::TerminationSignals,
    text::{line::Line, printer::Printer, style::DIM},
};
use core_relo_loader::{
    load::{LoadError, Loaded},
    load_plan::{LoadPlanError, NamedPart},
};
use std::io;

/// Reports that a signal ended the command and that everything is undone. Ends the process by that signal.
pub(crate) fn end_by_signal(console: &mut Console<'_>, termination: TerminationSignals) -> CommandResult {
    let flushed = console.out.flush();
    let noted = console.note("ended by a signal; what was begun is undone");
    match termination.release() {
        Ok(()) => Ok(flushed.and(noted)?),
        Err(e) => Err(e.into()),
    }
}

/// Prints why the kernel refused an object, after `name`.
///
/// The library's message is escaped already.
pub(crate) fn print_refusal(out: &mut Printer<'_>, name: Line, e: &LoadError) -> io::Result<()> {
    let text = load_message(e);
    let (first, others) = text.split_once('\n').unwrap_or((&text, ""));
    out.line(name.formatted(first))?;
    others.lines().try_for_each(|line| out.line(Line::new().formatted(line)))
}

/// Prints why an object was refused, for commands that relocate with [`RelocationArgs`].
///
/// [`RelocationArgs`]: crate::args::relocate::RelocationArgs
pub(crate) fn print_load_refusal(out: &mut Printer<'_>, name: Line, e: &LoadError) -> io::Result<()> {
    print_refusal(out, name, e)?;
    zero_extend_help(e).iter().try_for_each(|help| out.line(format_args!("  help: {help}")))
}

/// Prints a verifier log.
pub(crate) fn print_log(out: &mut Printer<'_>, log: &str) -> io::Result<()> {
    let margin = Line::new().text("   ").styled(DIM, "|").text(" ");
    log.lines().try_for_each(|line| out.line(margin.clone().formatted(line)))
}

/// Prints why an object is loaded without BTF.
pub(crate) fn print_btf_refusal(out: &mut Printer<'_>, loaded: &Loaded) -> io::Result<()> {
    match loaded.btf_refusal() {
        Some(refusal) => out.line(Line::new().text("  btf      not loaded: ").text(refusal)),
        None => Ok(()),
    }
}

/// Prints the links of an object, with their pins.
pub(super) fn print_links(out: &mut Printer<'_>, object: &LoadedObject) -> io::Result<()> {
    for link in &object.links {
        let name = link.label();
        match link.pin_path() {
            Some(path) => out.line(format_args!("  link     {name}, pinned at {}", escape_path(path)))?,
            None => out.line(format_args!("  link     {name}"))?,
        }
    }
    Ok(())
}

/// Returns the error for a program or map that the arguments name and the object does not have.
pub(crate) fn unknown_name(file: &str, e: &LoadError) -> Option<BadInput> {
    match e {
        LoadError::Plan { cause: cause @ LoadPlanError::NoSuch { kind, name, .. }, .. } => {
            let bad = BadInput::new(file, cause.to_string());
            let is_program = matches!(kind, NamedPart::Program | NamedPart::PlannedProgram);
            Some(if is_program { bad.for_program(name) } else { bad })
        }
        _ => None,
    }
}
