//! The loads of minimal programs by which program types, helpers and attach types are probed (libbpf:
//! `probe_prog_load`).

use super::{
    answer::{PROG_LOAD, ProbeResult, Probed, is_undecided, undecided},
    token::Token,
};
use crate::{
    convert::before_nul,
    features::running,
    kernel_version::running_version,
    sys::{self, Errno, ProgLoad},
};
use core_relo::{Endian, insn::Insn};
use core_relo_object::{
    load_plan::prog_flags,
    object::{AttachType, ProgramType},
};
use std::{os::fd::OwnedFd, sync::OnceLock};

pub(super) const EXIT: Insn = Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 };
pub(super) const RETURN_0: [Insn; 2] = [mov(0, 0), EXIT];

/// Bytes of the verifier's log of a probe.
const LOG_BYTES: usize = 4096;

pub(super) const fn mov(dst: u8, imm: i32) -> Insn {
    Insn { code: 0xb7, dst, src: 0, off: 0, imm }
}

pub(super) const fn call(helper: i32) -> Insn {
    Insn { code: 0x85, dst: 0, src: 0, off: 0, imm: helper }
}

/// Encodes instructions in the machine's byte order.
pub(super) fn code(insns: &[Insn]) -> Vec<u8> {
    insns.iter().flat_map(|i| i.encode(Endian::native())).collect()
}

/// Raises the limit on locked memory, once, if the kernel charges programs and maps to it. The kernel
/// releases the charge of a closed program late, so that a series of probes would reach the limit.
pub(super) fn prepare() {
    static PREPARED: OnceLock<()> = OnceLock::new();
    PREPARED.get_or_init(|| {
        if running().charges_locked_memory()
            && let Err(errno) = sys::raise_memlock_limit()
        {
            log::info!("the limit on locked memory stays: {errno}");
        }
    });
}

/// A program of a type, with what the kernel expects of programs of this type.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeProgram {
    pub(super) program_type: ProgramType,
    pub(super) attach_type: u32,
    pub(super) attach_btf_id: u32,
    is_sleepable: bool,
}

/// A refused load, with the verifier's log.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) errno: Errno,
    pub(super) log: String,
}

impl Refusal {
    /// Returns the last line of the log that is no statistics, or the error if the log is empty.
    pub(super) fn message(&self) -> String {
        let is_message = |line: &&str| {
            !line.is_empty() && !line.starts_with("processed ") && !line.starts_with("verification time")
        };
        match self.log.lines().map(str::trim).rfind(is_message) {
            Some(line) => line.chars().take(200).collect(),
            None => format!("{PROG_LOAD}: {}", self.errno),
        }
    }
}

impl ProbeProgram {
    /// Returns the program with the expected attach type that a type needs.
    pub(super) const fn new(program_type: ProgramType) -> Self {
        use AttachType as A;
        let attach_type = match program_type {
            ProgramType::CgroupSockAddr => A::CgroupInet4Connect.number(),
            ProgramType::CgroupSockopt => A::CgroupGetsockopt.number(),
            ProgramType::SkLookup => A::SkLookup.number(),
            ProgramType::LircMode2 => A::LircMode2.number(),
            ProgramType::Netfilter => A::Netfilter.number(),
            ProgramType::Tracing => A::TraceFentry.number(),
            ProgramType::Lsm => A::LsmMac.number(),
            ProgramType::CgroupSock => A::CgroupInetSockCreate.number(),
            ProgramType::CgroupDevice => A::CgroupDevice.number(),
            ProgramType::CgroupSysctl => A::CgroupSysctl.number(),
            _ => 0,
        };
        Self::with_attach_type(program_type, attach_type)
    }

    pub(super) const fn with_attach_type(program_type: ProgramType, attach_type: u32) -> Self {
        let is_sleepable = matches!(program_type, ProgramType::Syscall);
        Self { program_type, attach_type, attach_btf_id: 0, is_sleepable }
    }

    /// Returns the program as one that may sleep.
    pub(super) const fn sleepable(self) -> Self {
        Self { is_sleepable: true, ..self }
    }

    pub(super) const fn at_type(self, attach_btf_id: u32) -> Self {
        Self { attach_btf_id, ..self }
    }

    /// Returns the request that loads the program, without instructions.
    pub(super) fn prog_load(self) -> ProgLoad<'static> {
        ProgLoad {
            prog_type: self.program_type.number(),
            expected_attach_type: self.attach_type,
            attach_btf_id: self.attach_btf_id,
            prog_flags: if self.is_sleepable { prog_flags::SLEEPABLE } else { 0 },
            // Kernels before 5.0 compare the version of kprobe programs.
            kern_version: if self.program_type == ProgramType::Kprobe { running_version_once() } else { 0 },
            ..ProgLoad::default()
        }
    }

    /// Loads the program without a log.
    pub(super) fn load(self, insns: &[Insn], token: Token<'_>) -> Result<OwnedFd, Errno> {
        self.request(insns, &mut [], token)
    }

    /// Loads the program with a log.
    pub(super) fn load_with_log(self, insns: &[Insn], token: Token<'_>) -> Result<OwnedFd, Refusal> {
        let mut log = vec![0; LOG_BYTES];
        self.request(insns, &mut log, token)
            .map_err(|errno| Refusal { errno, log: String::from_utf8_lossy(before_nul(&log)).into_owned() })
    }

    fn request(self, insns: &[Insn], log: &mut [u8], token: Token<'_>) -> Result<OwnedFd, Errno> {
        prepare();
        let insns = code(insns);
        let load = ProgLoad { insns: &insns, license: b"GPL", log_level: 1, token, ..self.prog_load() };
        retry(|| sys::prog_load(&load, log))
    }
}

fn running_version_once() -> u32 {
    static VERSION: OnceLock<u32> = OnceLock::new();
    *VERSION.get_or_init(running_version)
}

/// Repeats a load that fails with `EAGAIN`: a signal interrupted the verifier.
pub(super) fn retry(mut load: impl FnMut() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    let mut result = load();
    for _ in 0..5 {
        match result {
            Err(Errno(libc::EAGAIN)) => result = load(),
            other => return other,
        }
    }
    result
}

/// The kernel's internal error of something that is not supported.
pub(super) const ENOTSUPP: i32 = 524;

/// What the verifier says of a type id that is not what it attaches to.
pub(super) const NO_FUNCTION: &str = "is not a function";
pub(super) const NO_TYPEDEF: &str = "is not a typedef";

/// Probes with a program that a kernel with the feature refuses with one of these messages.
pub(super) fn probe_message(program: ProbeProgram, messages: &[&str], token: Token<'_>) -> ProbeResult {
    match program.load_with_log(&RETURN_0, token) {
        Err(refusal) if messages.iter().any(|message| refusal.log.contains(message)) => {
            Ok(Probed::yes(format!("the verifier looks up the target: {}", refusal.message())))
        }
        Err(refusal) if is_undecided(refusal.errno) => Err(undecided(PROG_LOAD, refusal.errno)),
        Err(refusal) => Ok(Probed::no(refusal.message())),
        Ok(_) => Ok(Probed::no("BPF_PROG_LOAD accepts any type id")),
    }
}
