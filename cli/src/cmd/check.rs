//! `check`: a line per object and kernel.

use super::{counts, exit_of};
use crate::{
    app::{self, App},
    args::{self, Format},
    error::BadInput,
    input::{
        object::ObjectFile,
        target::{Kernel, Place, Selection},
    },
    json::{self, Checked, ErrorText, Unresolved},
    render::{
        style::{self, DIM, painted},
        table::Columns,
    },
};
use core_relo::{Plan, Relocs, plan::Summary};
use core_relo_loader::object::Object;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use std::{collections::BTreeSet, io, path::PathBuf};

/// Reasons given in text; `explain` gives them all.
const REASONS: usize = 3;

/// Kernels from which on progress is shown.
const MANY: usize = 4;

pub(crate) fn run(app: &mut App<'_>, args: &args::Check) -> io::Result<()> {
    let files = read(app, &args.objects)?;
    let selection = Selection::of(&args.targets);
    check(app, &files, &selection)
}

/// Checks objects on kernels. What is bad is reported, the rest checked all the same.
pub(crate) fn check(app: &mut App<'_>, files: &[ObjectFile], selection: &Selection) -> io::Result<()> {
    let mut parsed = Vec::new();
    for file in files {
        match file.parse() {
            Ok(object) => parsed.push((file, object)),
            Err(bad) => bad_object(app, &bad)?,
        }
    }
    let mut objects = Vec::new();
    for (file, object) in &parsed {
        match file.relocs(object) {
            Ok(relocs) => objects.push(Subject { file, object, relocs }),
            Err(bad) => bad_object(app, &bad)?,
        }
    }
    selection.notes.iter().try_for_each(|note| app.note(note))?;
    selection.bad.iter().try_for_each(|bad| bad_kernel(app, bad))?;
    let progress = progress(selection.places.len());
    let results: Vec<_> = selection
        .places
        .par_iter()
        .map(|place| {
            let result = on_kernel(place, &selection.modules, &objects);
            progress.inc(1);
            result
        })
        .collect();
    progress.finish_and_clear();
    let mut kernels = Vec::new();
    for result in results {
        match result {
            Ok(kernel) => kernels.push(kernel),
            Err(bad) => bad_kernel(app, &bad)?,
        }
    }
    report(app, &objects, &kernels)
}

/// An object to be checked.
struct Subject<'o> {
    file: &'o ObjectFile,
    object: &'o Object<'o>,
    relocs: Relocs<'o>,
}

/// What every object came to on one kernel, in the objects' order.
struct OnKernel {
    name: String,
    results: Vec<Result<Outcome, BadInput>>,
}

/// What an object came to on a kernel.
struct Outcome {
    summary: Summary,
    unresolved: Vec<Unresolved>,
}

impl Outcome {
    fn verdict(&self) -> &'static str {
        match self.summary {
            s if s.failed > 0 => "failed",
            s if s.poisoned > 0 => "poisoned",
            _ => "ok",
        }
    }
}

fn read(app: &mut App<'_>, paths: &[PathBuf]) -> io::Result<Vec<ObjectFile>> {
    let mut files = Vec::new();
    for path in paths {
        match ObjectFile::read(path) {
            Ok(file) => files.push(file),
            Err(bad) => bad_object(app, &bad)?,
        }
    }
    Ok(files)
}

