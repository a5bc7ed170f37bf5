//! `check`: a line per kernel and object.

use super::{
    check_block::{Block, Lines, Named, Report, Reports, Wanted, bad_line},
    explain::is_unresolved,
    fleet,
    resume::{Header, Results, SoFar},
    same::{Bytes, Same, Seen},
};
use crate::{
    app::{self, App},
    args::{self, Format},
    error::{BadInput, shown},
    input::{
        file::{FileId, Limits},
        kernel_id::KernelId,
        object::ObjectFile,
        target::{BadPlace, Kernel, Place, Selection},
        unread::{self, Alone, Unparsed, Unread},
    },
    json::Json,
    json_check::{Record, Unresolved},
    line::Line,
    render::{
        style,
        table::{Columns, left},
    },
    threads::Threads,
};
use core_relo::{Endian, Plan, Relocs, plan::Objects};
use core_relo_loader::object::Object;
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// Kernels from which on progress is shown.
const MANY: usize = 4;

/// Lines that wait for each other, to be aligned.
const ALIGNED: usize = 1000;

pub(crate) fn run(app: &mut App<'_>, args: &args::Check) -> io::Result<()> {
    // Several kernels have threads of their own: the two kinds of work never go on at the same time.
    let (threads, fleet_threads) = (Threads::new(args.jobs), Threads::new(args.jobs));
    let files = read(app, &args.objects, &threads)?;
    let selection = Selection::part_of(&args.targets, args.shard, &fleet_threads);
    with_subjects(app, &files, &threads, |app, subjects| {
        let Some(path) = &args.resume else {
            return on_kernels(app, subjects, &selection, (&fleet_threads, &threads), None);
        };
        let header = Header::new(subjects.iter().map(|s| (&*s.file.name, s.file.bytes())));
        match Results::open(path, &header) {
            Ok((results, so_far)) => {
                if so_far.len() > 0 {
                    let (path, kernels) = (shown(path), so_far.len());
                    app.note(&format!("{path}: has the results of {kernels} kernels, which are left out"))?;
                }
                on_kernels(app, subjects, &selection, (&fleet_threads, &threads), Some((results, so_far)))
            }
            Err(bad) => app.complain(&bad),
        }
    })
}

/// Checks objects on kernels. What is bad is reported, the rest checked all the same.
pub(crate) fn check(app: &mut App<'_>, files: &[ObjectFile], selection: &Selection) -> io::Result<()> {
    let threads = Threads::none();
    with_subjects(app, files, &threads, |app, subjects| {
        on_kernels(app, subjects, selection, (&Threads::new(None), &threads), None)
    })
}

/// An object to be checked.
struct Subject<'o> {
    file: &'o ObjectFile,
    object: &'o Object<'o>,
    relocs: Relocs<'o>,
    named: Named<'o>,
    /// What is to say of each record, once it was unresolved somewhere.
    records: Vec<OnceLock<Arc<Record>>>,
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
                let named = Named::new(&file.name)?;
                subjects.push(Subject { file, object, relocs, named, records });
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

/// The report of each object on one kernel; or that they do not belong together.
struct Answers(Vec<Result<io::Result<Report>, BadInput>>);

impl Answers {
    fn reports(self) -> io::Result<Reports> {
        let mut reports = Reports::default();
        for answer in self.0 {
            match answer {
                Ok(report) => reports.add(report?),
                Err(bad) => reports.add_bad(bad),
            }
        }
        Ok(reports)
    }

    fn new(kernel: &mut Kernel, prepared: &Prepared<'_>, threads: &Threads, wanted: Wanted) -> Self {
        let subjects = prepared.subjects;
        let orders: Vec<_> = subjects.iter().map(|s| kernel.check_order(s.object.endian())).collect();
        let fitting = subjects.iter().zip(&orders).filter(|(_, order)| order.is_ok());
        let fitting: Vec<_> = fitting.map(|(subject, _)| subject).collect();
        kernel.complete_for(&relocs_of(&fitting));
        let answers = threads.map_pieces(&fitting, |piece| {
            let plans = match piece.len() == fitting.len() {
                true => prepared.of(kernel.target.main().btf.endian()).plans(&kernel.target),
                false => Plan::for_objects(&relocs_of(piece), &kernel.target),
            };
            piece.iter().zip(&plans).map(|(subject, plan)| report(subject, plan, wanted)).collect()
        });
        let mut answers = answers.into_iter();
        Self(orders.into_iter().filter_map(|order| order.map(|()| answers.next()).transpose()).collect())
    }
}

/// The report of an object's plan.
fn report(subject: &Subject<'_>, plan: &Plan<'_>, wanted: Wanted) -> io::Result<Report> {
    let unresolved = plan.iter().zip(&subject.records).filter(|(planned, _)| is_unresolved(planned));
    Report::new(
        plan.summary(),
        unresolved.map(|(planned, record)| Unresolved::again(&planned, record)),
        wanted,
    )
}

/// A check of many kernels.
struct Check<'c> {
    prepared: Prepared<'c>,
    threads: &'c Threads,
    wanted: Wanted,
    limits: Limits,
    same: Same<Reports>,
}

