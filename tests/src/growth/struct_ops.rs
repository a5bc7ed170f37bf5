//! Objects with many struct_ops tables, or large ones.

use super::{
    Dimension, Files, OBJECT,
    object::{ENDIAN, ObjectMaker, returns},
};
use core_relo::btf::Builder;
use object::{SectionKind, SymbolKind};

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "struct_ops tables", most: 60_000, commands: OBJECT, make: |n| tables(n, false) },
    Dimension {
        name: "struct_ops tables of different structs",
        most: 60_000,
        commands: OBJECT,
        make: |n| tables(n, true),
    },
    Dimension { name: "members of a struct_ops table", most: 60_000, commands: OBJECT, make: members },
];

/// Tables with a program each, all of one struct or each of its own.
fn tables(n: usize, have_own_structs: bool) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), Builder::new(ENDIAN));
    kernel.int("int", 4, Builder::SIGNED);
    let proto = m.types.func_proto(m.int, &[]);
    let pointer = m.types.pointer(proto);
    let kernel_proto = kernel.func_proto(m.int, &[]);
    let kernel_pointer = kernel.pointer(kernel_proto);
    let code = m.code("struct_ops", &returns().repeat(n));
    let data = m.section(".struct_ops", SectionKind::Data, &vec![0; 8 * n]);
    let mut variables = Vec::new();
    let mut ty = m.int;
    for at in 0..n {
        if have_own_structs || at == 0 {
            let name = format!("ops{at}");
            ty = m.types.structure(&name, 8, &[("call", pointer, 0)]);
            let inner = kernel.structure(&name, 8, &[("call", kernel_pointer, 0)]);
            kernel.structure(&format!("bpf_struct_ops_{name}"), 128, &[("data", inner, 512)]);
        }
        let program = m.function(&format!("program{at}"), code, 2 * at, 2);
        m.func_type(&format!("program{at}"), 1);
        m.refer_from_data(data, 8 * at, program);
        let table = format!("table{at}");
        m.symbol(&table, SymbolKind::Data, data, 8 * at, 8);
        variables.push((m.types.var(&table, ty, 1), 8 * at as u32, 8));
    }
    m.types.datasec(".struct_ops", 8 * n as u32, &variables);
    Files::new(m.finish(), kernel.finish())
}

/// One table; the kernel has its members in the opposite order.
fn members(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), Builder::new(ENDIAN));
    let int = kernel.int("int", 4, Builder::SIGNED);
    let names: Vec<_> = (0..n).map(|at| format!("member{at}")).collect();
    let place = |(name, at)| -> (&str, _, _) { (name, int, 32 * at) };
    let own: Vec<_> = names.iter().map(|name| &**name).zip(0u32..).map(place).collect();
    let turned: Vec<_> = names.iter().rev().map(|name| &**name).zip(0u32..).map(place).collect();
    let ty = m.types.structure("ops", 4 * n as u32, &own);
    let inner = kernel.structure("ops", 4 * n as u32, &turned);
    kernel.structure("bpf_struct_ops_ops", 64 + 4 * n as u32, &[("data", inner, 512)]);
    let data = m.section(".struct_ops", SectionKind::Data, &vec![1; 4 * n]);
    m.symbol("table", SymbolKind::Data, data, 0, 4 * n);
    let variable = m.types.var("table", ty, 1);
    m.types.datasec(".struct_ops", 4 * n as u32, &[(variable, 0, 4 * n as u32)]);
    Files::new(m.finish(), kernel.finish())
}
