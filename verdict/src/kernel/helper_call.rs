//! Whether a kernel lets programs of a type call a helper.

use super::{
    Answer, Evidence, EvidenceSource, KernelFacts, helper_types, kfunc_types,
    restrictions::{HelperRestriction, helper_restriction, permits},
};
use core_relo::insn::Helper;
use core_relo_object::object::{AttachType, ProgramType};

/// A call of a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct HelperCall {
    /// The helper.
    pub helper: Helper,
    /// The type of the program; `None` if user space sets the type.
    pub program_type: Option<ProgramType>,
    /// The expected attach type of the program; `None` if the type has none, or user space sets it.
    pub attach_type: Option<AttachType>,
    /// The parts of the program that may sleep.
    pub sleepable: SleepableCode,
}

/// The parts of a program that may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers choose")]
pub enum SleepableCode {
    /// No part.
    None,
    /// The callbacks of work queues (6.10) or of task work (6.18).
    Callbacks,
    /// The whole program, as `BPF_F_SLEEPABLE` says.
    All,
}

/// Returns whether the kernel has a helper and lets programs of a type call it.
///
/// BTF tells whether the helper exists. The program types come from observations of other kernels, so that an
/// answer which depends on them has the [weak evidence](EvidenceSource::Version) of the kernel's age.
pub fn answer_helper_call(facts: &KernelFacts<'_>, call: HelperCall) -> Answer {
    let helper = replaced_helper(facts, call.helper);
    let exists = facts.helper(helper);
    let Some(program_type) = call.program_type.filter(|_| exists.is_present()) else { return exists };
    let refused = |source, text: String| Answer::Absent(Evidence { source, text });
    let is_observed = match helper_restriction(helper) {
        Some(HelperRestriction::Sleepable) => match call.sleepable {
            // The observed programs of older kernels do not sleep, so the observations do not count.
            SleepableCode::All => return exists,
            // An extension may do what the program that it extends may do.
            SleepableCode::None if program_type == ProgramType::Ext => return exists,
            SleepableCode::None => {
                return refused(EvidenceSource::Object, "only programs that may sleep call it".into());
            }
            SleepableCode::Callbacks => false,
        },
        Some(HelperRestriction::ProgramTypes(types)) if !permits(types, program_type) => {
            let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
            let text = format!("only programs of type {} call it", names.join(" and "));
            return refused(EvidenceSource::Object, text);
        }
        _ => true,
    };
    let is_new_read = matches!(
        helper,
        Helper::PROBE_READ_USER
            | Helper::PROBE_READ_KERNEL
            | Helper::PROBE_READ_USER_STR
            | Helper::PROBE_READ_KERNEL_STR
    );
    if is_new_read
        && !is_tracing(program_type)
        && matches!(facts.helper(Helper::RINGBUF_OUTPUT), Answer::Absent(_))
    {
        let text = format!("kernels before 5.8 do not let programs of type {program_type} call it");
        return refused(EvidenceSource::Version, text);
    }
    // Programs of other attach types tell about an attach type of which no program was observed.
    let is_known = |attach_type: &AttachType| helper_types::is_observed(program_type, *attach_type);
    let known = call.attach_type.filter(is_known);
    let observed = helper_types::observed_support(program_type, known, helper);
    match (facts.answer_observed(observed, &calls_by(program_type), exists), call.attach_type) {
        (Answer::Present(_), _) if !is_observed => {
            Answer::Unknown("it is not known whether only callbacks that may sleep call it".into())
        }
        (Answer::Absent(_), Some(attach_type)) if known.is_none() => unobserved(attach_type),
        (answer, _) => answer,
    }
}

/// Returns the helper that the kernel sees. libbpf replaces the calls of `bpf_probe_read_kernel` and the like
/// on kernels that lack this helper (libbpf: `bpf_object__sanitize_prog`).
fn replaced_helper(facts: &KernelFacts<'_>, helper: Helper) -> Helper {
    let replacement = match helper {
        Helper::PROBE_READ_USER | Helper::PROBE_READ_KERNEL => Helper::PROBE_READ,
        Helper::PROBE_READ_USER_STR | Helper::PROBE_READ_KERNEL_STR => Helper::PROBE_READ_STR,
        _ => return helper,
    };
    let lacks = matches!(facts.compiled_helper(Helper::PROBE_READ_KERNEL), Answer::Absent(_));
    if lacks { replacement } else { helper }
}

/// Returns whether a program type had the helpers of tracing before other types.
const fn is_tracing(program_type: ProgramType) -> bool {
    use ProgramType as P;
    matches!(
        program_type,
        P::Kprobe
            | P::Tracepoint
            | P::PerfEvent
            | P::RawTracepoint
            | P::RawTracepointWritable
            | P::Tracing
            | P::Lsm
            | P::Ext
    )
}

