//! What `check` says of one kernel: what is to be said of it whatever it is called, and that under its name.

use super::{counts, exit_of};
use crate::{
    app::Exit,
    error::BadInput,
    input::kernel_id::KernelId,
    json::{ErrorText, Json},
    json_check::{self, Checked, Counts, Rest, Unresolved},
    line::Line,
    render::style::DIM,
};
use core_relo::plan::Summary;
use std::{
    collections::{HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
    io,
    sync::Arc,
};

/// Reasons given in text; `explain` gives them all.
const REASONS: usize = 3;

/// What is wanted of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) json: bool,
    pub(super) text: bool,
}

/// What is to be said of each object on one kernel, whatever the kernel is called.
#[derive(Debug, Default)]
pub(super) struct Reports(Vec<Report>);

/// The same of one object.
#[derive(Debug)]
pub(super) enum Report {
    Planned {
        summary: Summary,
        /// The line from the kernel's name on, if JSON is wanted.
        rest: Json,
        /// What comes below the row, if text is.
        below: Arc<[Line]>,
    },
    /// They do not belong together.
    Bad(BadInput),
}

impl Report {
    /// The report of an object's plan; its unresolved records are written one by one, so that their texts are not kept.
    pub(super) fn new(
        summary: Summary,
        unresolved: impl Iterator<Item = Unresolved>,
        wanted: Wanted,
    ) -> io::Result<Self> {
        let mut rest = match wanted.json {
            true => Some(Rest::new(Counts::new(summary, verdict(summary)))?),
            false => None,
        };
        let mut reasons = wanted.text.then(Reasons::default);
        for unresolved in unresolved {
            rest.as_mut().map_or(Ok(()), |rest| rest.add(&unresolved))?;
            reasons.iter_mut().for_each(|reasons| reasons.add(&unresolved));
        }
        let rest = rest.map(Rest::finish).unwrap_or_default();
        let below = reasons.map(Reasons::lines).unwrap_or_default().into();
        Ok(Self::Planned { summary, rest, below })
    }
}

impl Reports {
    /// Adds the report of the next object.
    pub(super) fn add(&mut self, report: Report) {
        self.0.push(report);
    }

    /// Adds that the next object does not belong to the kernel.
    pub(super) fn add_bad(&mut self, bad: BadInput) {
        self.0.push(Report::Bad(bad));
    }

    /// How long the lines of objects that were planned are if the kernel's name and identity have `target` bytes.
    fn lines_len<'o>(&self, target: usize, objects: impl Iterator<Item = &'o Named<'o>>) -> usize {
        let len = |(object, report): (&Named<'_>, &Report)| match report {
            Report::Planned { rest, .. } => [object.begin.len(), target, rest.len()].into_iter().sum(),
            Report::Bad(_) => 0usize,
        };
        objects.zip(&self.0).map(len).fold(0, usize::saturating_add)
    }

    /// About how many bytes it takes to keep them.
    pub(super) fn size(&self) -> usize {
        let of_report = |report: &Report| match report {
            Report::Planned { rest, below, .. } => {
                below.iter().map(Line::size).fold(rest.capacity(), usize::saturating_add)
            }
            Report::Bad(bad) => bad.what.len().saturating_add(bad.file.len()),
        };
        self.0.iter().map(of_report).fold(size_of_val(&*self.0), usize::saturating_add)
    }
}

/// An object's name, and its line of JSON up to the kernel's name.
#[derive(Debug)]
pub(super) struct Named<'o> {
    name: &'o str,
    begin: Json,
}

impl<'o> Named<'o> {
    pub(super) fn new(name: &'o str) -> io::Result<Self> {
        Ok(Self { name, begin: json_check::begin(name)? })
    }
}

/// What is to be printed of one kernel. It was made where the kernel was read, and holds nothing of it.
#[derive(Default)]
pub(super) struct Block {
    pub(super) exit: Exit,
    /// What cannot be told, for stderr.
    pub(super) complaints: Vec<BadInput>,
    /// JSON lines, if they are wanted.
    pub(super) lines: Json,
    /// If text is wanted.
    pub(super) rows: Vec<Lines>,
}

