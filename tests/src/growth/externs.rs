//! Objects with many externs.

use super::{
    command::{Command as C, OBJECT},
    dimension::Dimension,
    input::Files,
    object::{ENDIAN, ObjectBuilder, call, load, returns},
    records::small_kernel,
};
use core_relo::btf::Builder;

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "kernel functions called", max_count: 60_000, commands: OBJECT, build: functions },
    Dimension {
        name: "kernel variables by type",
        max_count: 60_000,
        commands: OBJECT,
        build: |n| variables(n, "variable", true),
    },
    Dimension {
        name: "flavours of a kernel variable",
        max_count: 60_000,
        commands: &[C::DryRun],
        build: |n| variables(n, "variable___", true),
    },
    Dimension {
        name: "kernel variables by address",
        max_count: 60_000,
        commands: OBJECT,
        build: |n| variables(n, "variable", false),
    },
    Dimension { name: "configuration values", max_count: 60_000, commands: OBJECT, build: configuration },
    Dimension {
        name: "kernel functions of one prototype, and its parameters",
        max_count: 60_000,
        commands: OBJECT,
        build: parameters,
    },
];

fn kernel() -> Builder {
    let mut kernel = Builder::new(ENDIAN);
    kernel.int("int", 4, Builder::SIGNED);
    kernel
}

/// Kernel functions with a call each.
fn functions(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let proto = m.types.func_proto(m.int, &[("argument", m.int)]);
    let kernel_proto = kernel.func_proto(m.int, &[("argument", m.int)]);
    let code = [vec![call(-1); n], returns().to_vec()].concat();
    let section = m.program("program", "socket", &code);
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let function = format!("function{at}");
        let symbol = m.weak_extern(&function);
        m.add_reloc(section, at, symbol, true);
        listed.push((m.types.func(&function, proto, 2), 0, 0));
        kernel.func(&function, kernel_proto, 1);
    }
    m.types.datasec(".ksyms", 0, &listed);
    Files::new(m.finish(), kernel.finish())
}

/// `n` functions of one prototype with `n` parameters.
fn parameters(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    // The parameters have no names. The kernel requires names, so the load plan adds them to its BTF.
    let parameters = vec![("", m.int); n];
    let proto = m.types.func_proto(m.int, &parameters);
    let kernel_proto = kernel.func_proto(m.int, &parameters);
    m.program("program", "socket", &returns());
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let function = format!("function{at}");
        m.weak_extern(&function);
        listed.push((m.types.func(&function, proto, 2), 0, 0));
        kernel.func(&function, kernel_proto, 1);
    }
    m.types.datasec(".ksyms", 0, &listed);
    Files::new(m.finish(), kernel.finish())
}

/// Kernel variables. Untyped variables are resolved by address.
fn variables(n: usize, stem: &str, have_types: bool) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let section = m.program("program", "socket", &[load().repeat(n), returns().to_vec()].concat());
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let variable = format!("{stem}{at}");
        let symbol = m.weak_extern(&variable);
        m.add_reloc(section, 2 * at, symbol, false);
        let ty = if have_types { m.int } else { core_relo::TypeId::VOID };
        listed.push((m.types.var(&variable, ty, 2), 0, 0));
        kernel.var(&variable, m.int, 1);
    }
    m.types.datasec(".ksyms", 0, &listed);
    Files::new(m.finish(), kernel.finish())
}

/// Configuration values.
fn configuration(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let section = m.program("program", "socket", &[load().repeat(n), returns().to_vec()].concat());
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let variable = format!("CONFIG_VALUE_{at}");
        let symbol = m.weak_extern(&variable);
        m.add_reloc(section, 2 * at, symbol, false);
        listed.push((m.types.var(&variable, m.int, 2), 0, 4));
    }
    m.types.datasec(".kconfig", 0, &listed);
    Files::new(m.finish(), small_kernel())
}
