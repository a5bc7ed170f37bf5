//! Warnings about programs that load and cannot be attached.

use super::{
    answers::KernelAnswers,
    model::{ProgramVerdict, Verdict},
};
use crate::{
    kernel::Answer,
    mismatch::{Mismatch, MismatchKind},
    requirements::{ObjectNeeds, ProgramNeeds},
};
use core_relo::{Name, explain::text};
use core_relo_object::object::AttachType;

/// Returns a warning for each program of the load that the kernel loads, and does not attach: the kernel lacks the events, links or
/// place of its section.
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
    // Traffic control attaches the same programs as tcx links, on every kernel. Older names of sections leave the choice to the caller.
    let is_tcx = matches!(attach_type, Some(AttachType::TcxIngress | AttachType::TcxEgress));
    if is_tcx && !section.starts_with(b"tcx/") {
        return None;
    }
    let mut features = answers.attach_features_of(program);
    let (feature, evidence) = features.find_map(|feature| match feature.answer {
        Answer::Absent(evidence) => Some((feature.name, evidence)),
        _ => None,
    })?;
    let section = text(Name::new(section).shortened());
    let declarations =
        (&*format!("SEC(\"{section}\")"), &*format!("{} ({})", evidence.text, evidence.source));
    let remedy = if is_tcx { "; a caller may attach the program with traffic control (clsact)" } else { "" };
    let text = format!("cannot be attached: the kernel lacks {feature}{remedy}");
    Some(Mismatch::new(MismatchKind::Attachment, &program.name, &text, declarations))
}
