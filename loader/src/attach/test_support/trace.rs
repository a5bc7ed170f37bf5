//! Test support for tracing programs: a map that counts runs, small programs, a mounted tracefs.

use super::eventually;
use crate::sys::{self, Errno, MapCreate, MapFd, ProgLoad};
use core_relo::{Endian, btf::Kind, insn::Insn};
use core_relo_object::object::{AttachType, MapType, ProgramType};
use core_relo_test_support::skip;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

/// An array of two numbers: the runs of the program in this process, and the last result of
/// `bpf_get_attach_cookie`.
pub(in crate::attach) struct Counter(MapFd);

impl Counter {
    pub(in crate::attach) fn new() -> Option<Self> {
        let map = MapCreate {
            map_type: MapType::Array.number(),
            name: b"counter",
            key_size: 4,
            value_size: 16,
            max_entries: 1,
            ..MapCreate::default()
        };
        match sys::map_create(&map) {
            Ok(fd) => Some(Self(MapFd::new(fd).unwrap())),
            Err(e) => {
                skip!("no map: {e}");
                None
            }
        }
    }

    pub(in crate::attach) fn map(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn value(&self) -> [u8; 16] {
        let mut value = [0; 16];
        self.0.shape().lookup(&[0; 4], &mut value, 0).unwrap();
        value
    }

    pub(in crate::attach) fn count(&self) -> u64 {
        Endian::native().u64(&self.value(), 0).unwrap()
    }

    pub(in crate::attach) fn cookie(&self) -> u64 {
        Endian::native().u64(&self.value(), 8).unwrap()
    }
}

/// A loaded program.
pub(in crate::attach) struct Program(OwnedFd);

impl Program {
    pub(in crate::attach) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Loads a program that counts its runs in this process.
    pub(in crate::attach) fn counting(
        kind: ProgramType,
        attach_type: u32,
        counter: &Counter,
    ) -> Option<Self> {
        Self::load(kind, attach_type, &instructions(counter, false, Some(std::process::id())))
    }

    /// Loads a program that counts its runs in all processes.
    pub(in crate::attach) fn counting_all(
        kind: ProgramType,
        attach_type: u32,
        counter: &Counter,
    ) -> Option<Self> {
        Self::load(kind, attach_type, &instructions(counter, false, None))
    }

    /// Loads a program that counts its runs in this process and stores the cookie.
    pub(in crate::attach) fn with_cookie(
        kind: ProgramType,
        attach_type: u32,
        counter: &Counter,
    ) -> Option<Self> {
        Self::load(kind, attach_type, &instructions(counter, true, Some(std::process::id())))
    }

    /// Loads a program that counts its runs in all processes and stores the cookie.
    pub(in crate::attach) fn with_cookie_all(
        kind: ProgramType,
        attach_type: u32,
        counter: &Counter,
    ) -> Option<Self> {
        Self::load(kind, attach_type, &instructions(counter, true, None))
    }

    pub(in crate::attach) fn load(kind: ProgramType, attach_type: u32, code: &[Insn]) -> Option<Self> {
        Self::load_for(kind, attach_type, 0, code)
    }

    /// Loads a program that counts its runs in this process, for a target in the kernel's BTF: a function or
    /// a tracepoint's typedef.
    pub(in crate::attach) fn counting_at(
        kind: ProgramType,
        attach_type: AttachType,
        target: (&str, Kind),
        counter: &Counter,
    ) -> Option<Self> {
        let btf_id = kernel_type(target.0, target.1)?;
        let code = instructions(counter, false, Some(std::process::id()));
        Self::load_for(kind, attach_type.number(), btf_id, &code)
    }

