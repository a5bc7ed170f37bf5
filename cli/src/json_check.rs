//! The lines of `check`. What is said of an object, or of one of its records, on each kernel alike is made JSON once.

use crate::{
    json::{ErrorText, Json, SourceLine},
    render::{planned, style},
};
use core_relo::{
    explain::{reason, text},
    plan::{Decision, PlannedReloc, PoisonReason, Summary},
};
use serde::{Serialize, Serializer};
use std::{
    io,
    sync::{Arc, OnceLock},
};

/// An object on a kernel.
#[derive(Debug, Serialize)]
pub(crate) struct Checked<'a> {
    pub(crate) object: Option<&'a str>,
    pub(crate) target: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) counts: Counts,
    pub(crate) relocations: &'a [Unresolved],
    pub(crate) error: Option<ErrorText>,
    pub(crate) target_id: Option<&'a str>,
}

/// How many records came to what.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Counts {
    kept: usize,
    patched: usize,
    poisoned: usize,
    failed: usize,
    skipped: usize,
    verdict: &'static str,
}

impl Counts {
    pub(crate) fn new(summary: Summary, verdict: &'static str) -> Self {
        let Summary { kept, patched, poisoned, failed, skipped, .. } = summary;
        Self { kept, patched, poisoned, failed, skipped, verdict }
    }
}

/// The line of an object up to the kernel's name.
pub(crate) fn begin(object: &str) -> io::Result<Json> {
    let mut line = Json::default();
    line.push_syntax(r#"{"object":"#);
    line.push_value(object)?;
    line.push_syntax(r#","target":"#);
    Ok(line)
}

/// The line after the kernel's name, up to its identity, to which relocations are added one by one.
#[derive(Debug)]
pub(crate) struct Rest {
    line: Json,
    is_first: bool,
}

impl Rest {
    pub(crate) fn new(counts: Counts) -> io::Result<Self> {
        let mut line = Json::default();
        line.push_syntax(",");
        line.push(&Json::members(&counts)?);
        line.push_syntax(r#","relocations":["#);
        Ok(Self { line, is_first: true })
    }

    pub(crate) fn add(&mut self, unresolved: &Unresolved) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.line.push_syntax(",");
        }
        unresolved.write(&mut self.line)
    }

    pub(crate) fn finish(mut self) -> Json {
        self.line.push_syntax("],\"error\":null,\"target_id\":");
        self.line.shrink();
        self.line
    }
}

/// The kernel's identity and the end of the line.
pub(crate) fn end(target_id: Option<&str>) -> io::Result<Json> {
    let mut end = Json::default();
    end.push_value(&target_id)?;
    end.push_syntax("}\n");
    Ok(end)
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
    pub(crate) place: Place,
    pub(crate) accessed: Accessed,
    /// Their members.
    json: OnceLock<[Json; 2]>,
    /// What is said where there is no type of the name.
    no_candidates: OnceLock<String>,
}

/// Where a record is in the object, and what it asks.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) section: String,
    pub(crate) program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
}

/// What it asks it of, and where that stands in the source.
#[derive(Debug, Serialize)]
pub(crate) struct Accessed {
    pub(crate) access: String,
    source: Option<SourceLine>,
}

impl Unresolved {
    pub(crate) fn new(planned: &PlannedReloc<'_>) -> Self {
        Self::again(planned, &OnceLock::new())
    }

    /// `record` holds what was said of it on another kernel, if it was unresolved there.
    pub(crate) fn again(planned: &PlannedReloc<'_>, record: &OnceLock<Arc<Record>>) -> Self {
        let record = record.get_or_init(|| Arc::new(Record::new(planned)));
        let decision = planned.decision();
        let outcome = style::outcome(&decision);
        let no_candidates = matches!(decision, Ok(Decision::Poison { why: PoisonReason::NoCandidates, .. }));
        // The number of modules would be said. All kernels are called the same.
        let reason = match no_candidates && planned.target().module_count() == 0 {
            true => record.no_candidates.get_or_init(|| reason(planned)).clone(),
            false => reason(planned),
        };
        Self { record: Arc::clone(record), outcome, reason }
    }

