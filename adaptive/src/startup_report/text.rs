//! The report as text, for logs and support tickets.

use super::rejection::Rejection;
use super::{
    AlternativeReport, ConstantReport, GroupReport, MapReport, Outcome, ProgramReport, StartupReport, Status,
};
use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;
use core_relo::Escaped;
use core_relo_verdict::{
    judge::{NeededFeature, Verdict},
    kernel::{Answer, Evidence},
};

/// The bytes of a reason that the text shows. JSON has all.
const SHOWN_BYTES: usize = 400;

/// The features of one kind that the text shows. JSON has all.
const SHOWN_FEATURES: usize = 24;

/// The characters of a line of features.
const LINE_CHARS: usize = 100;

/// The kinds of features by the start of their names. The names without the start are those of the command
/// `feature`.
const FEATURE_KINDS: [(&str, &str); 7] = [
    ("attach type ", "attach types"),
    ("function ", "functions"),
    ("helper ", "helpers"),
    ("kfunc ", "kfuncs"),
    ("links of attach type ", "links of attach types"),
    ("map type ", "map types"),
    ("program type ", "program types"),
];

impl fmt::Display for StartupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.object.is_empty() { "object" } else { &self.object };
        writeln!(f, "{}: {}", Escaped(name), self.outcome.sentence())?;
        let kernel = &self.kernel;
        let release = kernel.release.as_deref().unwrap_or("release unknown");
        write!(f, "  kernel    {}", Escaped(release))?;
        if let Some(architecture) = &kernel.architecture {
            write!(f, " ({})", Escaped(architecture))?;
        }
        match &kernel.btf_source {
            Some(source) => writeln!(f, ", types from {}", Escaped(source))?,
            None => writeln!(f, ", without BTF")?,
        }
        if let Some(cause) = &self.unjudged {
            writeln!(
                f,
                "  verdict   none, so that the alternatives were tried in their order: {}",
                Escaped(cause)
            )?;
        }
        self.groups.iter().try_for_each(|group| write!(f, "{}", GroupText(group, self.outcome)))?;
        let failed_group = self.failed_group();
        self.programs
            .iter()
            .try_for_each(|program| write!(f, "{}", ProgramText(program, self.outcome, failed_group)))?;
        for MapReport { name, rejection } in &self.maps {
            match rejection {
                Some(rejection) => {
                    writeln!(f, "  map       {}: left out", Escaped(name))?;
                    write!(f, "{}", RejectionText(rejection))?;
                }
                None => writeln!(f, "  map       {}: not created, no loaded program uses it", Escaped(name))?,
            }
        }
        self.constants.iter().try_for_each(|constant| write!(f, "{}", ConstantText(constant)))?;
        write_features(f, &self.features)?;
        for link in &self.links {
            let how = if link.is_kernel_link {
                "kernel link"
            } else {
                "no kernel link: this kernel attaches it in the older way"
            };
            writeln!(f, "  link      {} ({how})", Escaped(&link.label))?;
        }
        for needed in &self.capabilities {
            let held = match (needed.is_held, needed.needs_token) {
                (Some(true), false) => "; this process has it",
                (Some(true), true) => "; this process has it with a BPF token",
                (Some(false), false) => "; this process lacks it",
                (Some(false), true) => {
                    "; this process lacks it: in a user namespace, it counts only with a BPF token"
                }
                (None, _) => "",
            };
            let programs = if needed.program_count == 1 { "program" } else { "programs" };
            writeln!(
                f,
                "  needs     {} for {} {programs}{held}",
                needed.capability.name(),
                needed.program_count
            )?;
        }
        if self.attempts > 1 {
            writeln!(f, "  attempts  {}", self.attempts)?;
        }
        Ok(())
    }
}

/// Prints the features that the kernel has by kind, and each that it lacks or that is unknown with the
/// evidence.
fn write_features(f: &mut fmt::Formatter<'_>, features: &[NeededFeature]) -> fmt::Result {
    let (mut by_kind, mut sources) = (BTreeMap::<_, Vec<&str>>::new(), BTreeSet::new());
    for NeededFeature { name, answer, .. } in features {
        let Answer::Present(evidence) = answer else { continue };
        sources.insert(evidence.source);
        let kind = FEATURE_KINDS.iter().find_map(|(prefix, kind)| Some((*kind, name.strip_prefix(prefix)?)));
        let (kind, name) = kind.unwrap_or(("other", name));
        by_kind.entry(kind).or_default().push(name);
    }
    if !by_kind.is_empty() {
        let sources: Vec<_> = sources.iter().map(|source| source.word()).collect();
        writeln!(f, "  features  present by {}; a policy may still refuse their use", sources.join(", "))?;
    }
    for (kind, names) in by_kind {
        write_list(f, kind, &names)?;
    }
    features.iter().try_for_each(|NeededFeature { name, answer, .. }| match answer {
        Answer::Present(_) => Ok(()),
        Answer::Absent(Evidence { source, text }) => {
            let name = Escaped(shortened(name));
            writeln!(f, "  lacks     {name} [{source}: {}]", Escaped(shortened(text)))
        }
        Answer::Unknown(question) => {
            writeln!(f, "  unknown   {}: {}", Escaped(shortened(name)), Escaped(shortened(question)))
        }
    })
}

