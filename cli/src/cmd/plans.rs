//! The plans of objects on several kernels, for `plan`, `explain` and `demo`.

use crate::{
    args::relocate::KernelArgs,
    cmd::verdicts::objects::plan_by_load,
    console::{Console, ExitStatus},
    describe,
    error::BadInput,
    input::{
        directory,
        kernel::{parsed::Kernel, selection::Selection},
        object::{ObjectBudget, ObjectFile},
    },
};
use core_relo::{CodeSection, Plan, Relocs, plan::Summary};
use core_relo_loader::object::Object;
use std::{io, iter, ops::ControlFlow, path::PathBuf};

/// A function that prints a plan.
type PlanWriter<'f> = &'f mut dyn FnMut(&mut Console<'_>, &ObjectFile, &Kernel, &Plan<'_>) -> io::Result<()>;

/// Plans the objects at `paths` on each kernel, and passes the plans to `write`. Bad input is reported.
pub(crate) fn for_each_kernel(
    console: &mut Console<'_>,
    paths: &[PathBuf],
    kernels: &KernelArgs,
    write: PlanWriter<'_>,
) -> io::Result<()> {
    let (mut files, budget) = (Vec::new(), ObjectBudget::default());
    for path in directory::find_objects(paths) {
        match path.and_then(|path| ObjectFile::read_within(&path, &budget)) {
            Ok(file) => files.push(file),
            Err(bad) => console.report_error(&bad)?,
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    for_each_selected(console, &files, &Selection::new(kernels), write)
}

/// Plans objects on each kernel of a selection, and passes the plans to `write`. Bad input is reported.
pub(crate) fn for_each_selected(
    console: &mut Console<'_>,
    files: &[ObjectFile],
    selection: &Selection,
    write: PlanWriter<'_>,
) -> io::Result<()> {
    let mut parsed = Vec::new();
    for file in files {
        match file.parse() {
            Ok(object) => parsed.push((file, object)),
            Err(bad) => console.report_error(&bad)?,
        }
    }
    let mut objects = Vec::new();
    for (file, object) in &parsed {
        match file.relocs(object) {
            Ok(relocs) => objects.push(PlannedObject { file, object, relocs }),
            Err(bad) => console.report_error(&bad)?,
        }
    }
    if objects.is_empty() {
        return Ok(());
    }
    selection.notes.iter().try_for_each(|note| console.note(note))?;
    selection.bad.iter().try_for_each(|source| console.report_error(&source.bad))?;
    for source in &selection.sources {
        let mut written = Ok(());
        let note = selection.visit_kernels(source, &mut |kernel| {
            written = match kernel {
                Ok(kernel) => objects.iter().try_for_each(|object| object.plan(console, &kernel, write)),
                Err(bad) => console.report_error(&bad),
            };
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        note.iter().try_for_each(|note| console.note(note))?;
    }
    Ok(())
}

/// An object to plan.
struct PlannedObject<'o> {
    file: &'o ObjectFile,
    object: &'o Object<'o>,
    relocs: Relocs<'o>,
}

impl PlannedObject<'_> {
    /// Plans the object on a kernel, and passes the plan to `write`.
    ///
    /// A kernel of the other byte order is reported and planned: the object does not load there, but each relocation has a result.
    fn plan(&self, console: &mut Console<'_>, kernel: &Kernel, write: PlanWriter<'_>) -> io::Result<()> {
        if let Err(bad) = kernel.check_byte_order(self.object.endian()) {
            console.report_error_on_stderr(&bad)?;
        }
        let plan = Plan::new(&self.relocs, &kernel.target);
        let with_modules = kernel.with_needed_modules(iter::once(&plan));
        let (kernel, plan) = match &with_modules {
            Some(kernel) => (kernel, Plan::new(&self.relocs, &kernel.target)),
            None => (kernel, plan),
        };
        let plan = plan_by_load(self.object, &self.relocs, plan);
        console.raise_exit(exit_status(plan.summary()));
        write(console, self.file, kernel, &plan)
    }
}

/// Returns the exit status for a plan.
pub(crate) fn exit_status(summary: Summary) -> ExitStatus {
    if summary.is_clean() { ExitStatus::Success } else { ExitStatus::Incompatible }
}

/// Returns an error if the object has no program or subprogram of this name.
pub(crate) fn check_program(file: &ObjectFile, code: &[CodeSection<'_>], name: &str) -> Result<(), BadInput> {
    let functions = || code.iter().flat_map(|section| &section.functions);
    if functions().any(|f| f.name == name.as_bytes()) {
        return Ok(());
    }
    let names: Vec<_> = functions().map(|f| describe::name(f.name)).collect();
    let bad = BadInput::new(&*file.name, format_args!("no program `{name}`"));
    Err(bad.help(format!("it has {}", names.join(", "))))
}