/// A call of a kfunc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct KfuncCall<'n> {
    /// The kfunc's name.
    pub name: &'n [u8],
    /// The answer of [`KernelFacts::kfunc`].
    pub exists: &'n Answer,
    /// The type of the program; `None` if user space sets the type.
    pub program_type: Option<ProgramType>,
    /// The expected attach type of the program; `None` for a program without one.
    pub attach_type: Option<AttachType>,
}

/// The kfuncs that only programs which user space binds to a device call, with `BPF_F_XDP_DEV_BOUND_ONLY`
/// (kernel: `bpf_dev_bound_kfunc_check`). Loads of sections bind none.
const DEVICE_KFUNCS: [&[u8]; 3] =
    [b"bpf_xdp_metadata_rx_timestamp", b"bpf_xdp_metadata_rx_hash", b"bpf_xdp_metadata_rx_vlan_tag"];

/// Returns whether a program that calls a kfunc has to be bound to a device.
pub(crate) fn needs_device(kfunc: &[u8]) -> bool {
    DEVICE_KFUNCS.contains(&kfunc)
}

/// Returns whether the kernel has a kfunc and lets programs of a type call it. See [`answer_helper_call`].
pub fn answer_kfunc_call(facts: &KernelFacts<'_>, call: KfuncCall<'_>) -> Answer {
    let exists = facts.kfunc_in_jit(call.name, call.exists.clone());
    let Some(program_type) = call.program_type.filter(|_| exists.is_present()) else { return exists };
    // An extension is bound as the program that it extends.
    if needs_device(call.name) && program_type != ProgramType::Ext {
        let text = "every kernel lets only programs call it that are bound to a device".to_owned();
        return Answer::Absent(Evidence { source: EvidenceSource::Object, text });
    }
    let observed = kfunc_types::observed_support(program_type, call.attach_type, call.name);
    let calls = match call.attach_type {
        Some(attach_type) if kfunc_types::depends_on_attach_type(program_type, call.name) => {
            format!("let programs of type {program_type} at {attach_type} call it")
        }
        None if kfunc_types::depends_on_attach_type(program_type, call.name) => {
            format!("let programs of type {program_type} without an attach type call it")
        }
        _ => calls_by(program_type),
    };
    match (facts.answer_observed(observed, &calls, exists), call.attach_type) {
        (Answer::Absent(_), Some(attach_type)) if UNOBSERVED.contains(&attach_type) => {
            unobserved(attach_type)
        }
        (answer, _) => answer,
    }
}

/// The attach types of which no program with a call of a kfunc was observed.
const UNOBSERVED: [AttachType; 3] =
    [AttachType::TraceFentryMulti, AttachType::TraceFexitMulti, AttachType::TraceFsessionMulti];

/// Returns the answer for an attach type of which no program was observed: programs of other attach types may
/// not call it.
fn unobserved(attach_type: AttachType) -> Answer {
    Answer::Unknown(format!("it is not known whether programs at {attach_type} call it"))
}

/// Returns what a kernel with a restriction by program type does, for texts.
fn calls_by(program_type: ProgramType) -> String {
    format!("let programs of type {program_type} call it")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::kernel::{KernelInputs, NameQuery};
    use alloc::sync::Arc;
    use core_relo::{
        Endian, Target,
        btf::{Btf, Builder},
    };

    #[test]
    fn a_refusal_names_the_program_types_that_call_the_helper() {
        let mut b = Builder::new(Endian::Little);
        let helpers = [("BPF_FUNC_rc_repeat", 77), ("BPF_FUNC_tcp_send_ack", 116), ("BPF_FUNC_d_path", 147)];
        b.enumeration("bpf_func_id", 4, &helpers);
        let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
        let (query, inputs) = (NameQuery::default(), KernelInputs::default());
        let facts = KernelFacts::new(&target, &query, &inputs);
        let call = |helper, program_type| {
            let sleepable = SleepableCode::None;
            let call = HelperCall { helper, program_type: Some(program_type), attach_type: None, sleepable };
            answer_helper_call(&facts, call)
        };
        for (helper, types) in [
            (Helper::RC_REPEAT, "BPF_PROG_TYPE_LIRC_MODE2"),
            (Helper::TCP_SEND_ACK, "BPF_PROG_TYPE_STRUCT_OPS"),
            (Helper::D_PATH, "BPF_PROG_TYPE_TRACING and BPF_PROG_TYPE_LSM"),
        ] {
            let text = format!("only programs of type {types} call it");
            let refused = Answer::Absent(Evidence { source: EvidenceSource::Object, text });
            assert_eq!(call(helper, ProgramType::SocketFilter), refused);
        }
        assert!(call(Helper::TCP_SEND_ACK, ProgramType::StructOps).is_present());
    }
}
