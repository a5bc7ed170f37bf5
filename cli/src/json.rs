//! The same values as JSON lines. The order and names of keys are documented in docs/json.md.

use crate::{
    error::BadInput,
    input::target::{Kernel, order},
    render::{planned, style},
};
use core_relo::{
    Name,
    escape::needs_escape,
    explain::{self, Explainer, TriedCandidate, reason},
    plan::PlannedReloc,
};
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Writes a value as JSON in which all characters that [`needs_escape`] become a `\u` and four hex digits.
pub(crate) fn write(out: impl Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Escaping)).map_err(io::Error::from)
}

/// JSON that [`write`] made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Json(Vec<u8>);

impl Json {
    /// An object on a line of its own.
    pub(crate) fn line(object: &impl Serialize) -> io::Result<Self> {
        let mut line = Self::default();
        line.push_value(object)?;
        line.push_syntax("\n");
        Ok(line)
    }

    /// The keys and values of an object, without the braces.
    pub(crate) fn members(object: &impl Serialize) -> io::Result<Self> {
        let mut json = Self::default();
        json.push_value(object)?;
        let members = json.0.strip_prefix(b"{").and_then(|json| json.strip_suffix(b"}"));
        members.map(|members| Self(members.to_vec())).ok_or_else(|| io::Error::other("JSON: not an object"))
    }

    /// Adds a value.
    pub(crate) fn push_value(&mut self, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        write(&mut self.0, value)
    }

    /// Adds braces, keys and the like.
    pub(crate) fn push_syntax(&mut self, text: &'static str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds other JSON.
    pub(crate) fn push(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Makes room for so many more bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.0.reserve_exact(bytes);
    }

    /// Gives back the memory that it does not use.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Returns how many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns how many bytes it takes in memory.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// serde_json escapes quotes, backslashes and the control characters below the space; this escapes the others.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| needs_escape(*c)) {
            out.write_all(rest.get(..at).unwrap_or_default().as_bytes())?;
            // A character beyond the first 65,536 is a pair of them.
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
            rest = rest.get(at + c.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

/// Bad input.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure {
    error: ErrorText,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErrorText {
    file: String,
    what: String,
    help: Option<String>,
}

impl Failure {
    pub(crate) fn new(bad: &BadInput) -> Self {
        Self { error: ErrorText::new(bad) }
    }
}

impl ErrorText {
    pub(crate) fn new(bad: &BadInput) -> Self {
        Self { file: bad.file.clone(), what: bad.what.clone(), help: bad.help.clone() }
    }
}

/// Where a record is, in the source and in the object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceLine {
    pub(crate) file: String,
    pub(crate) line: u32,
    column: u32,
    text: String,
}

impl SourceLine {
    pub(crate) fn of(planned: &PlannedReloc<'_>) -> Option<Self> {
        let s = planned.source()?;
        let (file, text) = (s.file.shortened().to_string(), s.text.shortened().to_string());
        Some(Self { file, line: s.line, column: s.column, text })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Local {
    type_id: u32,
    spec: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct InTarget {
    btf: String,
    type_id: u32,
    spec: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Candidate {
    btf: String,
    type_id: u32,
    spec: String,
    verdict: String,
    matched: bool,
}

/// One record of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Relocation<'a> {
    object: &'a str,
    target: &'a str,
    section: String,
    program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
    local: Local,
    outcome: &'static str,
    local_value: Option<u64>,
    target_value: Option<u64>,
    before: Option<String>,
    after: Option<String>,
    source: Option<SourceLine>,
    candidates: Vec<Candidate>,
    reason: String,
    target_spec: Option<InTarget>,
    warning: Option<String>,
    candidates_left_out: usize,
}

impl<'a> Relocation<'a> {
    pub(crate) fn new<'p>(
        object: &'a str,
        kernel: &'a Kernel,
        planned: &PlannedReloc<'p>,
        explainer: &mut Explainer<'p>,
    ) -> Self {
        let record = planned.record();
        let (candidates, candidates_left_out) = candidates(planned, explainer.tried(planned));
        let endian = planned.btf().endian();
        let spec = planned.local_spec().map(|spec| explain::text(spec.text(planned.btf())));
        Self {
            object,
            target: &kernel.name,
            section: record.section.shortened().to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            local: Local { type_id: record.relo.root.0, spec },
            outcome: style::outcome(&planned.decision()),
            local_value: planned.local_value(),
            target_value: planned.target_value(),
            before: planned.before().map(|slot| slot.hex(endian).to_string()),
            after: planned.after().map(|slot| slot.hex(endian).to_string()),
            source: SourceLine::of(planned),
            candidates,
            reason: reason(planned),
            target_spec: planned.target_spec().map(|(source, spec)| InTarget {
                btf: source.name.clone(),
                type_id: spec.root.0,
                spec: explain::text(spec.text(&source.btf)),
            }),
            warning: planned::warning(planned),
            candidates_left_out,
        }
    }
}

/// The candidates that are listed, and how many are not.
fn candidates(planned: &PlannedReloc<'_>, tried: Vec<TriedCandidate>) -> (Vec<Candidate>, usize) {
    let left_out = planned.candidate_count().saturating_sub(tried.len());
    let one = |tried: TriedCandidate| Candidate {
        spec: tried.spec.unwrap_or_else(|| format!("[{}] {}", tried.type_id, tried.what)),
        btf: tried.btf,
        type_id: tried.type_id.0,
        verdict: tried.verdict,
        matched: tried.matched,
    };
    (tried.into_iter().map(one).collect(), left_out)
}

/// One record explained.
#[derive(Debug, Serialize)]
pub(crate) struct Explained<'a> {
    object: &'a str,
    target: &'a str,
    section: String,
    program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
    outcome: &'static str,
    source: Option<SourceLine>,
    access: String,
    local: String,
    reason: String,
    tried: Vec<Candidate>,
    near: Vec<String>,
    help: Vec<String>,
    warning: Option<String>,
    tried_left_out: usize,
}

impl<'a> Explained<'a> {
    pub(crate) fn new<'p>(
        object: &'a str,
        kernel: &'a Kernel,
        planned: &PlannedReloc<'p>,
        explainer: &mut Explainer<'p>,
    ) -> Self {
        let record = planned.record();
        let explanation = explainer.explain(planned);
        let (tried, tried_left_out) = candidates(planned, explanation.tried);
        Self {
            object,
            target: &kernel.name,
            section: record.section.shortened().to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            outcome: style::outcome(&planned.decision()),
            source: SourceLine::of(planned),
            tried,
            access: explanation.access,
            local: explanation.local,
            reason: explanation.reason,
            near: explanation.near,
            help: explanation.help,
            warning: planned::warning(planned),
            tried_left_out,
        }
    }
}

/// A name from a file.
pub(crate) fn text(name: &[u8]) -> String {
    Name::new(name).to_string()
}

/// A byte order's name.
pub(crate) fn byte_order(endian: core_relo::Endian) -> &'static str {
    order(endian)
}
