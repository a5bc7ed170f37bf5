//! bpf(2) works at all: a program of two instructions, by hand.

use core_relo_loader::sys::{self, ProgLoad};

const SOCKET_FILTER: u32 = 1;

#[test]
fn two_instructions_load() {
    // r0 = 0; exit
    let insns = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
    let load = ProgLoad {
        prog_type: SOCKET_FILTER,
        name: b"smoke",
        insns: &insns,
        license: b"GPL",
        ..ProgLoad::default()
    };
    let prog = sys::prog_load(&load, &mut []).unwrap();
    assert_eq!(sys::prog_info(&prog).unwrap().name(), "smoke");
}
