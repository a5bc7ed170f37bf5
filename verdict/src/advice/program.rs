//! Advice on program types, attach types and attach targets.

use super::fix::{Fix, FixLanguage, FixPlace};
use crate::{
    judge::Reason,
    requirements::{AttachNeed, ProgramNeeds},
};
use core_relo_object::object::{ProgramType, SecDef, find_foreign_section};

/// Returns the fixes of a program that the kernel cannot load: the program is left out of the default load.
/// `missing` is the noun of what the kernel lacks, such as "attach type".
pub(super) fn missing_fixes(missing: &str, section: Option<&str>, program: &str) -> Vec<Fix> {
    let mut fixes = Vec::new();
    if let Some(section) = section.filter(|section| !section.starts_with('?')) {
        let text = format!(
            "leave the program out of the default load; user space turns it on (bpf_program__set_autoload()) where the kernel has the \
             {missing}"
        );
        fixes.push(Fix::c(FixPlace::Section, text, format!("SEC(\"?{section}\")")));
    }
    fixes.extend(leave_out(program));
    fixes.push(Fix::without_code(
        "for loads that choose variants (`load --adaptive`), mark the program OPTIONAL: they leave it out where the kernel refuses it",
    ));
    fixes
}

/// Returns the fixes of a program that uses a kernel variable of which the kernel has the type, and not the
/// address.
pub(super) fn address_fixes(section: Option<&str>, program: &str) -> Vec<Fix> {
    let mut fixes = vec![Fix::without_code(
        "the kernel looks up addresses of variables in its symbols, which have variables with CONFIG_KALLSYMS_ALL only; `__weak` does \
         not help, because the kernel's BTF has the variable",
    )];
    fixes.extend(missing_fixes("address", section, program));
    fixes
}

/// Returns the fixes of a program whose attach target does not exist. `similar` are other targets of the
/// kind.
pub(super) fn target_fixes(
    section: Option<&str>,
    program: &str,
    (module, name): (Option<&str>, &str),
    similar: &[String],
) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let prefix = section.and_then(|section| section.strip_suffix(name)).filter(|_| module.is_none());
    for target in similar {
        if let Some(prefix) = prefix {
            let text = format!("attach to `{target}`, if it does what `{name}` did: compare the arguments");
            fixes.push(Fix::c(FixPlace::Section, text, format!("SEC(\"{prefix}{target}\")")));
        }
    }
    fixes.extend(missing_fixes("target", section, program));
    fixes
}

/// Returns the fixes of a program whose type or attach target user space must set. `section` is the name of
/// its section.
pub(super) fn input_fixes(program: &ProgramNeeds, section: &[u8], reason: &Reason) -> Vec<Fix> {
    let name = &program.name;
    // The judge gives each reason of this kind its fix as a text.
    let Some(text) = reason.fix.clone() else { return Vec::new() };
    let (c, rust) = match program.attach {
        AttachNeed::NoProgramType => {
            let foreign = find_foreign_section(section.strip_prefix(b"?").unwrap_or(section));
            let word = foreign.map_or("kprobe", |foreign| foreign.section);
            let program_type =
                SecDef::find(word.as_bytes()).map_or(ProgramType::Kprobe, |def| def.program_type);
            (
                format!("bpf_program__set_type(skel->progs.{name}, {program_type});"),
                format!("loader.program_mut(\"{name}\").section = Some(\"{word}\".into());"),
            )
        }
        AttachNeed::OtherProgram(_) => (
            format!("bpf_program__set_attach_target(skel->progs.{name}, other_program_fd, \"function\");"),
            format!(
                "loader.program_mut(\"{name}\").attach_to = Some(AttachTarget::Program {{ program: program.into(), function: \"function\".into() }});"
            ),
        ),
        _ => (
            format!("bpf_program__set_attach_target(skel->progs.{name}, 0, \"function\");"),
            format!(
                "loader.program_mut(\"{name}\").attach_to = Some(AttachTarget::Kernel(\"function\".into()));"
            ),
        ),
    };
    vec![
        Fix::c(FixPlace::Loader, text, c),
        Fix::new(FixLanguage::Rust, FixPlace::Loader, "the same with this project's loader", rust),
    ]
}

/// Returns what loaders write to leave out a program.
pub(super) fn leave_out(program: &str) -> [Fix; 2] {
    let c = format!("bpf_program__set_autoload(skel->progs.{program}, false);");
    let rust = format!("loader.program_mut(\"{program}\").autoload = Some(false);");
    [
        Fix::c(FixPlace::Loader, "leave out the program on such kernels", c),
        Fix::new(FixLanguage::Rust, FixPlace::Loader, "the same with this project's loader", rust),
    ]
}