    /// The same as [`Serialize`] gives.
    fn write(&self, out: &mut Json) -> io::Result<()> {
        let [place, accessed] = self.record.json()?;
        out.push_syntax("{");
        out.push(place);
        out.push_syntax(r#","outcome":"#);
        out.push_value(self.outcome)?;
        out.push_syntax(",");
        out.push(accessed);
        out.push_syntax(r#","reason":"#);
        out.push_value(&*self.reason)?;
        out.push_syntax("}");
        Ok(())
    }
}

impl Serialize for Unresolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'u> {
            #[serde(flatten)]
            place: &'u Place,
            outcome: &'u str,
            #[serde(flatten)]
            accessed: &'u Accessed,
            reason: &'u str,
        }
        let Record { place, accessed, .. } = &*self.record;
        Whole { place, outcome: self.outcome, accessed, reason: &self.reason }.serialize(serializer)
    }
}

impl Record {
    fn new(planned: &PlannedReloc<'_>) -> Self {
        let record = planned.record();
        let access = match planned.local_spec() {
            Some(spec) => text(spec.access_text(planned.btf())),
            None => format!("type [{}]", record.relo.root),
        };
        let place = Place {
            section: record.section.shortened().to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
        };
        let accessed = Accessed { access, source: SourceLine::of(planned) };
        Self { place, accessed, json: OnceLock::new(), no_candidates: OnceLock::new() }
    }

    fn json(&self) -> io::Result<&[Json; 2]> {
        if let Some(json) = self.json.get() {
            return Ok(json);
        }
        let json = [Json::members(&self.place)?, Json::members(&self.accessed)?];
        Ok(self.json.get_or_init(|| json))
    }

    /// `exec.bpf.c:41`, or the place in the object.
    pub(crate) fn shown_place(&self) -> String {
        match &self.accessed.source {
            Some(source) => format!("{}:{}", source.file, source.line),
            None => format!("{} relocation {}", self.place.section, self.place.relocation),
        }
    }

    /// The program or subprogram, or the section if there is none.
    pub(crate) fn shown_program(&self) -> &str {
        self.place.program.as_deref().unwrap_or(&self.place.section)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn lines_put_together_are_those_of_serde() {
        let record = |program: Option<&str>, section: &str| Record {
            place: Place {
                section: section.to_owned(),
                program: program.map(str::to_owned),
                relocation: 7,
                insn: program.map(|_| 3),
                kind: "field_exists".to_owned(),
            },
            accessed: Accessed { access: "struct \"s\"\n::ü".to_owned(), source: None },
            json: OnceLock::new(),
            no_candidates: OnceLock::new(),
        };
        let unresolved = |record, reason: &str| Unresolved {
            record: Arc::new(record),
            outcome: "poison",
            reason: reason.to_owned(),
        };
        let summary = Summary::default();
        let all = [unresolved(record(Some("a"), "tp/x"), "no `\u{1}\\`"), unresolved(record(None, ""), "")];
        for relocations in [&all[..0], &all[..1], &all[..], &all[..]] {
            let (object, target) = ("a\"b\t/é.o", "k\\\u{7f}/\u{1}");
            let counts = Counts::new(summary, "poisoned");
            for target_id in [None, Some("file:a%20\"b")] {
                let (error, target) = (None, Some(target));
                let checked = Checked { object: Some(object), target, counts, relocations, error, target_id };
                let mut line = begin(object).unwrap();
                line.push_value(target.unwrap()).unwrap();
                let mut rest = Rest::new(counts).unwrap();
                relocations.iter().try_for_each(|unresolved| rest.add(unresolved)).unwrap();
                line.push(&rest.finish());
                line.push(&end(target_id).unwrap());
                assert_eq!(line, Json::line(&checked).unwrap());
                assert!(line.as_bytes().iter().all(|byte| *byte != 0x7f));
            }
        }
    }
}
