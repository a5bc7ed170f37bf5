//! The probes of the running kernel, with or without a BPF token.

use super::{
    answer::{BTF_LOAD, INNER_MAP_CREATE, MAP_CREATE, PROG_LOAD, ProbeError, ProbeResult, Probed},
    attach_type,
    calls::{self, Caller, INVALID_HELPER, Variants},
    feature::{ask, probe_feature},
    map_type, probe, program, program_type,
    token::Token,
};
use crate::{
    privileges::missing_privilege_with_token,
    sys::{self, Errno},
    token_scope::{TokenRequest, explain_refusal},
};
use alloc::sync::Arc;
use core_relo::insn::Helper;
use core_relo_object::{
    features::{Feature, Features, ProbeKernel},
    object::{AttachType, KernelFeature, LinkType, MapType, ProgramType},
};
use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::OnceLock,
};

/// A prober of the running kernel: asks with bpf(2) what the kernel offers this process. No probe leaves
/// anything loaded or attached.
///
/// A process in a user namespace probes with a [BPF token](Self::from_token_source). What the token does not
/// delegate is an error.
#[derive(Debug, Default)]
pub struct Prober {
    /// The BPF token to probe with.
    token: Option<Arc<OwnedFd>>,
    /// The programs that probes of calls load, found once.
    variants: OnceLock<Variants>,
}

impl Prober {
    /// Creates a prober without a token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a prober with a token.
    pub(crate) fn with_token(token: Arc<OwnedFd>) -> Self {
        Self { token: Some(token), ..Self::default() }
    }

    /// Returns whether the prober has a BPF token.
    pub const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Probes whether the kernel has a program type (libbpf: `libbpf_probe_bpf_prog_type`).
    ///
    /// Unlike libbpf, a kernel that refuses fentry programs for lack of privileges still has the type TRACING
    /// if it knows programs at tracepoints (`BPF_TRACE_RAW_TP`).
    pub fn program_type(&self, program_type: ProgramType) -> ProbeResult {
        let request = program_request(program_type);
        self.explain(program_type::probe_type(program_type, self.token()), request)
    }

    /// Probes whether the kernel has a map type (libbpf: `libbpf_probe_bpf_map_type`).
    pub fn map_type(&self, map_type: MapType) -> ProbeResult {
        let request = TokenRequest::Map(map_type.number());
        self.explain(map_type::probe_type(map_type, self.token()), request)
    }

    /// Probes whether programs are loaded for an attach type, or attached by it.
    pub fn attach_type(&self, attach_type: AttachType) -> ProbeResult {
        let probed = attach_type::probe_type(attach_type, self.token());
        match attach_type::probe_request(attach_type) {
            Some(request) => self.explain(probed, request),
            None => probed,
        }
    }

    /// Probes whether the kernel has a link type.
    pub fn link_type(&self, link_type: LinkType) -> ProbeResult {
        self.explain_any(attach_type::probe_link_type(link_type, self.token()))
    }

    /// Probes whether programs of a type may call a helper.
    ///
    /// Programs are loaded for the attach types and targets on which helpers depend, and as programs that may
    /// sleep. The helper is available if one of them may call it. libbpf probes one attach type, and neither
    /// TRACING nor LSM. Programs of the types EXT and STRUCT_OPS have the helpers of their target:
    /// [`ProbeError::NeedsTarget`].
    pub fn helper(&self, program_type: ProgramType, helper: u32) -> ProbeResult {
        let probed = calls::helper(self.caller(program_type), helper);
        self.explain(probed, program_request(program_type))
    }

    /// Probes whether programs of a type may call a kernel function of vmlinux. Kernel functions of modules
    /// have no probe.
    pub fn kfunc(&self, program_type: ProgramType, name: &[u8]) -> ProbeResult {
        let probed = calls::kfunc(self.caller(program_type), name);
        self.explain(probed, program_request(program_type))
    }

    /// Probes whether the running kernel has a feature.
    ///
    /// Unlike [`Features::has`], a lack of privileges is an error.
    pub fn feature(&self, feature: Feature) -> ProbeResult {
        self.explain_any(probe_feature(feature, self.token()))
    }

    /// Probes whether the kernel has one of the features with a name. A helper is offered if programs of some
    /// type may call it. A helper that no probed type may call is not known if another type cannot be probed.
    pub fn offers(&self, feature: KernelFeature) -> ProbeResult {
        match feature {
            KernelFeature::ProgramType(ty) => self.program_type(ty),
            KernelFeature::MapType(ty) => self.map_type(ty),
            KernelFeature::Helper(Helper(number)) => {
                any_offers(ProgramType::offered().map(|ty| self.helper(ty, number)))
            }
            KernelFeature::AttachType(ty) => self.attach_type(ty),
            KernelFeature::LinkType(ty) => self.link_type(ty),
            KernelFeature::Feature(feature) => self.feature(feature),
            _ => Err(ProbeError::NoProbe("the feature has none")),
        }
    }