impl Check<'_> {
    /// What is to be printed of a kernel.
    fn block(&self, id: &KernelId, unread: Result<Unread<'_>, BadInput>) -> io::Result<Block> {
        match unread.and_then(|unread| self.reports(unread)) {
            Ok((name, reports)) => {
                let named = self.prepared.subjects.iter().map(|subject| &subject.named);
                Block::of_kernel((&name, id), &*reports?, named, self.wanted)
            }
            Err(bad) => Block::of_bad_kernel(&bad, Some(id), self.wanted),
        }
    }

    /// The kernel's name, and what is to be said of it: what was said of the same file or of one of the same bytes, if there was one.
    fn reports(&self, unread: Unread<'_>) -> Result<(String, io::Result<Arc<Reports>>), BadInput> {
        let file = unread.file();
        if let Some((path, id)) = &file
            && let Some(said) = self.same.of_file(id)
        {
            log::debug!("{}: a file that was read by another name is not read again", shown(path));
            return Ok((shown(path), Ok(said)));
        }
        let id = file.map(|(_, id)| id);
        let read = unread.read()?;
        let bytes = match self.of_same_bytes(&read, file) {
            (Some((name, said)), _) => {
                self.same.also_of(id, &said);
                return Ok((name, Ok(said)));
            }
            (None, bytes) => bytes,
        };
        let mut kernel = read.parse()?;
        let reports = Answers::new(&mut kernel, &self.prepared, self.threads, self.wanted).reports();
        let reports = reports.map(Arc::new);
        // What is said of a module depends on more than its bytes: an archive's member is on its own, a file has a kernel beside it.
        let is_module = kernel.target.main().btf.base().is_some() || !kernel.target.modules().is_empty();
        if let (Ok(reports), false) = (&reports, is_module) {
            self.same.keep(id, bytes, reports, reports.size());
        }
        Ok((kernel.name, reports))
    }

    /// The kernel's name and what was said of one of the same bytes; or by what to keep what will be said of it, if there may be more.
    fn of_same_bytes(
        &self,
        read: &Unparsed<'_>,
        file: Option<(&Path, FileId)>,
    ) -> (Option<(String, Arc<Reports>)>, Option<Bytes>) {
        let Some(Alone { name, bytes, also, is_whole }) = read.alone() else { return (None, None) };
        match self.same.look_up(bytes, also, file.filter(|_| is_whole)) {
            Seen::New => (None, None),
            Seen::Said(said) => (Some((name, said)), None),
            Seen::Twice(bytes, first) => {
                let said = first.and_then(|mut first| {
                    let add = &mut |piece: &[u8]| first.hashing.add(piece);
                    let is_read = unread::read_again(&first.path, first.id, self.limits, add);
                    is_read.then(|| self.same.of_first(first, bytes)).flatten()
                });
                (said.map(|said| (name, said)), Some(bytes))
            }
        }
    }
}

/// What a thread has to say.
enum Said {
    Block(Option<KernelId>, Block),
    Note(String),
}

