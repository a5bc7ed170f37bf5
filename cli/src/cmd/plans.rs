//! The plans of one object on several kernels, for `plan`, `explain` and `demo`.

use crate::{
    args::relocate::KernelArgs,
    console::{Console, ExitStatus},
    describe,
    error::BadInput,
    input::{
        kernel::{parsed::Kernel, selection::Selection},
        object::ObjectFile,
    },
};
use core_relo::{Plan, plan::Summary};
use std::{io, ops::ControlFlow, path::Path};

/// A function that prints a plan.
type PlanWriter<'f> = &'f mut dyn FnMut(&mut Console<'_>, &ObjectFile, &Kernel, &Plan<'_>) -> io::Result<()>;

/// Plans the object at `path` on each kernel, and passes the plans to `write`. Bad input is reported.
pub(crate) fn for_each_kernel(
    console: &mut Console<'_>,
    path: &Path,
    kernels: &KernelArgs,
    write: PlanWriter<'_>,
) -> io::Result<()> {
    match ObjectFile::read(path) {
        Ok(file) => for_each_selected(console, &file, &Selection::new(kernels), write),
        Err(bad) => console.fail(&bad),
    }
}

/// Plans an object on each kernel of a selection, and passes the plans to `write`. Bad input is reported.
///
/// A kernel of the other byte order is reported and planned: the object does not load there, but each relocation has a result.
pub(crate) fn for_each_selected(
    console: &mut Console<'_>,
    file: &ObjectFile,
    selection: &Selection,
    write: PlanWriter<'_>,
) -> io::Result<()> {
    let object = match file.parse() {
        Ok(object) => object,
        Err(bad) => return console.fail(&bad),
    };
    let relocs = match file.relocs(&object) {
        Ok(relocs) => relocs,
        Err(bad) => return console.fail(&bad),
    };
    selection.notes.iter().try_for_each(|note| console.note(note))?;
    selection.bad.iter().try_for_each(|source| console.fail(&source.bad))?;
    let mut plan_on = |console: &mut Console<'_>, kernel: Result<Kernel, BadInput>| match kernel {
        Err(bad) => console.fail(&bad),
        Ok(mut kernel) => {
            if let Err(bad) = kernel.check_byte_order(object.endian()) {
                console.error(&bad)?;
            }
            kernel.add_wanted_modules(&[&relocs]);
            let plan = Plan::new(&relocs, &kernel.target);
            console.raise_exit(exit_status(plan.summary()));
            write(console, file, &kernel, &plan)
        }
    };
    for source in &selection.sources {
        let mut written = Ok(());
        let note = selection.visit_kernels(source, &mut |kernel| {
            written = plan_on(console, kernel);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        note.iter().try_for_each(|note| console.note(note))?;
    }
    Ok(())
}

/// Returns the exit status for a plan.
pub(crate) fn exit_status(summary: Summary) -> ExitStatus {
    if summary.is_clean() { ExitStatus::Resolved } else { ExitStatus::Unresolved }
}

/// Returns an error if the object has no program or subprogram of this name.
pub(crate) fn check_program(file: &ObjectFile, plan: &Plan<'_>, name: &str) -> Result<(), BadInput> {
    let functions = || plan.relocs().code().iter().flat_map(|section| &section.functions);
    if functions().any(|f| f.name == name.as_bytes()) {
        return Ok(());
    }
    let names: Vec<_> = functions().map(|f| describe::name(f.name)).collect();
    let bad = BadInput::new(&*file.name, format_args!("no program `{name}`"));
    Err(bad.help(format!("it has {}", names.join(", "))))
}
