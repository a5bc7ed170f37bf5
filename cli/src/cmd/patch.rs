//! `patch`: the object with its instructions relocated.

use super::{counts, explain::is_unresolved};
use crate::{
    app::{App, Exit},
    args::{self, Format},
    error::{BadInput, shown},
    input::{
        object::ObjectFile,
        target::{Kernel, Selection},
    },
    json_check::Unresolved,
    line::Line,
    output,
    render::style,
};
use core_relo::Plan;
use core_relo_loader::object::Object;
use serde::Serialize;
use std::io;

#[derive(Serialize)]
struct Patched<'a> {
    object: &'a str,
    target: &'a str,
    /// `null` if nothing was written.
    output: Option<String>,
    kept: usize,
    patched: usize,
    poisoned: usize,
    failed: usize,
    skipped: usize,
    relocations: Vec<Unresolved>,
}

pub(crate) fn run(app: &mut App<'_>, args: &args::Patch) -> io::Result<()> {
    let mut kernel = match kernel(app, args)? {
        Some(kernel) => kernel,
        None => return Ok(()),
    };
    let patched = (|| {
        let file = ObjectFile::read(&args.object)?;
        let object = file.parse()?;
        kernel.check_order(object.endian())?;
        patch(app, args, &file, &object, &mut kernel)
    })();
    patched.unwrap_or_else(|bad| app.fail(&bad))
}

/// The one kernel to patch for.
fn kernel(app: &mut App<'_>, args: &args::Patch) -> io::Result<Option<Kernel>> {
    let selection = Selection::of(&args.targets);
    selection.notes.iter().try_for_each(|note| app.note(note))?;
    selection.bad.iter().try_for_each(|place| app.fail(&place.bad))?;
    let opened = match &*selection.places {
        [] => return Ok(None),
        [place] => Kernel::open(place, &selection.modules, selection.limits),
        many => {
            let what = format!("{} kernels were given, an object is patched for one", many.len());
            Err(BadInput::new("--btf", what))
        }
    };
    match opened {
        Ok(kernel) => Ok(Some(kernel)),
        Err(bad) => app.fail(&bad).map(|()| None),
    }
}

/// Plans, reports, and writes unless a relocation fails.
fn patch(
    app: &mut App<'_>,
    args: &args::Patch,
    file: &ObjectFile,
    object: &Object<'_>,
    kernel: &mut Kernel,
) -> Result<io::Result<()>, BadInput> {
    let relocs = file.relocs(object)?;
    kernel.complete_for(&[&relocs]);
    let plan = Plan::new(&relocs, &kernel.target);
    let written = match plan.patched() {
        Err(_) => {
            app.end_with(Exit::Unresolved);
            false
        }
        Ok(patched) => {
            let names = plan.relocs().code().iter().map(|section| section.name);
            let sections = names.zip(patched.sections.iter().map(Vec::as_slice));
            let bytes = object.rewrite(sections).map_err(|e| BadInput::new(&*file.name, e))?;
            output::write(&args.output, &bytes)?;
            true
        }
    };
    Ok(report(app, args, file, kernel, &plan, written))
}

fn report(
    app: &mut App<'_>,
    args: &args::Patch,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &Plan<'_>,
    written: bool,
) -> io::Result<()> {
    let summary = plan.summary();
    if app.format == Format::Json {
        let patched = Patched {
            object: &file.name,
            target: &kernel.name,
            output: written.then(|| shown(&args.output)),
            kept: summary.kept,
            patched: summary.patched,
            poisoned: summary.poisoned,
            failed: summary.failed,
            skipped: summary.skipped,
            relocations: plan.iter().filter(is_unresolved).map(|p| Unresolved::new(&p)).collect(),
        };
        return app.out.json(&patched);
    }
    for planned in plan.iter().filter(is_unresolved) {
        let (u, style) = (Unresolved::new(&planned), style::of_outcome(style::outcome(&planned.decision())));
        let (outcome, place, program) = (u.outcome, u.record.shown_place(), u.record.shown_program());
        let access = &u.record.accessed.access;
        let rest = format!(": {place} {program}: {access}: {}", u.reason);
        app.err.line(Line::new().styled(style, outcome).text(rest))?;
    }
    let counts = counts(summary);
    match written {
        true => {
            let rest = format!(": {}: {} for {}: {counts}", shown(&args.output), file.name, kernel.name);
            app.out.line(Line::new().styled(style::GOOD, "written").text(rest))
        }
        false => {
            let rest = format!(": {}: nothing written: {counts}", file.name);
            app.err.line(Line::new().styled(style::ERROR, "core-relo").text(rest))
        }
    }
}