/// Prints names after their kind, in lines of at most [`LINE_CHARS`] characters unless a name is longer.
fn write_list(f: &mut fmt::Formatter<'_>, kind: &str, names: &[&str]) -> fmt::Result {
    let mut line = format!("    {kind}:");
    for (number, name) in (1..).zip(names.iter().take(SHOWN_FEATURES)) {
        let is_last = number == names.len();
        let word = format!(" {}{}", Escaped(shortened(name)), if is_last { "" } else { "," });
        if line.chars().chain(word.chars()).count() > LINE_CHARS {
            writeln!(f, "{line}")?;
            "     ".clone_into(&mut line);
        }
        line.push_str(&word);
    }
    match names.len().checked_sub(SHOWN_FEATURES) {
        Some(more) if more > 0 => writeln!(f, "{line} and {more} more"),
        _ => writeln!(f, "{line}"),
    }
}

impl Outcome {
    const fn sentence(self) -> &'static str {
        match self {
            Self::Planned => "chosen for this kernel, nothing is loaded",
            Self::Loaded => "loaded",
            Self::Attached => "loaded and attached",
            Self::Failed => "not loaded",
        }
    }

    /// Returns the word for a part that is used.
    const fn used(self) -> &'static str {
        match self {
            Self::Planned => "chosen",
            Self::Loaded | Self::Attached => "loaded",
            Self::Failed => "not loaded",
        }
    }
}

struct GroupText<'r>(&'r GroupReport, Outcome);

impl fmt::Display for GroupText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(group, outcome) = self;
        let chosen = group.chosen.and_then(|chosen| (1_usize..).zip(&group.alternatives).nth(chosen));
        write!(f, "  group     {}: ", Escaped(&group.name))?;
        match chosen {
            Some((number, alternative)) => {
                let count = group.alternatives.len();
                let programs = alternative.programs.join(" + ");
                writeln!(f, "{} {}, alternative {number} of {count}", Escaped(&programs), outcome.used())?;
            }
            None if group.is_optional => writeln!(f, "left out, none of its alternatives works")?,
            None => writeln!(f, "none of its alternatives works")?,
        }
        for AlternativeReport { programs, status, rejections, verdict, doubts } in &group.alternatives {
            if *status == Status::NotNeeded {
                writeln!(f, "    {}: not needed", Escaped(&programs.join(" + ")))?;
            }
            rejections.iter().try_for_each(|rejection| {
                write!(f, "    {}: {}", Escaped(&rejection.name), RejectionReasons(rejection))
            })?;
            write_doubts(f, &programs.join(" + "), *verdict, doubts)?;
        }
        Ok(())
    }
}

/// A program, the outcome, and the group at which the load failed.
struct ProgramText<'r>(&'r ProgramReport, Outcome, Option<&'r GroupReport>);

impl fmt::Display for ProgramText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(program, outcome, failed_group) = self;
        let name = Escaped(&program.name);
        match (program.status, &program.rejection) {
            (Status::Used, _) => match failed_group {
                Some(group) if *outcome == Outcome::Failed => {
                    let group = Escaped(&group.name);
                    writeln!(f, "  program   {name}: not loaded: the load failed at group {group}")?;
                }
                _ => writeln!(f, "  program   {name}: {}", outcome.used())?,
            },
            (_, Some(rejection)) => {
                write!(f, "  program   {name}: left out\n{}", RejectionText(rejection))?;
            }
            _ => writeln!(f, "  program   {name}: not selected")?,
        }
        write_doubts(f, &program.name, program.verdict, &program.doubts)
    }
}

/// Prints why the verdict on a program that was tried is not `loads`.
fn write_doubts(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    verdict: Option<Verdict>,
    doubts: &[String],
) -> fmt::Result {
    let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Loads) else { return Ok(()) };
    doubts.iter().try_for_each(|doubt| {
        writeln!(f, "    {}: the verdict is {verdict}: {}", Escaped(name), Escaped(shortened(doubt)))
    })
}

/// A rejection on lines of its own.
struct RejectionText<'r>(&'r Rejection);

impl fmt::Display for RejectionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "    {}", RejectionReasons(self.0))
    }
}

/// The stage, the reasons and the verifier's last line.
struct RejectionReasons<'r>(&'r Rejection);

impl fmt::Display for RejectionReasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rejection { stage, reasons, log_line, .. } = self.0;
        let (first, others) = reasons.split_first().map_or(("", &[][..]), |(first, others)| (first, others));
        writeln!(f, "{}: {}", stage.sentence(), Escaped(shortened(first)))?;
        others.iter().try_for_each(|reason| writeln!(f, "      also: {}", Escaped(shortened(reason))))?;
        match log_line {
            Some(line) => writeln!(f, "      verifier: {}", Escaped(shortened(line))),
            None => Ok(()),
        }
    }
}

struct ConstantText<'r>(&'r ConstantReport);

impl fmt::Display for ConstantText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConstantReport { global, meaning, value, absence } = self.0;
        let (global, meaning) = (Escaped(global), Escaped(meaning));
        match (value, absence) {
            (Some(value), _) => writeln!(f, "  constant  {global} = {value}, {meaning}"),
            (None, Some(absence)) => {
                writeln!(
                    f,
                    "  constant  {global} keeps its value, {meaning}: {}",
                    Escaped(shortened(absence))
                )
            }
            (None, None) => writeln!(f, "  constant  {global} keeps its value, {meaning}"),
        }
    }
}

/// Returns the start of a text, up to [`SHOWN_BYTES`].
fn shortened(text: &str) -> &str {
    let end = (0..=SHOWN_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}
