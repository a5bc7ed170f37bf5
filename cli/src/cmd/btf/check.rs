//! `btf check`: the violations of the kernel's rules for BTF, and for the `func_info` and `line_info` of
//! programs.

use crate::{
    args::btf_check::BtfCheckArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    format::Format,
    text::{line::Line, style},
};
use core_relo::{
    Name,
    btf::{BtfPlace, BtfViolation, BtfViolations, Element, KernelBtfRules, Violations, kernel_violations},
    ext::{InfoPlace, InfoViolation},
};
use core_relo_kernels::{
    Limits,
    btf_file::read_unpacked,
    file_kind::{btf_endian, is_elf},
};
use core_relo_loader::{
    ProgramIndex,
    link::{ProgramLinker, SentTypes},
    load_plan::SentBtf,
    object::Object,
};
use serde::Serialize;
use std::{fmt, io, path::Path};

/// A violation as a line of JSON.
#[derive(Debug, Default, Serialize)]
struct ViolationJson<'v> {
    /// The program of the records or of the function; `null` for a violation of the BTF.
    program: Option<String>,
    /// The id of the type; `null` for the header and for programs.
    r#type: Option<u32>,
    kind: Option<&'static str>,
    name: Option<String>,
    /// `member`, `enumerator`, `parameter` or `entry`; `null` for the type itself. Of a program `func_info`,
    /// `line_info` or `function`.
    place: Option<&'static str>,
    /// The index of the member, enumerator, parameter, entry, record or function; `null` for all records.
    index: Option<u32>,
    /// The name of the member, enumerator, parameter, entry or function.
    element: Option<String>,
    problem: String,
    /// The words of the kernel's log.
    kernel_message: Option<&'v str>,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfCheckArgs) -> CommandResult {
    let rules = args.kernel_version.map_or_else(KernelBtfRules::newest, |version| {
        KernelBtfRules::of_release(version.major, version.minor)
    });
    let bytes = read_unpacked(&args.path, Limits::default().bytes)?;
    let mut report = Report { console, format: args.format, is_empty: true };
    if is_elf(&bytes) {
        let object = Object::parse(&bytes).map_err(|cause| BadInput::for_path(&args.path, cause))?;
        let checked = CheckedObject::new(&object, &args.path)?;
        let sent = checked.sent.bytes(&rules).map_err(|cause| BadInput::for_path(&args.path, cause))?;
        report.add_types(&kernel_violations(&sent, &rules))?;
        checked.check_programs(&rules, &mut report)?;
    } else if btf_endian(&bytes).is_some() {
        report.add_types(&kernel_violations(&bytes, &rules))?;
    } else {
        return Err(BadInput::for_path(&args.path, "expected a BPF object or raw BTF").into());
    }
    Ok(report.finish()?)
}

/// An object, linked and with the BTF that a loader sends.
struct CheckedObject<'o, 'd> {
    linker: ProgramLinker<'o, 'd>,
    sent: SentBtf,
}

impl<'o, 'd> CheckedObject<'o, 'd> {
    fn new(object: &'o Object<'d>, path: &Path) -> Result<Self, BadInput> {
        let bad = |cause: &dyn fmt::Display| BadInput::for_path(path, cause);
        let linker = ProgramLinker::collect(object).map_err(|cause| bad(&cause))?;
        let sent = SentBtf::new(&linker).map_err(|cause| bad(&cause))?;
        let sent = sent.ok_or_else(|| bad(&"the object has no BTF"))?;
        Ok(Self { linker, sent })
    }

    /// Checks the records of each program, as libbpf sends them.
    fn check_programs(&self, rules: &KernelBtfRules, report: &mut Report<'_, '_>) -> io::Result<()> {
        let object = self.linker.object();
        let Some(btf) = object.btf() else { return Ok(()) };
        let types = SentTypes { btf, string_bytes: self.sent.string_bytes() };
        let code: Vec<_> = object.code_sections().iter().map(|section| section.code).collect();
        for (index, program) in (0..).map(ProgramIndex).zip(object.programs()) {
            if program.is_subprogram {
                continue;
            }
            let name = Name::new(program.name());
            match self.linker.link(&code, index) {
                Ok(linked) => report.add_program(name, &linked.info_violations(Some(types), rules))?,
                Err(cause) => report.console.warn(&format!("not checked: {cause}"))?,
            }
        }
        Ok(())
    }
}