    /// Returns the features of the running kernel, each probed on first use.
    pub fn into_features(self) -> Features {
        Features::from_probe(self)
    }

    fn token(&self) -> Token<'_> {
        self.token.as_ref().map(|token| token.as_fd())
    }

    fn caller(&self, program_type: ProgramType) -> Caller<'_> {
        let variants = self.variants.get_or_init(|| Variants::find(self.token()));
        Caller { program_type, variants, token: self.token() }
    }

    /// Names what the token does not delegate, if the kernel refused a request for lack of privileges.
    /// `asked` is the request that creates the map or program of the probe.
    fn explain(&self, probed: ProbeResult, asked: TokenRequest) -> ProbeResult {
        self.with_reason(probed, |token, refused| {
            let asked = match refused {
                PROG_LOAD | MAP_CREATE => asked,
                INNER_MAP_CREATE => TokenRequest::Map(map_type::FIRST_INNER_TYPE.number()),
                BTF_LOAD => TokenRequest::Btf,
                // Tokens do not count for links.
                _ => return missing_privilege_with_token().to_owned(),
            };
            explain_refusal(token.as_fd(), asked).unwrap_or_else(|| {
                "the BPF token may not delegate it: `core-relo token list` shows what the bpffs delegates"
                    .into()
            })
        })
    }

    /// As [`explain`](Self::explain), for a probe of several requests.
    fn explain_any(&self, probed: ProbeResult) -> ProbeResult {
        self.with_reason(probed, |_, _| "the BPF token may not delegate what the probe needs".to_owned())
    }

    fn with_reason(
        &self,
        probed: ProbeResult,
        reason: impl FnOnce(&OwnedFd, &'static str) -> String,
    ) -> ProbeResult {
        match (probed, &self.token) {
            (Err(ProbeError::NotPermitted { request, errno, .. }), Some(token)) => {
                Err(ProbeError::NotPermitted { request, errno, reason: reason(token, request).into() })
            }
            (probed, _) => probed,
        }
    }
}

/// Returns the answer for all program types from those for each of them: yes if one type has the helper, no
/// if no type has it or the kernel does not know its number. A type that cannot be probed may have it.
fn any_offers(by_type: impl Iterator<Item = ProbeResult>) -> ProbeResult {
    let (mut refused, mut unknown) = (None, None);
    for probed in by_type {
        match probed {
            Ok(Probed { is_supported: true, .. }) => return probed,
            Ok(Probed { ref evidence, .. }) if evidence.contains(INVALID_HELPER) => return probed,
            Ok(_) => refused = Some(probed),
            // Such programs have the features of their target.
            Err(ProbeError::NeedsTarget(_)) => {}
            Err(_) => unknown = unknown.or(Some(probed)),
        }
    }
    unknown.or(refused).unwrap_or(Err(ProbeError::NoProbe("no programs call helpers")))
}

/// Returns the request that loads the program of a probe of this type.
fn program_request(program_type: ProgramType) -> TokenRequest {
    let attach_type = program::ProbeProgram::new(program_type).attach_type;
    TokenRequest::Program { program_type: program_type.number(), attach_type }
}

impl ProbeKernel for Prober {
    fn probe(&self, feature: Feature) -> Result<bool, Errno> {
        ask(feature, self.token())
    }

    fn check_permission(&self, charges_locked_memory: bool) -> Result<(), Errno> {
        if charges_locked_memory && let Err(errno) = sys::raise_memlock_limit() {
            log::info!("the limit on locked memory stays: {errno}");
        }
        probe::check_loading(self.token())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer is no only if every program type that can have the feature was probed.
    #[test]
    fn a_type_that_cannot_be_probed_leaves_the_answer_open_unless_another_type_says_yes() {
        let [yes, no] = [Ok(Probed::yes("loaded")), Ok(Probed::no("unknown func bpf_skb_pull_data#39"))];
        let invalid = Ok(Probed::no("invalid func unknown#100000"));
        let failed: ProbeResult = Err(ProbeError::Failed { request: PROG_LOAD, errno: Errno::ENOMEM });
        let other: ProbeResult = Err(ProbeError::Failed { request: PROG_LOAD, errno: Errno::EPERM });
        let ext: ProbeResult = Err(ProbeError::NeedsTarget(ProgramType::Ext));
        for (by_type, expected) in [
            (vec![&no, &failed], &failed),
            (vec![&failed, &no, &other], &failed),
            (vec![&failed, &no, &yes, &other], &yes),
            (vec![&failed, &invalid, &other], &invalid),
            (vec![&ext, &no], &no),
            (vec![&no, &ext], &no),
        ] {
            assert_eq!(any_offers(by_type.clone().into_iter().cloned()), *expected, "{by_type:?}");
        }
        assert!(any_offers([ext].into_iter()).is_err());
    }
}
