//! Smoke tests of bpf(2) and of the test harness, with a program of two instructions.

use super::harness::{Bpffs, Census, Need, in_vm, live, object};
use core_relo::Endian;
use core_relo_loader::{
    Loader,
    inventory::{self, ProgramInfo},
    load::{Kernel as _, ProgLoad, RunningKernel, TestRun},
    object::Object,
};
use std::os::fd::OwnedFd;

const SOCKET_FILTER: u32 = 1;

/// Loads a program that returns 7.
fn load_seven() -> OwnedFd {
    // r0 = 7; exit
    let mut insns = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
    insns[4..8].copy_from_slice(&7i32.to_ne_bytes());
    let load = ProgLoad {
        prog_type: SOCKET_FILTER,
        name: b"smoke",
        insns: &insns,
        license: b"GPL",
        ..ProgLoad::default()
    };
    RunningKernel.prog_load(&load, &mut []).unwrap()
}

#[test]
fn two_instructions_load_and_run() {
    let Some(_live) = live("smoke::two_instructions_load_and_run", &[]) else { return };
    let prog = load_seven();
    let info = ProgramInfo::query(&prog).unwrap();
    assert_eq!((info.prog_type, info.name().as_str()), (SOCKET_FILTER, "smoke"));
    let mut run = TestRun { data_in: &[0; 64], ..TestRun::default() };
    assert_eq!(inventory::test_run(&prog, &mut run).unwrap().retval, 7);
}

#[test]
fn a_test_run_returns_the_written_context() {
    let Some(_live) = live("smoke::a_test_run_returns_the_written_context", &[Need::Kernel(5, 14)]) else {
        return;
    };
    let bytes = object("syscall");
    let object = Object::parse(&bytes).unwrap();
    let loaded = Loader::new(&object).load().unwrap();
    let context = [2, 3, 0].map(|n| Endian::native().u64_bytes(n)).concat();
    let mut after = [0; 24];
    // An empty output buffer discards the written context.
    for ctx_out in [&mut [][..], &mut after[..]] {
        let mut run = TestRun { ctx_in: &context, ctx_out, ..TestRun::default() };
        inventory::test_run(loaded.program("add").unwrap(), &mut run).unwrap();
    }
    assert_eq!(after[16..], Endian::native().u64_bytes(5));
}

#[test]
fn the_census_reports_only_what_stays() {
    let Some(_live) = live("smoke::the_census_reports_only_what_stays", &[]) else { return };
    let before = Census::take();
    let prog = load_seven();
    let new: Vec<String> = before.new_since().collect();
    assert!(new.iter().any(|line| line.contains("bpf-prog")), "{new:?}");
    let id = ProgramInfo::query(&prog).unwrap().id;
    assert_eq!(in_vm(), new.contains(&format!("program {id}")), "{new:?}");
    drop(prog);
    assert_eq!(before.left_behind(), [""; 0]);
}

#[test]
fn a_pin_keeps_a_program() {
    let Some(_live) = live("smoke::a_pin_keeps_a_program", &[]) else { return };
    let bpffs = Bpffs::new();
    let path = bpffs.path().join("seven");
    let prog = load_seven();
    let id = ProgramInfo::query(&prog).unwrap().id;
    inventory::pin(&prog, &path).unwrap();
    drop(prog);
    let again = RunningKernel.open_pin(&path).unwrap();
    assert_eq!(ProgramInfo::query(&again).unwrap().id, id);
}
