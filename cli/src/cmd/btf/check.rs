//! `btf check`: the violations of the kernel's rules for BTF.

use crate::{
    args::{btf_check::BtfCheckArgs, format::Format},
    console::{Console, ExitStatus},
    error::BadInput,
    input::{
        btf_file::read_unpacked,
        file_kind::{btf_endian, is_elf},
        limits::Limits,
    },
    text::{line::Line, style},
};
use core_relo::btf::{BtfPlace, BtfViolation, BtfViolations, Element, KernelBtfRules, kernel_violations};
use core_relo_loader::{link::ProgramLinker, load_plan::SentBtf, object::Object};
use serde::Serialize;
use std::io;

/// A violation as a line of JSON.
#[derive(Debug, Serialize)]
struct ViolationJson<'v> {
    /// The id of the type; `null` for the header.
    r#type: Option<u32>,
    kind: Option<&'static str>,
    name: Option<String>,
    /// `member`, `enumerator`, `parameter` or `entry`; `null` for the type itself.
    place: Option<&'static str>,
    /// The index of the member, enumerator, parameter or entry.
    index: Option<u32>,
    /// The name of the member, enumerator, parameter or entry.
    element: Option<String>,
    problem: String,
    /// The words of the kernel's log.
    kernel_message: Option<&'v str>,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfCheckArgs) -> io::Result<()> {
    let rules = args.kernel_version.map_or_else(KernelBtfRules::newest, |version| {
        KernelBtfRules::of_release(version.major, version.minor)
    });
    let violations = match find_violations(args, &rules) {
        Ok(violations) => violations,
        Err(bad) => return console.report_error(&bad),
    };
    for violation in violations.list() {
        match args.format {
            Format::Json => console.out.json(&json(violation))?,
            Format::Text => console.out.line(Line::new().text(violation))?,
        }
    }
    if violations.omitted() > 0 {
        console.warn(&format!("{} more violations", violations.omitted()))?;
    }
    if violations.is_empty() {
        return match args.format {
            Format::Json => Ok(()),
            Format::Text => console.out.line(Line::new().styled(style::GOOD, "the kernel accepts the BTF")),
        };
    }
    console.raise_exit(ExitStatus::Incompatible);
    Ok(())
}

/// Returns the violations of a file: of the BTF of an object as a loader sends it, or of raw BTF.
fn find_violations(args: &BtfCheckArgs, rules: &KernelBtfRules) -> Result<BtfViolations, BadInput> {
    let path = &args.path;
    let bad = |cause: &dyn std::fmt::Display| BadInput::for_path(path, cause);
    let bytes = read_unpacked(path, Limits::default().bytes)?;
    if !is_elf(&bytes) {
        return match btf_endian(&bytes) {
            Some(_) => Ok(kernel_violations(&bytes, rules)),
            None => Err(bad(&"expected a BPF object or raw BTF")),
        };
    }
    let object = Object::parse(&bytes).map_err(|cause| bad(&cause))?;
    let linker = ProgramLinker::collect(&object).map_err(|cause| bad(&cause))?;
    let sent = SentBtf::new(&linker).map_err(|cause| bad(&cause))?;
    let sent = sent.ok_or_else(|| bad(&"the object has no BTF"))?;
    let sent = sent.bytes(rules).map_err(|cause| bad(&cause))?;
    Ok(kernel_violations(&sent, rules))
}

fn json(violation: &BtfViolation) -> ViolationJson<'_> {
    let ty = violation.ty.as_ref();
    let (place, element) = place(&violation.place);
    let name = |name: core_relo::Name<'_>| (!name.is_empty()).then(|| name.shortened().to_string());
    ViolationJson {
        r#type: ty.map(|ty| ty.id.0),
        kind: ty.map(|ty| ty.kind.name()),
        name: ty.and_then(|ty| name(ty.name())),
        place,
        index: element.map(|element| element.index),
        element: element.and_then(|element| name(element.name())),
        problem: violation.rule.to_string(),
        kernel_message: violation.kernel_message(),
    }
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
