//! The reasons of a program's attach type and target.

use super::{
    model::{Reason, ReasonKind, Requirement, Verdict},
    object_context::ObjectContext,
};
use crate::requirements::{AttachNeed, ProgramNeeds};
use core_relo_object::object::find_foreign_section;

impl ObjectContext<'_, '_> {
    /// Returns the reasons why the kernel or the machine does not load a program of this attach type and
    /// target.
    pub(super) fn attach_reasons(&self, program: &ProgramNeeds) -> Vec<Reason> {
        let (attach, name) = (&program.attach, &program.name);
        let input = |text: &str, fix: String| {
            let reason = Reason::from_object(Verdict::NeedsInput, text.to_owned());
            let requirement = Some(Requirement::AttachInput);
            vec![Reason { kind: ReasonKind::AttachTarget, fix: Some(fix), requirement, ..reason }]
        };
        let mut reasons: Vec<_> =
            attach.needs().iter().filter_map(|need| self.answers.reason(*need)).collect();
        let attach_type = program.sec_def.and_then(|def| def.attach_type);
        let refused = attach_type.and_then(|of| Some((of, self.answers.facts.refused_by_policy(of)?)));
        reasons.extend(refused.map(|(attach_type, evidence)| {
            let text = format!("a policy of this machine refuses programs of attach type {attach_type}");
            Reason::new(ReasonKind::AttachType, Verdict::Refused, text)
                .with_evidence(evidence)
                .with_fix(POLICY_FIX)
        }));
        reasons.extend(match attach {
            AttachNeed::Needs(_) => Vec::new(),
            AttachNeed::NoProgramType => input(
                "the section's name implies no program type, which user space must set",
                type_fix(name, program.section(self.needs.object)),
            ),
            AttachNeed::NoTarget(_) => input(
                "the section's name has no attach target, which user space must set",
                format!("--attach-target {name}=FUNCTION, or bpf_program__set_attach_target() before the load"),
            ),
            AttachNeed::OtherProgram(_) => input(
                "the program replaces a function of another program, which user space must set",
                format!(
                    "--attach-target {name}=FUNCTION@PROGRAM, or bpf_program__set_attach_target() before the load"
                ),
            ),
        });
        reasons
    }
}

/// The fix for an attach type that the machine refuses.
const POLICY_FIX: &str = "a policy, such as lockdown, another LSM or seccomp, has to allow them";

/// Returns the fix for a program whose section name implies no type. `section` may be one of another loader.
fn type_fix(program: &str, section: &[u8]) -> String {
    let section = section.strip_prefix(b"?").unwrap_or(section);
    match find_foreign_section(section) {
        Some(foreign) => format!(
            "--program-type {program}={word}, the meaning of the section's name to {loaders}; or bpf_program__set_type() before the load, or \
             SEC(\"{word}\")",
            word = foreign.section,
            loaders = foreign.loaders
        ),
        None => format!(
            "--program-type {program}=TYPE, or bpf_program__set_type() before the load, or a section name such as SEC(\"kprobe/…\")"
        ),
    }
}
