//! `check`: a line per kernel and object.

use super::{
    counts, exit_of,
    explain::is_unresolved,
    fleet::{self, Threads},
    resume::{Header, Results, SoFar},
    same::{Same, Seen},
};
use crate::{
    app::{self, App, Exit},
    args::{self, Format},
    error::{BadInput, shown},
    input::{
        object::ObjectFile,
        target::{Kernel, Place, Selection, Unparsed},
    },
    json::{self, Checked, ErrorText, Unresolved},
    render::{
        style::{self, DIM, painted},
        table::Columns,
    },
};
use core_relo::{
    Endian, Plan, Relocs,
    plan::{Objects, Summary},
};
use core_relo_loader::object::Object;
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    collections::BTreeSet,
    io,
    num::NonZeroUsize,
    ops::ControlFlow,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Reasons given in text; `explain` gives them all.
const REASONS: usize = 3;

/// Kernels from which on progress is shown.
const MANY: usize = 4;

/// Lines that wait for each other, to be aligned.
const ALIGNED: usize = 1000;

pub(crate) fn run(app: &mut App<'_>, args: &args::Check) -> io::Result<()> {
    let threads = Threads::new(args.jobs, args.objects.len());
    let files = read(app, &args.objects, &threads)?;
    let selection = Selection::part_of(&args.targets, args.shard);
    with_subjects(app, &files, &threads, |app, subjects| {
        let Some(path) = &args.resume else {
            return on_kernels(app, subjects, &selection, (args.jobs, &threads), None);
        };
        let header = Header::of(subjects.iter().map(|s| (&*s.file.name, s.file.bytes())));
        match Results::open(path, &header) {
            Ok((results, so_far)) => {
                if so_far.len() > 0 {
                    let (path, kernels) = (shown(path), so_far.len());
                    app.note(&format!("{path}: has the results of {kernels} kernels, which are left out"))?;
                }
                on_kernels(app, subjects, &selection, (args.jobs, &threads), Some((results, so_far)))
            }
            Err(bad) => app.complain(&bad),
        }
    })
}

/// Checks objects on kernels. What is bad is reported, the rest checked all the same.
pub(crate) fn check(app: &mut App<'_>, files: &[ObjectFile], selection: &Selection) -> io::Result<()> {
    let threads = Threads::none();
    with_subjects(app, files, &threads, |app, subjects| {
        on_kernels(app, subjects, selection, (None, &threads), None)
    })
}

/// An object to be checked.
struct Subject<'o> {
    file: &'o ObjectFile,
    object: &'o Object<'o>,
    relocs: Relocs<'o>,
    /// What is to say of each record, once it was unresolved somewhere.
    records: Vec<OnceLock<Arc<json::Record>>>,
}

fn read(app: &mut App<'_>, paths: &[PathBuf], threads: &Threads) -> io::Result<Vec<ObjectFile>> {
    let mut files = Vec::new();
    for read in threads.map(paths, |path| ObjectFile::read(path)) {
        match read {
            Ok(file) => files.push(file),
            Err(bad) => bad_object(app, &bad)?,
        }
    }
    Ok(files)
}

fn with_subjects(
    app: &mut App<'_>,
    files: &[ObjectFile],
    threads: &Threads,
    then: impl FnOnce(&mut App<'_>, &[Subject<'_>]) -> io::Result<()>,
) -> io::Result<()> {
    let mut parsed = Vec::new();
    for (file, object) in files.iter().zip(threads.map(files, ObjectFile::parse)) {
        match object {
            Ok(object) => parsed.push((file, object)),
            Err(bad) => bad_object(app, &bad)?,
        }
    }
    let mut subjects = Vec::new();
    let relocs = threads.map(&parsed, |(file, object)| file.relocs(object));
    for ((file, object), relocs) in parsed.iter().zip(relocs) {
        match relocs {
            Ok(relocs) => {
                let records = relocs.records().iter().map(|_| OnceLock::new()).collect();
                subjects.push(Subject { file, object, relocs, records });
            }
            Err(bad) => bad_object(app, &bad)?,
        }
    }
    then(app, &subjects)
}

/// The objects of either byte order, prepared for all kernels of theirs.
struct Prepared<'s> {
    subjects: &'s [Subject<'s>],
    little: OnceLock<Objects<'s>>,
    big: OnceLock<Objects<'s>>,
}