/// A row of the table, and the lines below it.
pub(super) struct Lines {
    pub(super) verdict: &'static str,
    pub(super) cells: [String; 3],
    pub(super) below: Arc<[Line]>,
}

impl Block {
    pub(super) fn of_kernel<'o>(
        (target, id): (&str, &KernelId),
        reports: &Reports,
        objects: impl Iterator<Item = &'o Named<'o>> + Clone,
        wanted: Wanted,
    ) -> io::Result<Self> {
        let mut block = Self::default();
        let (mut quoted, mut end) = (Json::default(), Json::default());
        let target_id = id.key(target);
        if wanted.json {
            quoted.push_value(target)?;
            end = json_check::end(target_id.as_deref())?;
            let len = quoted.len().saturating_add(end.len());
            block.lines.reserve(reports.lines_len(len, objects.clone()));
        }
        for (Named { name, begin }, report) in objects.zip(&reports.0) {
            match report {
                Report::Bad(bad) => {
                    // It may have been said of another kernel.
                    let bad = BadInput { file: target.to_owned(), ..bad.clone() };
                    if wanted.json {
                        let target = Some((target, target_id.as_deref()));
                        block.lines.push(&bad_line(Some(name), target, &bad)?);
                    }
                    let what = format!("{} ({name})", bad.what);
                    block.complaints.push(BadInput { what, ..bad });
                }
                Report::Planned { summary, rest, below } => {
                    block.exit = block.exit.max(exit_of(*summary));
                    if wanted.json {
                        for part in [begin, &quoted, rest, &end] {
                            block.lines.push(part);
                        }
                    }
                    if wanted.text {
                        let cells = [(*name).to_owned(), target.to_owned(), counts(*summary)];
                        let verdict = verdict(*summary);
                        block.rows.push(Lines { verdict, cells, below: Arc::clone(below) });
                    }
                }
            }
        }
        Ok(block)
    }

    pub(super) fn of_bad_kernel(bad: &BadInput, id: Option<&KernelId>, wanted: Wanted) -> io::Result<Self> {
        let mut block = Self { complaints: vec![bad.clone()], ..Self::default() };
        if wanted.json {
            let target_id = id.and_then(|id| id.key(&bad.file));
            block.lines.push(&bad_line(None, Some((&bad.file, target_id.as_deref())), bad)?);
        }
        Ok(block)
    }
}

/// Returns the line of bad input. The target is the kernel's name and its key `target_id`.
pub(super) fn bad_line(
    object: Option<&str>,
    target: Option<(&str, Option<&str>)>,
    bad: &BadInput,
) -> io::Result<Json> {
    let counts = Counts::new(Summary::default(), "bad_input");
    let error = Some(ErrorText::new(bad));
    let (target, target_id) = target.map_or((None, None), |(name, id)| (Some(name), id));
    Json::line(&Checked { object, target, counts, relocations: &[], error, target_id })
}

fn verdict(summary: Summary) -> &'static str {
    match summary {
        s if s.failed > 0 => "failed",
        s if s.poisoned > 0 => "poisoned",
        _ => "ok",
    }
}

/// The first few different reasons, with their source lines; the others are only told apart, by their hashes.
#[derive(Default)]
struct Reasons {
    lines: Vec<Line>,
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Reasons {
    fn add(&mut self, unresolved: &Unresolved) {
        let (place, access) = (unresolved.record.shown_place(), &unresolved.record.accessed.access);
        let hash = self.hasher.hash_one((&place, access, &unresolved.reason));
        if self.seen.insert(hash) && self.lines.len() < REASONS {
            let program = unresolved.record.shown_program();
            let rest = format!(" {program}: {access}: {}", unresolved.reason);
            self.lines.push(Line::new().styled(DIM, place).text(rest));
        }
    }

    fn lines(mut self) -> Vec<Line> {
        if let Some(more) = self.seen.len().checked_sub(REASONS).filter(|more| *more > 0) {
            let more = format_args!("… and {more} more, see `core-relo explain`");
            self.lines.push(Line::new().styled(DIM, more));
        }
        self.lines
    }
}
