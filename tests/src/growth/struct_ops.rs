//! Objects with many or large struct_ops tables.

use super::{
    command::OBJECT,
    dimension::Dimension,
    input::Files,
    object::{ENDIAN, ObjectBuilder, returns},
};
use core_relo::btf::Builder;
use object::{SectionKind, SymbolKind};

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "struct_ops tables", max_count: 60_000, commands: OBJECT, build: |n| tables(n, false) },
    Dimension {
        name: "struct_ops tables of different structs",
        max_count: 60_000,
        commands: OBJECT,
        build: |n| tables(n, true),
    },
    Dimension { name: "members of a struct_ops table", max_count: 60_000, commands: OBJECT, build: members },
];

/// Tables with a program each, of one struct or of different structs.
fn tables(n: usize, have_own_structs: bool) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), Builder::new(ENDIAN));
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
        m.add_data_reloc(data, 8 * at, program);
        let table = format!("table{at}");
        m.symbol(&table, SymbolKind::Data, data, 8 * at, 8);
        variables.push((m.types.var(&table, ty, 1), 8 * at as u32, 8));
    }
    m.types.datasec(".struct_ops", 8 * n as u32, &variables);
    Files::new(m.finish(), kernel.finish())
}

/// One table whose members the kernel has in reverse order.
fn members(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), Builder::new(ENDIAN));
    let int = kernel.int("int", 4, Builder::SIGNED);
    let names: Vec<_> = (0..n).map(|at| format!("member{at}")).collect();
    let member = |(name, at)| -> (&str, _, _) { (name, int, 32 * at) };
    let own: Vec<_> = names.iter().map(|name| &**name).zip(0u32..).map(member).collect();
    let reversed: Vec<_> = names.iter().rev().map(|name| &**name).zip(0u32..).map(member).collect();
    let ty = m.types.structure("ops", 4 * n as u32, &own);
    let inner = kernel.structure("ops", 4 * n as u32, &reversed);
    kernel.structure("bpf_struct_ops_ops", 64 + 4 * n as u32, &[("data", inner, 512)]);
    let data = m.section(".struct_ops", SectionKind::Data, &vec![1; 4 * n]);
    m.symbol("table", SymbolKind::Data, data, 0, 4 * n);
    let variable = m.types.var("table", ty, 1);
    m.types.datasec(".struct_ops", 4 * n as u32, &[(variable, 0, 4 * n as u32)]);
    Files::new(m.finish(), kernel.finish())
}
