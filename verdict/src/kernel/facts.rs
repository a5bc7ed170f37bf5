//! The facts about one kernel, found in one pass over its BTF.

use super::{
    KernelVersion,
    age::KernelAge,
    answer::{Answer, Evidence, EvidenceSource},
    changes::RELEASES,
    conditional::ALWAYS_COMPILED,
    enumeration::Enumeration,
    fixed_names::{Enum, Func, Struct},
    inputs::{InputOrigins, KernelInputs},
    kernel_name::NameId,
    kernel_number::KernelNumber,
    kernel_types::{KernelTypes, VmlinuxNames},
    mark::{Change, Mark, MarkPresence},
    query::NameQuery,
    symbol::KernelSymbol,
};
use core_relo::{
    Target,
    btf::{Btf, Kind, Type},
};
use core_relo_object::target::find_architecture;
use std::{collections::HashMap, sync::OnceLock};

/// What a kernel offers. Every answer has its evidence.
///
/// The facts answer for the names of their [`NameQuery`].
///
/// The BTF may be unvalidated. Threads may share the facts.
#[derive(Debug)]
pub struct KernelFacts<'k> {
    pub(super) inputs: &'k KernelInputs,
    pub(super) vmlinux: KernelTypes<'k>,
    /// The modules' BTFs, searched when a name is not found in vmlinux.
    pub(super) modules: OnceLock<Vec<KernelTypes<'k>>>,
    pub(super) target: &'k Target<'k>,
    pub(super) helpers: Enumeration<'k>,
    pub(super) map_types: Enumeration<'k>,
    pub(super) program_types: Enumeration<'k>,
    pub(super) attach_types: Enumeration<'k>,
    pub(super) commands: Enumeration<'k>,
    pub(super) link_types: Enumeration<'k>,
    /// `struct bpf_ctx_convert`.
    pub(super) contexts: Option<Type<'k>>,
    /// The age among the observed kernels.
    pub(super) age: OnceLock<KernelAge>,
    architecture: OnceLock<Option<&'static str>>,
    /// Whether the kernel hides the addresses of its symbols.
    pub(super) hides_addresses: OnceLock<bool>,
    /// The newest release of which the kernel's BTF has a mark.
    pub(super) marked_release: OnceLock<Option<Change>>,
    /// The values of the configuration.
    pub(super) kconfig: OnceLock<HashMap<&'k str, &'k str>>,
    /// The values that take precedence over those of the configuration.
    pub(super) kconfig_overrides: OnceLock<HashMap<&'k str, &'k str>>,
    /// The symbols of the query by position, with their modules.
    pub(super) kallsyms: OnceLock<Vec<Option<KernelSymbol<'k>>>>,
}

impl<'k> KernelFacts<'k> {
    /// Collects the facts about a kernel.
    pub fn new(target: &'k Target<'_>, query: &'k NameQuery, inputs: &'k KernelInputs) -> Self {
        Self::with_names(VmlinuxNames::new(target, query), target, inputs)
    }

    /// Collects the facts about a kernel whose vmlinux was searched before, so that it is not searched again.
    /// `target` has the same vmlinux, and the modules.
    pub(crate) fn with_names(
        names: VmlinuxNames<'k>,
        target: &'k Target<'_>,
        inputs: &'k KernelInputs,
    ) -> Self {
        let target: &'k Target<'k> = target;
        let vmlinux = names.types;
        let enumeration = |name: Enum| Enumeration::new(name.name, vmlinux.find(name));
        Self {
            inputs,
            modules: OnceLock::new(),
            target,
            helpers: enumeration(Enum::bpf_func_id),
            map_types: enumeration(Enum::bpf_map_type),
            program_types: enumeration(Enum::bpf_prog_type),
            attach_types: enumeration(Enum::bpf_attach_type),
            commands: enumeration(Enum::bpf_cmd),
            link_types: enumeration(Enum::bpf_link_type),
            contexts: vmlinux.find(Struct::bpf_ctx_convert),
            age: OnceLock::new(),
            architecture: OnceLock::new(),
            hides_addresses: OnceLock::new(),
            marked_release: OnceLock::new(),
            kconfig: OnceLock::new(),
            kconfig_overrides: OnceLock::new(),
            kallsyms: OnceLock::new(),
            vmlinux,
        }
    }