    pub(in crate::attach) fn load_for(
        kind: ProgramType,
        attach_type: u32,
        attach_btf_id: u32,
        code: &[Insn],
    ) -> Option<Self> {
        let insns: Vec<u8> = code.iter().flat_map(|i| i.encode(Endian::native())).collect();
        let load = ProgLoad {
            prog_type: kind.number(),
            name: b"attach_test",
            insns: &insns,
            license: b"GPL",
            expected_attach_type: attach_type,
            attach_btf_id,
            log_level: 1,
            ..ProgLoad::default()
        };
        let mut log = vec![0; 1 << 16];
        match sys::prog_load(&load, &mut log) {
            Ok(fd) => Some(Self(fd)),
            Err(e @ Errno(libc::EPERM | libc::EINVAL)) if log.first() == Some(&0) => {
                skip!("{kind} is not loaded: {e}");
                None
            }
            Err(e) => {
                let log = String::from_utf8_lossy(&log);
                // A policy refuses the program before the verifier looks at an instruction.
                if e.0 == libc::EPERM && log.starts_with("processed 0 insns") {
                    skip!("{kind} is not loaded: {e}");
                    return None;
                }
                if log.contains("must provide btf_id") {
                    skip!("this kernel does not attach tracing programs to many functions");
                    return None;
                }
                assert!(log.contains("unknown#174"), "{kind}: {e}: {log}");
                skip!("this kernel has no cookies");
                None
            }
        }
    }
}

/// Returns the id of a type in the kernel's BTF.
pub(in crate::attach) fn kernel_type(name: &str, kind: Kind) -> Option<u32> {
    let Ok(kernel) = crate::target::kernel() else {
        skip!(Btf, "no BTF of the kernel");
        return None;
    };
    let btf = kernel.parse_unvalidated(None).unwrap();
    let found = btf.find(name.as_bytes(), kind).map(|t| t.id().0);
    if found.is_none() {
        skip!("the kernel's BTF has no {name}");
    }
    found
}

/// Returns an instruction.
pub(in crate::attach) fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

const CURRENT_PID_TGID: i32 = 14;
const ATTACH_COOKIE: i32 = 174;
const LOOKUP: i32 = 1;

fn instructions(counter: &Counter, cookie: bool, pid: Option<u32>) -> Vec<Insn> {
    let call = |helper| insn(0x85, 0, 0, 0, helper);
    let mut code = vec![insn(0xbf, 6, 1, 0, 0), insn(0xb7, 7, 0, 0, 0)];
    if cookie {
        code.extend([call(ATTACH_COOKIE), insn(0xbf, 7, 0, 0, 0)]);
    }
    let count = [
        insn(0x62, 10, 0, -4, 0),
        insn(0xbf, 2, 10, 0, 0),
        insn(0x07, 2, 0, 0, -4),
        insn(0x18, 1, 1, 0, counter.0.as_fd().as_raw_fd()),
        insn(0, 0, 0, 0, 0),
        call(LOOKUP),
        insn(0x15, 0, 0, 3, 0),
        insn(0xb7, 1, 0, 0, 1),
        insn(0xdb, 0, 1, 0, 0),
        insn(0x7b, 0, 7, 8, 0),
    ];
    if let Some(pid) = pid {
        let over = i16::try_from(count.len()).unwrap();
        let pid = i32::try_from(pid).unwrap();
        code.extend([call(CURRENT_PID_TGID), insn(0x77, 0, 0, 0, 32), insn(0x55, 0, 0, over, pid)]);
    }
    code.extend(count);
    code.extend([insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)]);
    code
}

/// Returns whether tracefs is mounted. Prints `SKIP` if not.
pub(in crate::attach) fn tracefs_or_skip() -> bool {
    match crate::attach::tracefs::root() {
        Ok(_) => true,
        Err(e) => {
            skip!("{e}");
            false
        }
    }
}

/// Returns whether an action soon no longer runs the program.
pub(in crate::attach) fn stops(counter: &Counter, mut fire: impl FnMut()) -> bool {
    eventually(|| {
        let before = counter.count();
        fire();
        counter.count() == before
    })
}

/// Makes the system call `getppid`.
pub(in crate::attach) fn getppid() {
    let _parent = std::os::unix::process::parent_id();
}