impl<'s> Prepared<'s> {
    fn new(subjects: &'s [Subject<'s>]) -> Self {
        Self { subjects, little: OnceLock::new(), big: OnceLock::new() }
    }

    /// Those that fit a kernel of this byte order.
    fn of(&self, order: Endian) -> &Objects<'s> {
        let objects = if order == Endian::Little { &self.little } else { &self.big };
        objects.get_or_init(|| {
            let fitting = self.subjects.iter().filter(|subject| subject.object.endian() == order);
            Objects::new(fitting.map(|subject| &subject.relocs))
        })
    }
}

fn relocs_of<'s, 'o>(subjects: &[&'s Subject<'o>]) -> Vec<&'s Relocs<'o>> {
    subjects.iter().map(|subject| &subject.relocs).collect()
}

/// What is to be said of each object on one kernel, whatever the kernel is called; or that they do not belong together.
struct Answers(Vec<Result<Answer, BadInput>>);

struct Answer {
    summary: Summary,
    unresolved: Vec<Unresolved>,
}

impl Answers {
    /// The answers for a kernel that was read, with its name. They are those of a kernel of the same bytes if there was one.
    fn of(
        read: Unparsed<'_>,
        prepared: &Prepared<'_>,
        threads: &Threads,
        same: &Same<Self>,
    ) -> Result<(String, Arc<Self>), BadInput> {
        let alone = read.alone();
        let seen = alone.as_ref().map_or(Seen::New, |(_, file)| {
            same.look_up(&file.btf, u64::from(file.pointer_size().map_or(0, |size| size.0)))
        });
        let key = match (seen, alone) {
            (Seen::Said(said), Some((name, _))) => return Ok((name, said)),
            (Seen::Twice(key), _) => Some(key),
            _ => None,
        };
        let mut kernel = read.parse()?;
        let answers = Arc::new(Self::new(&mut kernel, prepared, threads));
        // What is said of a module, or of a kernel of another byte order, depends on more than the bytes.
        let is_general = kernel.target.modules().is_empty() && answers.0.iter().all(Result::is_ok);
        if let Some(key) = key.filter(|_| is_general) {
            same.keep(key, Arc::clone(&answers));
        }
        Ok((kernel.name, answers))
    }

    fn new(kernel: &mut Kernel, prepared: &Prepared<'_>, threads: &Threads) -> Self {
        let subjects = prepared.subjects;
        let orders: Vec<_> = subjects.iter().map(|s| kernel.check_order(s.object.endian())).collect();
        let fitting = subjects.iter().zip(&orders).filter(|(_, order)| order.is_ok());
        let fitting: Vec<_> = fitting.map(|(subject, _)| subject).collect();
        kernel.complete_for(&relocs_of(&fitting));
        let answers = threads.map_pieces(&fitting, |piece| {
            let plans = match piece.len() == fitting.len() {
                true => prepared.of(kernel.target.main().btf.endian()).plans(&kernel.target),
                false => Plan::many(&relocs_of(piece), &kernel.target),
            };
            piece.iter().zip(&plans).map(|(subject, plan)| Answer::new(subject, plan)).collect()
        });
        let mut answers = answers.into_iter();
        Self(orders.into_iter().filter_map(|order| order.map(|()| answers.next()).transpose()).collect())
    }
}

impl Answer {
    fn new(subject: &Subject<'_>, plan: &Plan<'_>) -> Self {
        let summary = plan.summary();
        let unresolved = plan.iter().zip(&subject.records).filter(|(planned, _)| is_unresolved(planned));
        let unresolved = unresolved.map(|(planned, record)| Unresolved::again(&planned, record));
        let unresolved = if summary.is_clean() { Vec::new() } else { unresolved.collect() };
        Self { summary, unresolved }
    }
}

/// What is to be printed of one kernel. It was made where the kernel was read, and holds nothing of it.
#[derive(Default)]
struct Block {
    exit: Exit,
    /// What cannot be told, for stderr.
    complaints: Vec<BadInput>,
    /// JSON lines, if they are wanted.
    lines: Vec<u8>,
    /// If text is wanted.
    rows: Vec<Lines>,
}

/// A row of the table, and the lines below it.
struct Lines {
    verdict: &'static str,
    cells: [String; 3],
    below: Vec<String>,
}

