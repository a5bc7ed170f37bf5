//! Objects that take much from the kernel.

use super::{
    Command as C, Dimension, Files, OBJECT,
    object::{ENDIAN, ObjectMaker, call, load, returns},
    records::small_kernel,
};
use core_relo::btf::Builder;

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "kernel functions called", most: 60_000, commands: OBJECT, make: functions },
    Dimension {
        name: "kernel variables by type",
        most: 60_000,
        commands: OBJECT,
        make: |n| variables(n, "variable", true),
    },
    Dimension {
        name: "flavours of a kernel variable",
        most: 60_000,
        commands: &[C::DryRun],
        make: |n| variables(n, "variable___", true),
    },
    Dimension {
        name: "kernel variables by address",
        most: 60_000,
        commands: OBJECT,
        make: |n| variables(n, "variable", false),
    },
    Dimension { name: "configuration values", most: 60_000, commands: OBJECT, make: configuration },
    Dimension {
        name: "kernel functions of one prototype, and its parameters",
        most: 60_000,
        commands: OBJECT,
        make: parameters,
    },
];

fn kernel() -> Builder {
    let mut kernel = Builder::new(ENDIAN);
    kernel.int("int", 4, Builder::SIGNED);
    kernel
}

fn functions(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
    let proto = m.types.func_proto(m.int, &[("argument", m.int)]);
    let kernel_proto = kernel.func_proto(m.int, &[("argument", m.int)]);
    let code = [vec![call(-1); n], returns().to_vec()].concat();
    let section = m.program("program", "socket", &code);
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let function = format!("function{at}");
        let symbol = m.weak_extern(&function);
        m.refer(section, at, symbol, true);
        listed.push((m.types.func(&function, proto, 2), 0, 0));
        kernel.func(&function, kernel_proto, 1);
    }
    m.types.datasec(".ksyms", 0, &listed);
    Files::new(m.finish(), kernel.finish())
}

/// As many functions as parameters, of one prototype.
fn parameters(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
    // Without names: the kernel's loader wants each to have one, which the plan's BTF therefore gets.
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

/// Kernel variables; those without a type go by their address.
fn variables(n: usize, stem: &str, have_types: bool) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
    let section = m.program("program", "socket", &[load().repeat(n), returns().to_vec()].concat());
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let variable = format!("{stem}{at}");
        let symbol = m.weak_extern(&variable);
        m.refer(section, 2 * at, symbol, false);
        let ty = if have_types { m.int } else { core_relo::TypeId::VOID };
        listed.push((m.types.var(&variable, ty, 2), 0, 0));
        kernel.var(&variable, m.int, 1);
    }
    m.types.datasec(".ksyms", 0, &listed);
    Files::new(m.finish(), kernel.finish())
}

fn configuration(n: usize) -> Files {
    let mut m = ObjectMaker::default();
    let section = m.program("program", "socket", &[load().repeat(n), returns().to_vec()].concat());
    m.func_type("program", 1);
    let mut listed = Vec::new();
    for at in 0..n {
        let variable = format!("CONFIG_VALUE_{at}");
        let symbol = m.weak_extern(&variable);
        m.refer(section, 2 * at, symbol, false);
        listed.push((m.types.var(&variable, m.int, 2), 0, 4));
    }
    m.types.datasec(".kconfig", 0, &listed);
    Files::new(m.finish(), small_kernel())
}