    /// Returns the architecture of the types that an object is relocated against, as `uname -m` prints it.
    /// They may be other types than the kernel's, whose architecture is searched once.
    pub(crate) fn architecture(&self, types: &Btf<'_>) -> Option<&'static str> {
        if !core::ptr::addr_eq(types, self.vmlinux.btf) {
            return find_architecture(types);
        }
        *self.architecture.get_or_init(|| find_architecture(types))
    }

    /// Answers whether the kernel has an expected attach type.
    pub fn attach_type(&self, number: u32) -> Answer {
        self.answer_number(KernelNumber::AttachType(number))
    }

    /// Answers whether the kernel has a command of bpf(2).
    pub fn command(&self, number: u32) -> Answer {
        self.commands.answer(number, None)
    }

    /// Answers whether the kernel has a link type.
    pub fn link_type(&self, number: u32) -> Answer {
        self.answer_number(KernelNumber::LinkType(number))
    }

    /// Returns the version, with its origin as evidence. BTF does not contain the version.
    pub fn version(&self) -> Option<(KernelVersion, Evidence)> {
        let version = self.inputs.version?;
        Some((version, self.version_evidence(format!("Linux {version}"))))
    }

    /// Returns the evidence that the version gives.
    pub(super) fn version_evidence(&self, text: String) -> Evidence {
        let text = InputOrigins::evidence_text(self.inputs.origins.version.as_ref(), text);
        Evidence { source: EvidenceSource::Version, text }
    }

    /// Returns the first function of vmlinux among these names.
    pub(super) fn find_any(&self, names: &[Func]) -> Option<Func> {
        names.iter().copied().find(|name| self.vmlinux.find(*name).is_some())
    }

    /// Answers whether the kernel is compiled with one of these functions.
    pub(super) fn compiled(&self, functions: &[Func]) -> Answer {
        match self.find_any(functions) {
            Some(function) => Answer::present_in_btf(format!("FUNC {function}")),
            None if self.describes_bpf_functions() => {
                let names: Vec<_> = functions.iter().map(|function| function.name).collect();
                Answer::absent_from_btf(format!("no FUNC {}", names.join(" or ")))
            }
            None => Answer::Unknown("the kernel's BTF is incomplete and has no functions of BPF".into()),
        }
    }

    /// Answers whether the kernel has a declaration that only an option of the configuration compiles.
    pub(super) fn compiled_with(&self, option: &str, is_found: bool, declaration: String) -> Answer {
        if is_found {
            return Answer::present_in_btf(declaration);
        }
        if self.describes_bpf_functions() {
            return Answer::absent_from_btf(format!("no {declaration}: {option} is not set"));
        }
        self.answer_option(option)
    }

    /// Returns whether vmlinux has all of these functions.
    pub(super) fn has_all(&self, names: &[Func]) -> bool {
        names.iter().all(|name| self.find_any(&[*name]).is_some())
    }

    /// Returns whether the BTF describes the functions of `kernel/bpf`, so that a missing function is
    /// evidence.
    pub(crate) fn describes_bpf_functions(&self) -> bool {
        self.has_all(&ALWAYS_COMPILED)
    }

    /// Answers whether the kernel has a change. `subject` names the change.
    pub(super) fn answer_change(&self, change: Change, subject: &str) -> Answer {
        let mut missing = None;
        for mark in change.marks {
            match self.find_mark(*mark) {
                MarkPresence::Found => return Answer::present_in_btf(mark.to_string()),
                MarkPresence::Missing => missing = missing.or(Some(mark)),
                MarkPresence::NotDecided => {}
            }
        }
        let release = change.release;
        // Enumerators of bpf(2) stay, while later kernels may rename and move the members of the verifier's
        // structs.
        if missing.is_some()
            && let Some((mark, newest)) = self.newest_release().filter(|(_, newest)| *newest > release)
        {
            return Answer::present_in_btf(format!("{mark}, as kernels since {newest}"));
        }
        match (missing, self.inputs.version) {
            (Some(mark), _) => {
                Answer::absent_from_btf(format!("{}, as kernels before {release}", mark.absence()))
            }
            (None, Some(version)) => {
                let evidence =
                    self.version_evidence(format!("Linux {version}; {subject} came with {release}"));
                if version >= release { Answer::Present(evidence) } else { Answer::Absent(evidence) }
            }
            (None, None) => Answer::Unknown(format!(
                "{subject} came with {release}: give the kernel's version (--kernel-version)"
            )),
        }
    }

    /// Returns the mark of the newest known release. Returns `None` for an older kernel: the marks of its
    /// changes are known.
    fn newest_release(&self) -> Option<(Mark, KernelVersion)> {
        let newest = RELEASES.last()?;
        let mark = newest.marks.iter().find(|mark| self.find_mark(**mark) == MarkPresence::Found)?;
        Some((*mark, newest.release))
    }

    /// Returns whether the BTF has a mark.
    pub(super) fn find_mark(&self, mark: Mark) -> MarkPresence {
        let find = |name: NameId| self.vmlinux.find(name).filter(|ty| ty.vlen() != 0);
        let has = match mark {
            Mark::Function(name) => self.vmlinux.find(name).map(|_| true),
            Mark::Member(name, member) => {
                find(name.into()).map(|ty| ty.members().any(|m| m.name.as_bytes() == member.as_bytes()))
            }
            Mark::InnerMember(name, member, inner) => {
                find(name.into()).and_then(|ty| has_inner_member(ty, member.as_bytes(), inner.as_bytes()))
            }
            Mark::Enumerator(name, enumerator) => find(name.into())
                .map(|ty| ty.enumerators().any(|e| e.name.as_bytes() == enumerator.as_bytes())),
        };
        match has {
            Some(true) => MarkPresence::Found,
            Some(false) => MarkPresence::Missing,
            None => MarkPresence::NotDecided,
        }
    }
}

/// Returns whether the struct that a member of `ty` is or points to has the member `inner`. Returns `None` if
/// the BTF does not describe that struct.
fn has_inner_member(ty: Type<'_>, member: &[u8], inner: &[u8]) -> Option<bool> {
    let Some(member) = ty.members().find(|found| found.name.as_bytes() == member) else { return Some(false) };
    let mut composite = ty.btf().strip(member.ty).ok()?;
    if composite.kind() == Kind::Ptr {
        composite = ty.btf().strip(composite.target()?).ok()?;
    }
    let is_described = composite.kind() == Kind::Struct && composite.vlen() != 0;
    is_described.then(|| composite.members().any(|found| found.name.as_bytes() == inner))
}
