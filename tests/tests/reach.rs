//! Reachability in programs that clang compiled: guarded reads of fields that do not exist.

use core_relo::Endian;
use core_relo::btf::Btf;
use core_relo::insn::{INSN_BYTES, Insn};
use core_relo_object::{
    load_plan::{LoadPlan, ProgramPlan, Settings, TargetKernel},
    object::Object,
    target::KernelBtf,
};
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use core_relo_verdict::reach::{Function, Program, Reach, Reachability, analyze};
use std::{fs, path::Path, sync::Arc};

/// Returns the BTF of an object, as that of a kernel.
fn kernel(path: &Path) -> Option<TargetKernel> {
    let bytes = fs::read(path).ok()?;
    let object = Object::parse(&bytes).ok()?;
    let btf = Arc::new(Btf::parse(object.btf()?.as_bytes().to_vec()).ok()?);
    Some(TargetKernel::offline(Arc::new(KernelBtf::from_btf(btf, []))))
}

/// Decodes the instructions of a plan, which have the host's byte order.
fn decode(program: &ProgramPlan) -> Vec<Insn> {
    let insns = program.insns().chunks_exact(INSN_BYTES);
    insns.filter_map(|raw| Some(Insn::decode(Endian::native(), *raw.first_chunk()?))).collect()
}

/// Analyses a planned program. Data and maps are pointers of which nothing is known.
fn reachability(program: &ProgramPlan, endian: Endian) -> (Vec<Insn>, Reachability) {
    let insns = decode(program);
    let functions = program.functions().iter().map(|copy| Function { start: copy.start, is_global: false });
    let functions: Vec<_> = functions.collect();
    let result = analyze(&Program {
        insns: &insns,
        functions: &functions,
        loads: &[],
        endian,
        verifies_uncalled_functions: false,
        exception_callback: None,
        bounds_context: false,
        passes_context: true,
    });
    (insns, result)
}

#[test]
fn guarded_reads_of_missing_fields_are_dead() {
    let guards: Vec<_> =
        artifacts::objects().into_iter().filter(|path| path.ends_with("fields/guard.bpf.o")).collect();
    if guards.is_empty() {
        return skip("guarded_reads_of_missing_fields_are_dead", "no compiled fields/guard.bpf.o");
    }
    for path in guards {
        let bytes = fs::read(&path).unwrap();
        let object = Object::parse(&bytes).unwrap();
        for (target, expected) in [("old", 1), ("new", 1), ("neither", 2)] {
            let kernel = kernel(&path.with_file_name(format!("guard.{target}.o"))).unwrap();
            let plan = LoadPlan::new(&object, &Settings::default(), &kernel).unwrap();
            let (insns, result) = reachability(&plan.programs()[0], object.endian());
            let poisoned = (0..).zip(&insns).filter(|(_, insn)| **insn == Insn::POISON);
            let reached: Vec<_> = poisoned.map(|(pc, _)| result.reach(pc)).collect();
            assert_eq!(reached, vec![Reach::Dead; expected], "{} {target}", path.display());
            assert_eq!(result.reach(0), Reach::Reachable);
        }
    }
}

#[test]
fn poisoned_instructions_without_a_guard_are_reachable() {
    let mut programs = 0_usize;
    for path in artifacts::objects() {
        let bytes = fs::read(&path).unwrap();
        let Ok(object) = Object::parse(&bytes) else { continue };
        for kernel in artifacts::targets_of(&path).iter().filter_map(|target| kernel(target)) {
            let Ok(plan) = LoadPlan::new(&object, &Settings::default(), &kernel) else { continue };
            for program in plan.programs() {
                let (insns, result) = reachability(program, object.endian());
                programs = programs.saturating_add(1);
                assert_ne!(result.reach(0), Reach::Dead, "{} {}", path.display(), program.name());
                let Some(first) = insns.iter().position(|insn| *insn == Insn::POISON) else { continue };
                let conditional = |insn: &Insn| matches!(insn.code & 7, 5 | 6) && !matches!(insn.code, 0x85);
                if !insns[..first].iter().any(conditional) {
                    let reach = result.reach(u32::try_from(first).unwrap());
                    assert_eq!(reach, Reach::Reachable, "{} {}", path.display(), program.name());
                }
            }
        }
    }
    println!("{programs} programs");
}
