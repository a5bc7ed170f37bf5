//! Inputs of many kernels or many objects.

use super::{
    command::Command as C,
    dimension::Dimension,
    input::Files,
    object::{ENDIAN, ObjectBuilder, insn, returns},
    records::{TASK_OFFSET, add_bpf_types, small_kernel, task},
};
use core_relo::btf::Builder;

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "kernels in a directory", max_count: 10_000, commands: &[C::Check], build: kernels },
    Dimension {
        name: "objects",
        max_count: 10_000,
        commands: &[C::Check, C::DryRun, C::Link],
        build: objects,
    },
];

/// An object with one CO-RE relocation.
fn object(n: usize) -> Vec<u8> {
    let mut m = ObjectBuilder::default();
    let (root, access) = task(&mut m);
    let program = format!("program{n}");
    let section = format!("kprobe/f{n}");
    m.program(&program, &section, &[insn(0xb7, 0, 0, TASK_OFFSET), returns()[1]]);
    m.func_type(&program, 1);
    m.core_records(&section, &[(0, root, access, 0)]);
    m.finish()
}

fn objects(n: usize) -> Files {
    Files { objects: (0..n).map(object).collect(), kernels: vec![small_kernel()] }
}

/// Kernels with different types.
fn kernels(n: usize) -> Files {
    let kernel = |at: usize| {
        let mut b = Builder::new(ENDIAN);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("task", 16, &[("state", int, 0), ("pid", int, 64)]);
        b.structure(&format!("only{at}"), 4, &[("member", int, 0)]);
        add_bpf_types(&mut b, int);
        b.finish()
    };
    Files { objects: vec![object(0)], kernels: (0..n).map(kernel).collect() }
}