/// What a thread has to say.
enum Said {
    Block(Block),
    Note(String),
}

/// What is wanted of a kernel.
#[derive(Clone, Copy)]
struct Wanted {
    json: bool,
    text: bool,
}

fn on_kernels(
    app: &mut App<'_>,
    subjects: &[Subject<'_>],
    selection: &Selection,
    (jobs, threads): (Option<NonZeroUsize>, &Threads),
    resumed: Option<(Results, SoFar)>,
) -> io::Result<()> {
    selection.notes.iter().try_for_each(|note| app.note(note))?;
    let (results, so_far) = resumed.map_or_else(Default::default, |(file, so_far)| (Some(file), so_far));
    app.end_with(so_far.exit);
    let wanted =
        Wanted { json: results.is_some() || app.format == Format::Json, text: app.format == Format::Text };
    let is_done = |place: &Place| match place {
        Place::Archive(path) => so_far.has_archive(&shown(path)),
        _ => place.name().is_some_and(|name| so_far.has(&name)),
    };
    let places: Vec<_> = selection.places.iter().filter(|place| !is_done(place)).collect();
    let progress = progress(places.len());
    let mut printer = Printer { app, results, columns: Columns::new(), below: Vec::new() };
    for bad in selection.bad.iter().filter(|bad| !so_far.has(&bad.file)) {
        printer.print(Said::Block(Block::of_bad_kernel(bad, wanted)?))?;
    }
    let (same, prepared) = (Same::new(), Prepared::new(subjects));
    // Several kernels have the threads to themselves.
    let none = Threads::none();
    let threads = if places.len() == 1 { threads } else { &none };
    let work = |place: &&Place, send: &mut dyn FnMut(io::Result<Said>) -> ControlFlow<()>| {
        let note = selection.unparsed(place, &|name| !so_far.has(name), &mut |read| {
            let block = match read.and_then(|read| Answers::of(read, &prepared, threads, &same)) {
                Ok((name, answers)) => Block::of_kernel(&name, &answers, subjects, wanted),
                Err(bad) => Block::of_bad_kernel(&bad, wanted),
            };
            send(block.map(Said::Block))
        });
        if let Some(note) = note {
            let _: ControlFlow<()> = send(Ok(Said::Note(note)));
        }
    };
    let mut of_place = 0u64;
    fleet::in_order(jobs, &places, work, |said| {
        let Some(said) = said.transpose()? else {
            // An archive counts as one until it turns out to be several.
            progress.inc(u64::from(of_place == 0));
            of_place = 0;
            return Ok(());
        };
        if matches!(said, Said::Block(_)) {
            progress.inc_length(of_place.min(1));
            progress.inc(1);
            of_place = of_place.saturating_add(1);
        }
        if progress.is_hidden() {
            return printer.print(said);
        }
        progress.suspend(|| printer.print(said).and_then(|()| printer.app.out.flush()))
    })?;
    progress.finish_and_clear();
    printer.flush()
}

impl Block {
    fn of_kernel(
        name: &str,
        answers: &Answers,
        subjects: &[Subject<'_>],
        wanted: Wanted,
    ) -> io::Result<Self> {
        let mut block = Self::default();
        for (subject, answer) in subjects.iter().zip(&answers.0) {
            let object = &*subject.file.name;
            match answer {
                Err(bad) => {
                    block.bad_line(Some(object), Some(name), bad, wanted)?;
                    let what = format!("{} ({object})", bad.what);
                    block.complaints.push(BadInput { what, ..bad.clone() });
                }
                Ok(answer) => block.add(object, name, answer, wanted)?,
            }
        }
        Ok(block)
    }

    fn of_bad_kernel(bad: &BadInput, wanted: Wanted) -> io::Result<Self> {
        let mut block = Self { complaints: vec![bad.clone()], ..Self::default() };
        block.bad_line(None, Some(&bad.file), bad, wanted)?;
        Ok(block)
    }

    fn add(&mut self, object: &str, target: &str, answer: &Answer, wanted: Wanted) -> io::Result<()> {
        let Answer { summary, unresolved } = answer;
        let (summary, relocations) = (*summary, &**unresolved);
        self.exit = self.exit.max(exit_of(summary));
        let verdict = verdict(summary);
        if wanted.json {
            let Summary { kept, patched, poisoned, failed, skipped, .. } = summary;
            let (object, target) = (Some(object), Some(target));
            json::line(
                &mut self.lines,
                &Checked {
                    object,
                    target,
                    kept,
                    patched,
                    poisoned,
                    failed,
                    skipped,
                    verdict,
                    relocations,
                    error: None,
                },
            )?;
        }
        if wanted.text {
            let cells = [object.to_owned(), target.to_owned(), counts(summary)];
            self.rows.push(Lines { verdict, cells, below: reasons(relocations) });
        }
        Ok(())
    }

    fn bad_line(
        &mut self,
        object: Option<&str>,
        target: Option<&str>,
        bad: &BadInput,
        wanted: Wanted,
    ) -> io::Result<()> {
        if wanted.json { bad_line(&mut self.lines, object, target, bad) } else { Ok(()) }
    }
}

/// Where it all comes out.
struct Printer<'p, 'w> {
    app: &'p mut App<'w>,
    results: Option<Results>,
    columns: Columns,
    /// What comes below each row.
    below: Vec<Vec<String>>,
}

impl Printer<'_, '_> {
    fn print(&mut self, said: Said) -> io::Result<()> {
        let block = match said {
            Said::Block(block) => block,
            Said::Note(note) => return self.app.note(&note),
        };
        self.app.end_with(block.exit);
        if let Some(Err(bad)) = self.results.as_mut().map(|results| results.append(&block.lines)) {
            self.flush()?;
            self.app.complain(&bad)?;
            // It is said already, and ends this run.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.app.format == Format::Json {
            self.app.out.write_all(&block.lines)?;
        }
        for Lines { verdict, cells, below } in block.rows {
            self.columns.row_with(style::of_outcome(verdict), verdict, cells);
            self.below.push(below);
        }
        if self.below.len() >= ALIGNED {
            self.flush()?;
        }
        block.complaints.iter().try_for_each(|bad| self.app.complain(bad))
    }

    fn flush(&mut self) -> io::Result<()> {
        let lines = std::mem::replace(&mut self.columns, Columns::new()).lines();
        for (line, reasons) in lines.iter().zip(self.below.drain(..)) {
            writeln!(self.app.out, "{line}")?;
            reasons.iter().try_for_each(|reason| writeln!(self.app.out, "    {reason}"))?;
        }
        Ok(())
    }
}

fn verdict(summary: Summary) -> &'static str {
    match summary {
        s if s.failed > 0 => "failed",
        s if s.poisoned > 0 => "poisoned",
        _ => "ok",
    }
}

/// The first few different reasons, with their source lines.
fn reasons(unresolved: &[Unresolved]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for u in unresolved {
        let json::Record { section, program, access, .. } = &*u.record;
        if !seen.insert((u.record.place(), access, &u.reason)) {
            continue;
        }
        if lines.len() < REASONS {
            let program = program.as_deref().unwrap_or(section);
            let place = painted(DIM, u.record.place());
            lines.push(format!("{place} {program}: {access}: {}", u.reason));
        }
    }
    if let Some(more) = seen.len().checked_sub(REASONS).filter(|more| *more > 0) {
        lines.push(painted(DIM, format_args!("… and {more} more, see `core-relo explain`")));
    }
    lines
}

fn bad_object(app: &mut App<'_>, bad: &BadInput) -> io::Result<()> {
    if app.format == Format::Json {
        bad_line(app.out, Some(&bad.file), None, bad)?;
    }
    app.complain(bad)
}

fn bad_line(
    out: &mut dyn io::Write,
    object: Option<&str>,
    target: Option<&str>,
    bad: &BadInput,
) -> io::Result<()> {
    let error = Some(ErrorText::new(bad));
    let (kept, patched, poisoned, failed, skipped) = (0, 0, 0, 0, 0);
    let (verdict, relocations) = ("bad_input", &[][..]);
    json::line(
        out,
        &Checked { object, target, kept, patched, poisoned, failed, skipped, verdict, relocations, error },
    )
}

fn progress(kernels: usize) -> ProgressBar {
    if kernels < MANY || !app::watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(kernels).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} kernels, {per_sec}, {eta} left") {
        bar.set_style(style);
    }
    bar
}