/// The output of violations.
struct Report<'r, 'c> {
    console: &'r mut Console<'c>,
    format: Format,
    /// Whether nothing violates a rule.
    is_empty: bool,
}

impl Report<'_, '_> {
    /// Prints the violations of a BTF.
    fn add_types(&mut self, violations: &BtfViolations) -> io::Result<()> {
        self.is_empty &= violations.is_empty();
        for violation in violations.list() {
            match self.format {
                Format::Json => self.console.out.json(&json(violation))?,
                Format::Text => self.console.out.line(Line::new().text(violation))?,
            }
        }
        self.warn_omitted(violations.omitted())
    }

    /// Prints the violations of a program's records.
    fn add_program(&mut self, program: Name<'_>, violations: &Violations<InfoViolation>) -> io::Result<()> {
        self.is_empty &= violations.is_empty();
        let program = program.shortened();
        for violation in violations.list() {
            match self.format {
                Format::Json => self.console.out.json(&info_json(program.to_string(), violation))?,
                Format::Text => {
                    let line = Line::new().text(format_args!("program `{program}`: {violation}"));
                    self.console.out.line(line)?;
                }
            }
        }
        self.warn_omitted(violations.omitted())
    }

    fn warn_omitted(&mut self, count: usize) -> io::Result<()> {
        if count > 0 { self.console.warn(&format!("{count} more violations")) } else { Ok(()) }
    }

    /// Sets the exit status, and says that nothing violates a rule.
    fn finish(self) -> io::Result<()> {
        match self.format {
            _ if !self.is_empty => {
                self.console.raise_exit(ExitStatus::Incompatible);
                Ok(())
            }
            Format::Json => Ok(()),
            Format::Text => {
                self.console.out.line(Line::new().styled(style::GOOD, "the kernel accepts the BTF"))
            }
        }
    }
}

fn json(violation: &BtfViolation) -> ViolationJson<'_> {
    let ty = violation.ty.as_ref();
    let (place, element) = place(&violation.place);
    ViolationJson {
        r#type: ty.map(|ty| ty.id.0),
        kind: ty.map(|ty| ty.kind.name()),
        name: ty.and_then(|ty| name(ty.name())),
        place,
        index: element.map(|element| element.index),
        element: element.and_then(|element| name(element.name())),
        problem: violation.rule.to_string(),
        kernel_message: violation.kernel_message(),
        ..ViolationJson::default()
    }
}

fn info_json(program: String, violation: &InfoViolation) -> ViolationJson<'_> {
    let (place, index, element) = match &violation.place {
        InfoPlace::FuncInfo => (Some("func_info"), None, None),
        InfoPlace::FuncInfoRecord(index) => (Some("func_info"), Some(*index), None),
        InfoPlace::LineInfo => (Some("line_info"), None, None),
        InfoPlace::LineInfoRecord(index) => (Some("line_info"), Some(*index), None),
        InfoPlace::Function(function) => (Some("function"), Some(function.index), name(function.name())),
        _ => (None, None, None),
    };
    ViolationJson {
        program: Some(program),
        place,
        index,
        element,
        problem: violation.rule.to_string(),
        kernel_message: violation.kernel_message(),
        ..ViolationJson::default()
    }
}

/// Returns a name for JSON. `None` if it is empty.
fn name(name: Name<'_>) -> Option<String> {
    (!name.is_empty()).then(|| name.shortened().to_string())
}

/// Returns the word for a place, and the element.
fn place(place: &BtfPlace) -> (Option<&'static str>, Option<&Element>) {
    match place {
        BtfPlace::Member(element) => (Some("member"), Some(element)),
        BtfPlace::Enumerator(element) => (Some("enumerator"), Some(element)),
        BtfPlace::Parameter(element) => (Some("parameter"), Some(element)),
        BtfPlace::Entry(element) => (Some("entry"), Some(element)),
        _ => (None, None),
    }
}
