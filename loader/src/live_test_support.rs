//! For tests on the running kernel: small maps and programs. What cannot be made here prints `SKIP` and is `None`.
#![cfg(test)]

use crate::{
    object::{MapType, ProgramType},
    sys::{self, Errno, MapCreate, MapFd, ProgLoad, TestRun, page_size},
};
use core_relo::{
    Endian,
    insn::{Insn, LD_IMM64},
};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

/// What this kernel does not have or does not allow is no failure.
pub(crate) fn or_skip<T>(what: &str, made: Result<T, Errno>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(e @ Errno(libc::EPERM | libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | 524)) => {
            println!("SKIP: {what}: {e}");
            None
        }
        Err(e) => panic!("{what}: {e}"),
    }
}

/// A map called `test_map`.
pub(crate) fn map_with(of: MapType, shape: &MapCreate<'_>) -> Option<MapFd> {
    // Kernels before 5.11 charge maps to it.
    sys::raise_memlock_limit().unwrap_or_default();
    let map = MapCreate { map_type: of.number(), name: b"test_map", ..*shape };
    or_skip(of.name(), sys::map_create(&map).and_then(MapFd::new))
}

pub(crate) fn map(of: MapType, key_size: u32, value_size: u32, max_entries: u32) -> Option<MapFd> {
    map_with(of, &MapCreate { key_size, value_size, max_entries, ..MapCreate::default() })
}

/// A ring of some pages.
pub(crate) fn ring(of: MapType, pages: usize) -> Option<MapFd> {
    let size = page_size().saturating_mul(pages);
    map(of, 0, 0, u32::try_from(size).unwrap_or_default())
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

/// A socket filter.
pub(crate) fn filter(insns: &[Insn]) -> Option<OwnedFd> {
    filter_with(insns, &ProgLoad::default())
}

pub(crate) fn filter_with(insns: &[Insn], more: &ProgLoad<'_>) -> Option<OwnedFd> {
    program(ProgramType::SocketFilter, insns, more)
}

pub(crate) fn program(of: ProgramType, insns: &[Insn], more: &ProgLoad<'_>) -> Option<OwnedFd> {
    let insns = bytes(insns);
    let load = ProgLoad {
        prog_type: of.number(),
        name: b"test_prog",
        insns: &insns,
        license: b"GPL",
        log_level: 1,
        ..*more
    };
    let mut log = vec![0; 1 << 16];
    let loaded = sys::prog_load(&load, &mut log);
    if loaded.is_err() {
        println!("{}", String::from_utf8_lossy(&log).trim_end_matches('\0'));
    }
    or_skip(of.name(), loaded)
}

/// Runs a socket filter on a packet with this payload; what it returned.
pub(crate) fn run(prog: impl AsFd, payload: &[u8], repeat: u32) -> i32 {
    let mut packet = vec![0; 14];
    packet.extend_from_slice(payload);
    let mut run = TestRun { data_in: &packet, repeat, ..TestRun::default() };
    sys::prog_test_run(prog, &mut run).unwrap().retval.cast_signed()
}

/// `len` bytes of the packet's payload to `r10 - 512`. Leaves the context in `r6`.
pub(crate) fn load_payload(len: i32) -> Vec<Insn> {
    vec![mov(6, 1), set(2, 0), mov(3, 10), add(3, -512), set(4, len), call(26)]
}
