//! Objects and kernels with many types.

use super::{
    command::{Command as C, TYPES},
    dimension::Dimension,
    input::{Files, name},
    object::{ENDIAN, ObjectBuilder, insn, returns},
    records::{TASK_OFFSET, task},
};
use core_relo::btf::Builder;

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "types",
        max_count: 100_000,
        commands: TYPES,
        build: |n| structs(n, |at| name("type", at, true)),
    },
    Dimension {
        name: "types of one name",
        max_count: 100_000,
        commands: TYPES,
        build: |n| structs(n, |at| name("type", at, false)),
    },
    Dimension {
        name: "types of one long name",
        max_count: 60_000,
        // `btf dump` prints the name of each type, so its output is quadratic.
        commands: &[C::Explain, C::DryRun, C::Link],
        build: |n| structs(n, |_| "long".repeat(900)),
    },
    Dimension { name: "pointers", max_count: 100_000, commands: TYPES, build: pointers },
    Dimension { name: "parameters of a function", max_count: 60_000, commands: TYPES, build: parameters },
    Dimension { name: "tags of a function", max_count: 100_000, commands: TYPES, build: tags },
];

/// An object and a kernel with the types that `add_types` adds, and one CO-RE relocation.
fn files(add_types: impl Fn(&mut Builder)) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), Builder::new(ENDIAN));
    let int = kernel.int("int", 4, Builder::SIGNED);
    add_types(&mut m.types);
    add_types(&mut kernel);
    let (root, access) = task(&mut m);
    kernel.structure("task", 16, &[("state", int, 0), ("flags", int, 32), ("pid", int, 64)]);
    m.program("program", "socket", &[insn(0xb7, 0, 0, TASK_OFFSET), returns()[1]]);
    m.func_type("program", 1);
    m.core_records("socket", &[(0, root, access, 0)]);
    Files::new(m.finish(), kernel.finish())
}

/// Structs with different members.
fn structs(n: usize, name: impl Fn(usize) -> String) -> Files {
    files(|types| {
        let int = core_relo::TypeId(1);
        for at in 0..n {
            types.structure(&name(at), 4, &[(&format!("member{at}"), int, 0)]);
        }
    })
}

/// A chain of pointers.
fn pointers(n: usize) -> Files {
    files(|types| {
        let mut last = core_relo::TypeId(1);
        (0..n).for_each(|_| last = types.pointer(last));
    })
}

/// A function prototype with `n` parameters.
fn parameters(n: usize) -> Files {
    files(|types| {
        let int = core_relo::TypeId(1);
        let names: Vec<_> = (0..n).map(|at| format!("parameter{at}")).collect();
        let parameters: Vec<_> = names.iter().map(|name| (&**name, int)).collect();
        let proto = types.func_proto(int, &parameters);
        types.typedef("function", proto);
    })
}

/// A struct with `n` declaration tags.
fn tags(n: usize) -> Files {
    files(|types| {
        let int = core_relo::TypeId(1);
        let ty = types.structure("tagged", 4, &[("member", int, 0)]);
        for at in 0..n {
            types.decl_tag(&format!("tag{at}"), ty, -1);
        }
    })
}
