//! The program type, attach type and attach target of a program.

use super::{
    license::{LicenseUse, is_gpl_program_type},
    need::{Need, NeedId, NeedTable},
    target_kind::TargetKind,
};
use crate::kernel::ProgramFeature;
use core_relo::btf::Kind;
use core_relo_object::{
    load_plan::AttachTarget,
    object::{AttachType, Program, ProgramType, SecDef, module_of_prefix},
};

/// The requirements that follow from a program's section name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum AttachNeed {
    /// Program type, attach type and target, as far as the kernel checks them at load.
    Needs(Vec<NeedId>),
    /// The section's name implies no program type. User space must set the type.
    NoProgramType,
    /// The section's name has no attach target, but the kernel wants one at load. User space must set the
    /// target. The program and attach type are known.
    NoTarget(Vec<NeedId>),
    /// The program replaces a function of another program, which user space must set (`freplace`). The
    /// program type is known.
    OtherProgram(Vec<NeedId>),
}

impl AttachNeed {
    /// Returns the known requirements. User space may have to set more.
    pub fn needs(&self) -> &[NeedId] {
        match self {
            Self::Needs(needs) | Self::NoTarget(needs) | Self::OtherProgram(needs) => needs,
            Self::NoProgramType => &[],
        }
    }

    /// Returns the requirements of a program (libbpf: `libbpf_prepare_prog_load`). `setting` takes the place
    /// of the section's target.
    pub(super) fn new(
        program: &Program<'_>,
        has_gpl_license: bool,
        setting: Option<&AttachTarget>,
        table: &mut NeedTable,
    ) -> Self {
        let Some(def) = program.sec_def() else { return Self::NoProgramType };
        let mut needs = vec![table.add(Need::ProgramType(def.program_type))];
        if !has_gpl_license && is_gpl_program_type(def.program_type) {
            needs.push(table.add(Need::License(LicenseUse::ProgramType(def.program_type))));
        }
        if let Some(attach_type) = def.attach_type.filter(|_| checks_attach_type(def)) {
            needs.push(table.add(Need::AttachType(attach_type)));
        }
        if def.flags.has_xdp_frags() {
            needs.push(table.add(Need::Feature(ProgramFeature::XdpFrags)));
        }
        let sleepable = match def.program_type {
            ProgramType::Kprobe => Some(ProgramFeature::SleepableUprobe),
            ProgramType::StructOps => Some(ProgramFeature::SleepableStructOps),
            _ => None,
        };
        if let Some(feature) = sleepable.filter(|_| def.flags.is_sleepable()) {
            needs.push(table.add(Need::Feature(feature)));
        }
        let section = SecDef::target(program.section_name()).filter(|target| !target.is_empty());
        let section = section.and_then(|target| core::str::from_utf8(target).ok());
        if def.attach_type.is_some_and(AttachType::traces_many_functions) {
            let pattern = match setting {
                Some(AttachTarget::Kernel(pattern)) => Some(pattern.as_str()),
                _ => section,
            };
            let prefix = pattern.and_then(|pattern| pattern.split_once(':')).map(|(prefix, _)| prefix);
            if let Some(module) = prefix.and_then(module_of_prefix) {
                table.names.add_module_need();
                needs.push(table.add(Need::Module(module.into())));
            }
        }
        if def.flags.needs_attach_btf() {
            let target = match setting {
                Some(AttachTarget::Kernel(name)) => Some(name.as_str()),
                // The load plan finds the function in the other program.
                Some(_) => {
                    needs.push(table.add(Need::Trampolines));
                    return Self::Needs(needs);
                }
                None => section,
            };
            if def.program_type == ProgramType::Ext {
                return Self::OtherProgram(needs);
            }
            let Some(target) = target else { return Self::NoTarget(needs) };
            let (module, name) = match target.split_once(':') {
                Some((module, name)) => (Some(Box::<str>::from(module)), name),
                None => (None, target),
            };
            let kind = match def.attach_type {
                Some(AttachType::TraceRawTp) => TargetKind::Tracepoint,
                Some(AttachType::LsmMac | AttachType::LsmCgroup) => TargetKind::Lsm,
                Some(AttachType::TraceIter) => TargetKind::Iterator,
                _ => TargetKind::Function,
            };
            let is_tracepoint = kind == TargetKind::Tracepoint;
            let type_kind = if is_tracepoint { Kind::Typedef } else { Kind::Func };
            let kernel_name = kind.kernel_name(name);
            let declaration = match module.as_deref() {
                None | Some("vmlinux") => table.names.declaration(kernel_name.as_bytes(), type_kind),
                Some(_) => table.names.module_declaration(kernel_name.as_bytes(), type_kind),
            };
            needs.push(table.add(Need::AttachTarget { kind, module, name: name.into(), declaration }));
            if matches!(def.attach_type, Some(AttachType::LsmMac)) || kind == TargetKind::Function {
                needs.push(table.add(Need::Trampolines));
            }
            // Every kernel lets fmod_ret programs replace the result of `security_*`, but no such program
            // sleeps.
            let is_security_hook = name.starts_with("security_") && !def.flags.is_sleepable();
            match (kind, def.attach_type) {
                (TargetKind::Lsm, _) if def.flags.is_sleepable() => {
                    needs.push(table.add(Need::SleepableLsm(name.into())));
                }
                (TargetKind::Function, Some(AttachType::ModifyReturn)) if !is_security_hook => {
                    needs.push(table.add(Need::ErrorInjection(name.into())));
                }
                (TargetKind::Function, Some(AttachType::TraceFentry | AttachType::TraceFexit))
                    if def.flags.is_sleepable() =>
                {
                    needs.push(table.add(Need::ErrorInjection(name.into())));
                }
                _ => {}
            }
        }
        Self::Needs(needs)
    }
}

/// Returns whether the kernel checks a program's attach type at load (kernel: `bpf_prog_load_check_attach`).
/// For other types the attach type matters only when the program is attached.
fn checks_attach_type(def: &SecDef) -> bool {
    use ProgramType as P;
    let is_checked = matches!(
        def.program_type,
        P::CgroupSock
            | P::CgroupSockAddr
            | P::CgroupSkb
            | P::CgroupSockopt
            | P::SkLookup
            | P::Netfilter
            | P::Tracing
            | P::Lsm
    );
    is_checked && !def.flags.attach_type_is_optional()
}