fn on_kernel(place: &Place, modules: &[PathBuf], objects: &[Subject<'_>]) -> Result<OnKernel, BadInput> {
    let mut kernel = Kernel::open(place, modules)?;
    let results = objects.iter().map(|subject| {
        kernel.check_order(subject.object.endian())?;
        kernel.complete_for(&subject.relocs);
        let plan = Plan::new(&subject.relocs, &kernel.target);
        let unresolved = plan.iter().filter(super::explain::is_unresolved);
        Ok(Outcome { summary: plan.summary(), unresolved: unresolved.map(|p| Unresolved::new(&p)).collect() })
    });
    let results = results.collect();
    Ok(OnKernel { name: kernel.name, results })
}

fn report(app: &mut App<'_>, objects: &[Subject<'_>], kernels: &[OnKernel]) -> io::Result<()> {
    let mut columns = Columns::new();
    let mut below = Vec::new();
    for (at, subject) in objects.iter().enumerate() {
        for kernel in kernels {
            let name = &subject.file.name;
            let outcome = match kernel.results.get(at) {
                Some(Ok(outcome)) => outcome,
                Some(Err(bad)) => {
                    bad_pair(app, name, &kernel.name, bad)?;
                    continue;
                }
                None => continue,
            };
            app.end_with(exit_of(outcome.summary));
            let verdict = outcome.verdict();
            match app.format {
                Format::Json => json::line(app.out, &checked(name, &kernel.name, outcome))?,
                Format::Text => {
                    let style = style::of_outcome(verdict);
                    let counts = counts(outcome.summary);
                    columns.row([&*painted(style, verdict), name, &kernel.name, &counts]);
                    below.push(reasons(outcome));
                }
            }
        }
    }
    for (line, reasons) in columns.lines().iter().zip(below) {
        writeln!(app.out, "{line}")?;
        reasons.iter().try_for_each(|reason| writeln!(app.out, "    {reason}"))?;
    }
    Ok(())
}

/// The first few different reasons, with their source lines.
fn reasons(outcome: &Outcome) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for u in &outcome.unresolved {
        if !seen.insert((u.place(), &u.access, &u.reason)) {
            continue;
        }
        if lines.len() < REASONS {
            let program = u.program.as_deref().unwrap_or(&u.section);
            let place = painted(DIM, u.place());
            lines.push(format!("{place} {program}: {}: {}", u.access, u.reason));
        }
    }
    if let Some(more) = seen.len().checked_sub(REASONS).filter(|more| *more > 0) {
        lines.push(painted(DIM, format_args!("… and {more} more, see `core-relo explain`")));
    }
    lines
}

fn checked<'a>(object: &'a str, target: &'a str, outcome: &'a Outcome) -> Checked<'a> {
    let s = outcome.summary;
    Checked {
        object: Some(object),
        target: Some(target),
        kept: s.kept,
        patched: s.patched,
        poisoned: s.poisoned,
        failed: s.failed,
        skipped: s.skipped,
        verdict: outcome.verdict(),
        relocations: &outcome.unresolved,
        error: None,
    }
}

fn bad_object(app: &mut App<'_>, bad: &BadInput) -> io::Result<()> {
    bad_line(app, Some(&bad.file), None, bad)?;
    app.complain(bad)
}

fn bad_kernel(app: &mut App<'_>, bad: &BadInput) -> io::Result<()> {
    bad_line(app, None, Some(&bad.file), bad)?;
    app.complain(bad)
}

fn bad_pair(app: &mut App<'_>, object: &str, kernel: &str, bad: &BadInput) -> io::Result<()> {
    bad_line(app, Some(object), Some(kernel), bad)?;
    let bad = BadInput { what: format!("{} ({object})", bad.what), ..bad.clone() };
    app.complain(&bad)
}

fn bad_line(app: &mut App<'_>, object: Option<&str>, target: Option<&str>, bad: &BadInput) -> io::Result<()> {
    if app.format != Format::Json {
        return Ok(());
    }
    let error = Some(ErrorText::new(bad));
    let none = (0, 0, 0, 0, 0);
    let (kept, patched, poisoned, failed, skipped) = none;
    let (verdict, relocations) = ("bad_input", &[][..]);
    json::line(
        app.out,
        &Checked { object, target, kept, patched, poisoned, failed, skipped, verdict, relocations, error },
    )
}

fn progress(kernels: usize) -> ProgressBar {
    if kernels < MANY || !app::watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(kernels).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} kernels") {
        bar.set_style(style);
    }
    bar
}
