//! Maps, types and programs that the tests create in the running kernel.

use super::common::Run;
use core_relo::{
    Endian, TypeId,
    btf::{Builder, BuiltMember, Kind},
    insn::Insn,
};
use core_relo_loader::{
    inventory::MapInfo,
    load::{BtfLoad, Kernel as _, MapCreate, ProgLoad, RunningKernel},
    maps::MapFd,
};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::{
    os::fd::{AsFd as _, OwnedFd},
    process::id,
};

pub(super) const HASH: u32 = 1;
pub(super) const ARRAY: u32 = 2;
pub(super) const PROG_ARRAY: u32 = 3;
pub(super) const PERCPU_ARRAY: u32 = 6;
pub(super) const ARRAY_OF_MAPS: u32 = 12;
pub(super) const SOCKMAP: u32 = 15;
pub(super) const QUEUE: u32 = 22;
pub(super) const RINGBUF: u32 = 27;

/// Types that the fixtures use, loaded into the kernel.
pub(super) struct Types {
    pub(super) fd: OwnedFd,
    pub(super) int: TypeId,
    pub(super) event: TypeId,
    pub(super) main: TypeId,
    pub(super) callee: TypeId,
    pub(super) strings: [u32; 4],
}

/// Loads the types of the fixtures. Returns `None` and reports a skipped test if bpf(2) refuses.
pub(super) fn types() -> Option<Types> {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let char = b.int("char", 1, Builder::SIGNED);
    let comm = b.array(char, int, 8);
    let mode = b.enumeration("mode", 4, &[("OFF", 0), ("ON", 1)]);
    let field = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let event = b.composite(
        Kind::Struct,
        "event",
        24,
        &[
            field("pid", int, 0, 0),
            field("comm", comm, 32, 0),
            field("mode", mode, 96, 0),
            field("low", int, 128, 4),
            field("high", int, 132, 28),
            field("last", int, 160, 0),
        ],
    );
    let context = b.pointer(TypeId::VOID);
    let proto = b.func_proto(int, &[("ctx", context)]);
    let main = b.func("count_things_of_a_long_name", proto, 1);
    let callee = b.func("add_up", proto, 0);
    let strings = ["dir/count.bpf.c", "\treturn add_up(ctx);", "  return 7;", "static int add_up(void *ctx)"];
    let strings = strings.map(|s| b.string(s).0);
    let bytes = b.finish();
    let mut log = vec![0; 4096];
    match RunningKernel.btf_load(&BtfLoad { btf: &bytes, token: None }, &mut log) {
        Ok(fd) => Some(Types { fd, int, event, main, callee, strings }),
        Err(e) => {
            skip!(
                Root,
                "no BTF can be loaded here: {e} {}",
                String::from_utf8_lossy(&log).trim_matches('\0')
            );
            None
        }
    }
}

/// Returns a name that no other process uses.
pub(super) fn unique(prefix: &str) -> String {
    format!("{prefix}_{}", id())
}

/// Returns the id of a map.
pub(super) fn map_id(map: &MapFd) -> u32 {
    MapInfo::query(map).unwrap().id
}

/// Returns a number in the host's byte order.
pub(super) fn native32(v: u32) -> [u8; 4] {
    Endian::native().u32_bytes(v)
}

/// Creates a map from `int` to `struct event`.
pub(super) fn typed_map(types: &Types, map_type: u32, name: &str) -> MapFd {
    let fd = RunningKernel.map_create(&MapCreate {
        map_type,
        name: name.as_bytes(),
        key_size: 4,
        value_size: 24,
        max_entries: 2,
        btf: Some(types.fd.as_fd()),
        key_type: types.int.0,
        value_type: types.event.0,
        ..MapCreate::default()
    });
    MapFd::new(fd.unwrap()).unwrap()
}

/// Returns the bytes of a `struct event`.
pub(super) fn event(pid: u32) -> Vec<u8> {
    let mut out = native32(pid).to_vec();
    out.extend(*b"bash\0\0\0\0");
    out.extend(native32(1));
    let bits = if Endian::native() == Endian::Little { 0xffff_fff2 } else { 0x2fff_ffff };
    out.extend(native32(bits));
    out.extend(native32(u32::MAX));
    out
}

/// The text of `event(7)`.
pub(super) const EVENT: &str = r#"{.pid = 7, .comm = "bash", .mode = ON, .low = 2, .high = -1, .last = -1}"#;

/// Returns the JSON of `event(pid)`.
pub(super) fn event_json(pid: u32) -> Value {
    json!({"pid": pid, "comm": "bash", "mode": "ON", "low": 2, "high": -1, "last": -1})
}

pub(super) fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    Insn { code, dst, src, off, imm }.encode(Endian::native())
}

/// Loads a socket filter with a subprogram, a helper call, a map and source lines.
pub(super) fn program(types: &Types, map: &MapFd, name: &str) -> OwnedFd {
    use std::os::fd::AsRawFd as _;
    let code = [
        insn(0x18, 6, 1, 0, map.as_fd().as_raw_fd()), // r6 = map
        insn(0, 0, 0, 0, 0),
        insn(0x85, 0, 0, 0, 5), // call ktime_get_ns
        insn(0x85, 0, 1, 0, 1), // call add_up
        insn(0x95, 0, 0, 0, 0), // exit
        insn(0xb7, 0, 0, 0, 7), // add_up: r0 = 7
        insn(0x15, 0, 0, 1, 0), // if r0 == 0 goto +1
        insn(0x07, 0, 0, 0, 1), // r0 += 1
        insn(0x95, 0, 0, 0, 0),
    ];
    let words = |words: &[u32]| words.iter().flat_map(|w| native32(*w)).collect::<Vec<_>>();
    let [file, main, seven, callee] = types.strings;
    let functions = words(&[0, types.main.0, 5, types.callee.0]);
    let lines = words(&[
        0,
        file,
        main,
        12 << 10 | 5,
        3,
        file,
        main,
        13 << 10 | 5,
        5,
        file,
        callee,
        3 << 10,
        6,
        file,
        seven,
        4 << 10 | 2,
    ]);
    let mut log = vec![0; 65536];
    let load = ProgLoad {
        prog_type: 1,
        name: name.as_bytes(),
        insns: &code.concat(),
        license: b"GPL",
        btf: Some(types.fd.as_fd()),
        func_info: &functions,
        func_info_rec_size: 8,
        line_info: &lines,
        line_info_rec_size: 16,
        log_level: 1,
        ..ProgLoad::default()
    };
    let loaded = RunningKernel.prog_load(&load, &mut log);
    loaded.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&log).trim_matches('\0')))
}

/// Checks that a run succeeded without messages.
pub(super) fn ok(run: Run) -> Run {
    assert_eq!((run.exit, run.err.as_str()), (0, ""), "{}", run.out);
    run
}