fn on_kernels(
    app: &mut App<'_>,
    subjects: &[Subject<'_>],
    selection: &Selection,
    (fleet_threads, threads): (&Threads, &Threads),
    resumed: Option<(Results, SoFar)>,
) -> io::Result<()> {
    selection.notes.iter().try_for_each(|note| app.note(note))?;
    let (results, so_far) = resumed.map_or_else(Default::default, |(file, so_far)| (Some(file), so_far));
    app.end_with(so_far.exit);
    let wanted =
        Wanted { json: results.is_some() || app.format == Format::Json, text: app.format == Format::Text };
    let is_done = |place: &Place| match place {
        Place::Archive(path) => so_far.has_archive(path),
        _ => so_far.has(&place.id()),
    };
    let places: Vec<_> = selection.places.iter().filter(|place| !is_done(place)).collect();
    let progress = progress(places.len());
    let mut printer = Printer { app, results, columns: Columns::new(), below: Vec::new() };
    for BadPlace { id, bad } in &selection.bad {
        if !id.as_ref().is_some_and(|id| so_far.has(id)) {
            let block = Block::of_bad_kernel(bad, id.as_ref(), wanted)?;
            printer.print(Said::Block(id.clone(), block))?;
        }
    }
    // Several kernels have the threads to themselves.
    let none = Threads::none();
    let threads = if places.len() == 1 { threads } else { &none };
    let prepared = Prepared::new(subjects);
    let check = Check { prepared, threads, wanted, limits: selection.limits, same: Same::new() };
    let work = |place: &&Place, send: &mut dyn FnMut(io::Result<Said>) -> ControlFlow<()>| {
        let note = selection.unread(place, &|id| !so_far.has(id), &mut |id, unread| {
            send(check.block(id, unread).map(|block| Said::Block(Some(id.clone()), block)))
        });
        if let Some(note) = note {
            let _: ControlFlow<()> = send(Ok(Said::Note(note)));
        }
    };
    let (mut of_place, mut ends) = (0u64, places.iter());
    fleet::in_order(fleet_threads, &places, work, |said| {
        let Some(said) = said.transpose()? else {
            if let (Some(Place::Archive(path)), Some(results)) = (ends.next(), &mut printer.results) {
                results.archive_ended(path);
            }
            // An archive counts as one until it turns out to be several.
            progress.inc(u64::from(of_place == 0));
            of_place = 0;
            return Ok(());
        };
        if matches!(said, Said::Block(..)) {
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

/// Where it all comes out.
struct Printer<'p, 'w> {
    app: &'p mut App<'w>,
    results: Option<Results>,
    columns: Columns,
    /// What comes below each row.
    below: Vec<Arc<[Line]>>,
}

impl Printer<'_, '_> {
    fn print(&mut self, said: Said) -> io::Result<()> {
        let (id, block) = match said {
            Said::Block(id, block) => (id, block),
            Said::Note(note) => return self.app.note(&note),
        };
        self.app.end_with(block.exit);
        if let Some(Err(bad)) = self.keep(id.as_ref(), &block.lines) {
            self.flush()?;
            self.app.complain(&bad)?;
            // It is said already, and ends this run.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.app.format == Format::Json {
            self.app.out.json_lines(&block.lines)?;
        }
        for Lines { verdict, cells, below } in block.rows {
            self.columns.row_with(style::of_outcome(verdict), verdict, cells.map(left));
            self.below.push(below);
        }
        if self.below.len() >= ALIGNED {
            self.flush()?;
        }
        block.complaints.iter().try_for_each(|bad| self.app.complain(bad))
    }

    /// Adds the lines of one kernel to the file of results, if there is one.
    fn keep(&mut self, id: Option<&KernelId>, lines: &Json) -> Option<Result<(), BadInput>> {
        Some(self.results.as_mut()?.append(id?, lines.as_bytes()))
    }

    fn flush(&mut self) -> io::Result<()> {
        let lines = std::mem::replace(&mut self.columns, Columns::new()).lines();
        for (line, reasons) in lines.into_iter().zip(self.below.drain(..)) {
            self.app.out.line(line)?;
            reasons.iter().try_for_each(|reason| self.app.out.line(Line::new().text("    ").line(reason)))?;
        }
        Ok(())
    }
}

fn bad_object(app: &mut App<'_>, bad: &BadInput) -> io::Result<()> {
    if app.format == Format::Json {
        app.out.json_lines(&bad_line(Some(&bad.file), None, bad)?)?;
    }
    app.complain(bad)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{json::Json, printer::Printer as Stream};
    use std::{fs, thread, time::Duration};

    #[test]
    fn a_file_that_changed_is_read_again() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
        let [mut old, mut new] =
            ["linux-5.10.btf", "linux-6.1.btf"].map(|name| fs::read(demo.join(name)).unwrap());
        // What comes after the BTF does not count.
        let len = old.len().max(new.len());
        for bytes in [&mut old, &mut new] {
            bytes.resize(len, 0);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel");
        fs::write(&path, old).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let place = Place::File { path: path.clone(), base: None };
        let selection = Selection { places: vec![place.clone()], ..Selection::default() };
        let unread = |each: &mut dyn FnMut(Unread<'_>)| {
            let each = &mut |_: &KernelId, unread: Result<Unread<'_>, BadInput>| {
                each(unread.unwrap());
                ControlFlow::Continue(())
            };
            assert_eq!(selection.unread(&place, &|_| true, each), None);
        };
        let known_again = || {
            let mut is_known = false;
            unread(&mut |unread| is_known = unread.file().is_some());
            is_known
        };
        for _ in 0..100 {
            if known_again() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }

        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut app = App {
            out: Stream::new(&mut out, false),
            err: Stream::new(&mut err, false),
            format: Format::Json,
            exit: crate::app::Exit::Resolved,
        };
        let files = [ObjectFile::read(&demo.join("exec.bpf.o")).unwrap()];
        let threads = Threads::none();
        let ended = with_subjects(&mut app, &files, &threads, |_, subjects| {
            let check = || Check {
                prepared: Prepared::new(subjects),
                threads: &threads,
                wanted: Wanted { json: true, text: false },
                limits: selection.limits,
                same: Same::new(),
            };
            let lines = |check: &Check<'_>| {
                let mut lines = Json::default();
                unread(&mut |unread| lines = check.block(&place.id(), Ok(unread)).unwrap().lines);
                lines
            };
            let is_kept = |check: &Check<'_>| {
                let mut is_kept = false;
                unread(&mut |unread| is_kept = check.same.of_file(&unread.file().unwrap().1).is_some());
                is_kept
            };
            let one = check();
            let first = lines(&one);
            assert!(is_kept(&one), "else this test shows nothing");
            assert_eq!(lines(&one), first);
            fs::write(&path, &new)?;
            fs::File::options().write(true).open(&path)?.set_modified(modified)?;
            let changed = lines(&one);
            assert_ne!(changed, first);
            assert_eq!(changed, lines(&check()));
            Ok(())
        });
        assert!(ended.is_ok());
    }
}
