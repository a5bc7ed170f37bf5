//! Small maps and programs for tests on the running kernel. A constructor prints `SKIP` and returns `None` if
//! the kernel refuses.
#![cfg(test)]

use crate::sys::{self, Errno, MapCreate, MapFd, ProgLoad, TestRun, page_size};
use core_relo::{
    Endian,
    insn::{Insn, LD_IMM64},
};
use core_relo_object::object::{MapType, ProgramType};
use core_relo_test_support::skip;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

/// Skips the test if this kernel lacks or forbids the request, and fails it on any other error.
pub(crate) fn or_skip<T>(label: &str, result: Result<T, Errno>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(e @ Errno(libc::EPERM | libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | 524)) => {
            skip!("{label}: {e}");
            None
        }
        Err(e) => panic!("{label}: {e}"),
    }
}

/// Creates a map called `test_map`.
pub(crate) fn map_with(map_type: MapType, request: &MapCreate<'_>) -> Option<MapFd> {
    // Kernels before 5.11 charge maps to the limit on locked memory. A limit that stays low fails the request
    // below.
    if let Err(errno) = sys::raise_memlock_limit() {
        println!("the limit on locked memory stays: {errno}");
    }
    let map = MapCreate { map_type: map_type.number(), name: b"test_map", ..*request };
    or_skip(map_type.name(), sys::map_create(&map).and_then(MapFd::new))
}

pub(crate) fn map(map_type: MapType, key_size: u32, value_size: u32, max_entries: u32) -> Option<MapFd> {
    map_with(map_type, &MapCreate { key_size, value_size, max_entries, ..MapCreate::default() })
}

/// Creates a ring of `pages` pages.
pub(crate) fn ring(map_type: MapType, pages: usize) -> Option<MapFd> {
    let size = page_size().checked_mul(pages).and_then(|size| u32::try_from(size).ok());
    map(map_type, 0, 0, size.unwrap_or_else(|| panic!("a ring of {pages} pages is too large")))
}

pub(crate) fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

/// `dst = map`.
pub(crate) fn load_map(dst: u8, map: impl AsFd) -> [Insn; 2] {
    [insn(LD_IMM64, dst, 1, 0, map.as_fd().as_raw_fd()), Insn::default()]
}

/// `dst = src`.
pub(crate) fn mov(dst: u8, src: u8) -> Insn {
    insn(0xbf, dst, src, 0, 0)
}

/// `dst = imm`.
pub(crate) fn set(dst: u8, imm: i32) -> Insn {
    insn(0xb7, dst, 0, 0, imm)
}

/// `dst += imm`.
pub(crate) fn add(dst: u8, imm: i32) -> Insn {
    insn(0x07, dst, 0, 0, imm)
}

pub(crate) fn call(helper: i32) -> Insn {
    insn(0x85, 0, 0, 0, helper)
}

pub(crate) fn exit() -> Insn {
    insn(0x95, 0, 0, 0, 0)
}

pub(crate) fn bytes(insns: &[Insn]) -> Vec<u8> {
    insns.iter().flat_map(|i| i.encode(Endian::native())).collect()
}

/// Loads a socket filter.
pub(crate) fn filter(insns: &[Insn]) -> Option<OwnedFd> {
    filter_with(insns, &ProgLoad::default())
}

pub(crate) fn filter_with(insns: &[Insn], request: &ProgLoad<'_>) -> Option<OwnedFd> {
    program(ProgramType::SocketFilter, insns, request)
}

pub(crate) fn program(program_type: ProgramType, insns: &[Insn], request: &ProgLoad<'_>) -> Option<OwnedFd> {
    let insns = bytes(insns);
    let load = ProgLoad {
        prog_type: program_type.number(),
        name: b"test_prog",
        insns: &insns,
        license: b"GPL",
        log_level: 1,
        ..*request
    };
    let mut log = vec![0; 1 << 16];
    let loaded = sys::prog_load(&load, &mut log);
    if loaded.is_err() {
        println!("{}", String::from_utf8_lossy(&log).trim_end_matches('\0'));
    }
    or_skip(program_type.name(), loaded)
}

/// Runs a socket filter on a packet with this payload. Returns the program's result.
pub(crate) fn run(prog: impl AsFd, payload: &[u8], repeat: u32) -> i32 {
    let mut packet = vec![0; 14];
    packet.extend_from_slice(payload);
    let mut run = TestRun { data_in: &packet, repeat, ..TestRun::default() };
    sys::test_run(prog, &mut run).unwrap().retval.cast_signed()
}

/// Copies `len` bytes of the packet's payload to `r10 - 512`. Leaves the context in `r6`.
pub(crate) fn load_payload(len: i32) -> Vec<Insn> {
    vec![mov(6, 1), set(2, 0), mov(3, 10), add(3, -512), set(4, len), call(26)]
}
