//! The same values as JSON lines. The order and names of keys are documented in docs/json.md.

use crate::{
    error::BadInput,
    input::target::{Kernel, order},
    render::{planned, style},
};
use core_relo::{
    Name,
    explain::{Explanation, explain, reason},
    plan::{Planned, Verdict},
};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use std::{
    io::{self, Write},
    sync::{Arc, OnceLock},
};

/// Writes one object and ends the line.
pub(crate) fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")
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
    file: String,
    line: u32,
    column: u32,
    text: String,
}

impl SourceLine {
    pub(crate) fn of(planned: &Planned<'_>) -> Option<Self> {
        let s = planned.source()?;
        Some(Self { file: s.file.to_string(), line: s.line, column: s.column, text: s.text.to_string() })
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
}

impl<'a> Relocation<'a> {
    pub(crate) fn new(object: &'a str, kernel: &'a Kernel, planned: &Planned<'_>) -> Self {
        let record = planned.record();
        let explanation = explain(planned);
        let endian = planned.btf().endian();
        let spec = planned.local_spec().map(|spec| spec.text(planned.btf()).to_string());
        Self {
            object,
            target: &kernel.name,
            section: record.section.to_string(),
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
            candidates: candidates(planned, &explanation),
            reason: explanation.reason,
            target_spec: planned.target_spec().map(|(source, spec)| InTarget {
                btf: source.name.clone(),
                type_id: spec.root.0,
                spec: spec.text(&source.btf).to_string(),
            }),
            warning: planned::warning(planned),
        }
    }
}

fn candidates(planned: &Planned<'_>, explanation: &Explanation) -> Vec<Candidate> {
    let specs = planned.tried().map(|tried| match &tried.verdict {
        Verdict::Match(spec) => Some(spec.text(&tried.source.btf).to_string()),
        _ => None,
    });
    let one = |(tried, spec): (&core_relo::explain::TriedCandidate, Option<String>)| Candidate {
        btf: tried.btf.clone(),
        type_id: tried.type_id.0,
        spec: spec.unwrap_or_else(|| format!("[{}] {}", tried.type_id, tried.what)),
        verdict: tried.verdict.clone(),
        matched: tried.matched,
    };
    explanation.tried.iter().zip(specs).map(one).collect()
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
}

impl<'a> Explained<'a> {
    pub(crate) fn new(object: &'a str, kernel: &'a Kernel, planned: &Planned<'_>) -> Self {
        let record = planned.record();
        let explanation = explain(planned);
        Self {
            object,
            target: &kernel.name,
            section: record.section.to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            outcome: style::outcome(&planned.decision()),
            source: SourceLine::of(planned),
            tried: candidates(planned, &explanation),
            access: explanation.access,
            local: explanation.local,
            reason: explanation.reason,
            near: explanation.near,
            help: explanation.help,
            warning: planned::warning(planned),
        }
    }
}

/// An object on a kernel.
#[derive(Debug, Serialize)]
pub(crate) struct Checked<'a> {
    pub(crate) object: Option<&'a str>,
    pub(crate) target: Option<&'a str>,
    pub(crate) kept: usize,
    pub(crate) patched: usize,
    pub(crate) poisoned: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    pub(crate) verdict: &'static str,
    pub(crate) relocations: &'a [Unresolved],
    pub(crate) error: Option<ErrorText>,
}

/// A record that does not resolve.
#[derive(Clone, Debug)]
pub(crate) struct Unresolved {
    pub(crate) record: Arc<Record>,
    pub(crate) outcome: &'static str,
    pub(crate) reason: String,
}

/// What is to say of a record whatever the kernel.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) section: String,
    pub(crate) program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
    pub(crate) access: String,
    source: Option<SourceLine>,
}

impl Unresolved {
    pub(crate) fn new(planned: &Planned<'_>) -> Self {
        Self::again(planned, &OnceLock::new())
    }

    /// `record` holds what was said of it on another kernel, if it was unresolved there.
    pub(crate) fn again(planned: &Planned<'_>, record: &OnceLock<Arc<Record>>) -> Self {
        Self {
            record: Arc::clone(record.get_or_init(|| Arc::new(Record::new(planned)))),
            outcome: style::outcome(&planned.decision()),
            reason: reason(planned),
        }
    }
}

impl Serialize for Unresolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Record { section, program, relocation, insn, kind, access, source } = &*self.record;
        let mut object = serializer.serialize_struct("Unresolved", 9)?;
        object.serialize_field("section", section)?;
        object.serialize_field("program", program)?;
        object.serialize_field("relocation", relocation)?;
        object.serialize_field("insn", insn)?;
        object.serialize_field("kind", kind)?;
        object.serialize_field("outcome", self.outcome)?;
        object.serialize_field("access", access)?;
        object.serialize_field("source", source)?;
        object.serialize_field("reason", &self.reason)?;
        object.end()
    }
}

impl Record {
    fn new(planned: &Planned<'_>) -> Self {
        let record = planned.record();
        let access = match planned.local_spec() {
            Some(spec) => spec.access_text(planned.btf()).to_string(),
            None => format!("type [{}]", record.relo.root),
        };
        Self {
            section: record.section.to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            access,
            source: SourceLine::of(planned),
        }
    }

    /// `exec.bpf.c:41`, or the place in the object.
    pub(crate) fn place(&self) -> String {
        match &self.source {
            Some(source) => format!("{}:{}", source.file, source.line),
            None => format!("{} relocation {}", self.section, self.relocation),
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
