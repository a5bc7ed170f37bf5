//! Warnings about programs that load and cannot be attached.

use super::{
    answers::KernelAnswers,
    model::{ProgramVerdict, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource},
    loaders::LoaderKind,
    mismatch::{Declarations, Mismatch, MismatchKind},
    requirements::{AttachPointKind, Need, ObjectNeeds, ProgramNeeds},
};
use core_relo::{Name, explain::text};
use core_relo_object::object::{
    AttachType, SectionTarget, SectionTargetError, module_of_prefix, parse_file_offset,
};

/// Returns a warning for each program of the load that the kernel loads, and does not attach: the kernel
/// lacks the events, links or place of its section.
pub(super) fn warnings(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    programs: &[ProgramVerdict],
) -> Vec<Mismatch> {
    let judged = needs.programs.iter().zip(programs);
    let loads = judged.filter(|(own, judged)| own.autoload && judged.verdict != Verdict::Refused);
    loads.filter_map(|(own, _)| warning(needs, answers, own)).collect()
}

fn warning(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    program: &ProgramNeeds,
) -> Option<Mismatch> {
    let section = program.section(needs.object);
    let attach_type = program.sec_def.and_then(|def| def.attach_type);
    // Traffic control attaches the same programs as tcx links, on every kernel. Older names of sections leave
    // the choice to the caller.
    let is_tcx = matches!(attach_type, Some(AttachType::TcxIngress | AttachType::TcxEgress));
    if is_tcx && !section.starts_with(b"tcx/") {
        return None;
    }
    let mut features = answers.attach_features_of(program);
    let absent = features.find_map(|feature| match feature.answer {
        Answer::Absent(Evidence { text, source }) => {
            let cause = match source {
                EvidenceSource::System => "a setting of the system closes",
                _ => "the kernel lacks",
            };
            Some((format!("cannot be attached: {cause} {}", feature.name), text, source))
        }
        _ => None,
    });
    let absent = absent.or_else(|| ambiguous(answers, program)).or_else(|| misread(needs.loader, section));
    let (problem, evidence, source) = absent?;
    let section = text(Name::new(section).shortened());
    let (local, target) = (format!("SEC(\"{section}\")"), format!("{evidence} ({source})"));
    let remedy = match attach_type {
        Some(AttachType::TcxIngress | AttachType::TcxEgress) => {
            "; a caller may attach the program with traffic control (clsact)"
        }
        Some(AttachType::TraceFentry) => "; a caller may load a kprobe (`kprobe/…`) in its place",
        Some(AttachType::TraceFexit) => "; a caller may load a kretprobe (`kretprobe/…`) in its place",
        _ => "",
    };
    let text = format!("{problem}{remedy}");
    let declarations = Declarations { local: &local, target: &target };
    Some(Mismatch::new(MismatchKind::Attachment, &program.name, &text, declarations))
}

/// Returns the warning, the evidence and its source for a kprobe whose function is one of several of this
/// name. Linux since 6.7, and earlier releases with a backport, attach a kprobe to none of them (kernel:
/// `number_of_same_symbols`). Older ones attach it to the first.
fn ambiguous(
    answers: &KernelAnswers<'_, '_>,
    program: &ProgramNeeds,
) -> Option<(String, String, EvidenceSource)> {
    let Need::ProbedFunction(name) = answers.need(program.attaches_by?)? else { return None };
    let [first, second] = answers.facts.ambiguous_symbol(name)?;
    let shown = text(Name::new(name.as_bytes()).shortened());
    let is_return =
        program.attach_point.as_ref().is_some_and(|point| point.kind == AttachPointKind::FunctionReturn);
    let kind = if is_return { "kretprobe" } else { "kprobe" };
    let warning = format!(
        "several functions have the name `{shown}`: newer kernels do not attach the program, older ones attach it to the first function; \
         `--attach-to {program}={kind}:0xADDRESS` or `{kind}:_text+OFFSET` names one of them",
        program = program.name
    );
    Some((warning, format!("symbols {shown} at 0x{first} and 0x{second}"), EvidenceSource::Kallsyms))
}

/// Returns the warning, the evidence and its source for a section whose whole name its loader does not
/// understand. libbpf ignores the end of some names, and attaches the program to another place. aya and
/// cilium attach no program by its section.
fn misread(loader: LoaderKind, section: &[u8]) -> Option<(String, String, EvidenceSource)> {
    let section = core::str::from_utf8(section).ok()?;
    let problem = match (loader, SectionTarget::parse(section)) {
        (LoaderKind::Libbpf | LoaderKind::CoreRelo, Err(SectionTargetError { problem, .. })) => {
            format!("cannot be attached by its section: {problem}")
        }
        (LoaderKind::Libbpf, Ok(Some(SectionTarget::Kprobe { module: Some(module), .. }))) => {
            let owner = if module_of_prefix(module).is_some() { "module" } else { "kernel" };
            format!(
                "libbpf takes `{module}` for the function; core-relo attaches to the function of the {owner}"
            )
        }
        (LoaderKind::Libbpf, Ok(Some(SectionTarget::Uprobe { place, .. })))
            if parse_file_offset(place).is_some() =>
        {
            format!("libbpf takes `{place}` for a function; core-relo attaches to the offset in the file")
        }
        _ => return None,
    };
    Some((problem, "the name of the section".to_owned(), EvidenceSource::Object))
}
