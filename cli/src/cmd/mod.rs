//! The commands.

pub(crate) mod about;
pub(crate) mod btf;
pub(crate) mod btf_kernel;
pub(crate) mod check;
mod check_block;
pub(crate) mod demo;
pub(crate) mod explain;
mod fleet;
pub(crate) mod r#gen;
pub(crate) mod inspect;
mod inspect_globals;
mod kept;
pub(crate) mod link;
pub(crate) mod load;
mod load_json;
#[cfg(test)]
mod load_tests;
pub(crate) mod map;
pub(crate) mod map_dump;
pub(crate) mod patch;
pub(crate) mod plan;
pub(crate) mod prog;
pub(crate) mod prog_dump;
pub(crate) mod resume;
mod resume_read;
pub(crate) mod run;
mod same;
mod verifier_log;

use crate::{
    app::{App, Exit},
    args::Targets,
    error::BadInput,
    input::{
        object::ObjectFile,
        target::{Kernel, Selection},
    },
};
use core_relo::{Plan, plan::Summary};
use std::{io, ops::ControlFlow, path::Path};

/// Plans the object at `path` on each kernel; what is bad is reported and left out.
fn each_plan(
    app: &mut App<'_>,
    path: &Path,
    targets: &Targets,
    each: impl FnMut(&mut App<'_>, &ObjectFile, &Kernel, &Plan<'_>) -> io::Result<()>,
) -> io::Result<()> {
    match ObjectFile::read(path) {
        Ok(file) => each_of_plans(app, &file, &Selection::of(targets), each),
        Err(bad) => app.fail(&bad),
    }
}

/// Plans one object on each kernel of a selection; what is bad is reported and left out, but for a kernel of the other byte
/// order, which is reported and planned on.
fn each_of_plans(
    app: &mut App<'_>,
    file: &ObjectFile,
    selection: &Selection,
    mut each: impl FnMut(&mut App<'_>, &ObjectFile, &Kernel, &Plan<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let object = match file.parse() {
        Ok(object) => object,
        Err(bad) => return app.fail(&bad),
    };
    let relocs = match file.relocs(&object) {
        Ok(relocs) => relocs,
        Err(bad) => return app.fail(&bad),
    };
    selection.notes.iter().try_for_each(|note| app.note(note))?;
    selection.bad.iter().try_for_each(|place| app.fail(&place.bad))?;
    for place in &selection.places {
        let mut written = Ok(());
        let mut on_kernel = |app: &mut App<'_>, opened: Result<Kernel, BadInput>| match opened {
            Err(bad) => app.fail(&bad),
            Ok(mut kernel) => {
                // The object will not load there, and still there is an answer for each relocation.
                if let Err(bad) = kernel.check_order(object.endian()) {
                    app.complain(&bad)?;
                }
                kernel.complete_for(&[&relocs]);
                let plan = Plan::new(&relocs, &kernel.target);
                app.end_with(exit_of(plan.summary()));
                each(app, file, &kernel, &plan)
            }
        };
        let note = selection.kernels(place, &mut |opened| {
            written = on_kernel(app, opened);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        note.iter().try_for_each(|note| app.note(note))?;
    }
    Ok(())
}

fn exit_of(summary: Summary) -> Exit {
    if summary.is_clean() { Exit::Resolved } else { Exit::Unresolved }
}

/// `12 kept, 3 patched, 1 poisoned`: what there is.
fn counts(summary: Summary) -> String {
    let parts = [
        (summary.kept, "kept"),
        (summary.patched, "patched"),
        (summary.poisoned, "poisoned"),
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
    ];
    let said: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if said.is_empty() { "no CO-RE relocations".to_owned() } else { said.join(", ") }
}

/// A program that an object does not have.
fn no_such_program(file: &ObjectFile, plan: &Plan<'_>, wanted: &str) -> BadInput {
    let functions = plan.relocs().code().iter().flat_map(|section| &section.functions);
    let names: Vec<_> = functions.map(|f| crate::json::text(f.name)).collect();
    BadInput::new(&*file.name, format_args!("no program `{wanted}`"))
        .help(format!("it has {}", names.join(", ")))
}

/// Whether an object has a program or subprogram of this name.
fn has_program(plan: &Plan<'_>, wanted: &str) -> bool {
    plan.relocs().code().iter().flat_map(|s| &s.functions).any(|f| f.name == wanted.as_bytes())
}
