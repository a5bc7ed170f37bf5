//! Objects with many sections, programs, symbols, relocations or source lines.

use super::{
    command::{OBJECT, UNLINKED},
    dimension::Dimension,
    input::{Files, name},
    object::{ObjectBuilder, insn, load, returns},
    records::{TASK_OFFSET, small_kernel, task},
};
use object::SymbolKind;

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "code sections", max_count: 60_000, commands: OBJECT, build: |n| sections(n, true) },
    Dimension {
        name: "code sections of one name",
        max_count: 60_000,
        commands: OBJECT,
        build: |n| sections(n, false),
    },
    Dimension { name: "programs of one section", max_count: 100_000, commands: OBJECT, build: programs },
    Dimension { name: "symbols", max_count: 100_000, commands: OBJECT, build: symbols },
    Dimension { name: "ELF relocations", max_count: 100_000, commands: OBJECT, build: relocations },
    Dimension { name: "source lines", max_count: 100_000, commands: OBJECT, build: lines },
    Dimension { name: "maps", max_count: 60_000, commands: UNLINKED, build: |n| maps(n, true) },
    Dimension { name: "maps of one name", max_count: 60_000, commands: UNLINKED, build: |n| maps(n, false) },
    Dimension { name: "program arrays with a program", max_count: 60_000, commands: UNLINKED, build: arrays },
    Dimension { name: "initial values of a map", max_count: 100_000, commands: OBJECT, build: values },
];

/// Code sections with a program and a CO-RE relocation each. The relocations of equally named sections all
/// belong to the first section, so only the first section has one.
fn sections(n: usize, is_distinct: bool) -> Files {
    let mut m = ObjectBuilder::default();
    let (root, access) = task(&mut m);
    for at in 0..n {
        let section = name("kprobe/f", at, is_distinct);
        let program = format!("program{at}");
        m.program(&program, &section, &[insn(0xb7, 0, 0, TASK_OFFSET), returns()[1]]);
        m.func_type(&program, 1);
        if is_distinct || at == 0 {
            m.core_records(&section, &[(0, root, access, 0)]);
        }
    }
    Files::new(m.finish(), small_kernel())
}

/// Programs in one section.
fn programs(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let section = m.code("socket", &returns().repeat(n));
    let mut infos = Vec::new();
    for at in 0..n {
        let program = format!("program{at}");
        m.function(&program, section, 2 * at, 2);
        infos.push((2 * at as u32, m.func_type(&program, 1)));
    }
    m.func_infos("socket", &infos);
    Files::new(m.finish(), small_kernel())
}

/// Local labels.
fn symbols(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let section = m.program("program", "socket", &returns());
    m.func_type("program", 1);
    for at in 0..n {
        let label = m.symbol(&format!("label{at}"), SymbolKind::Label, section, 0, 0);
        m.make_static(label);
    }
    Files::new(m.finish(), small_kernel())
}

/// 64-bit loads that refer to one map.
fn relocations(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let (_, _, map) =
        m.map("map", &[("type", 2), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
    let code = [load().repeat(n), returns().to_vec()].concat();
    let section = m.program("program", "socket", &code);
    m.func_type("program", 1);
    for at in 0..n {
        m.add_reloc(section, 2 * at, map, false);
    }
    Files::new(m.finish(), small_kernel())
}

/// Source lines of one program.
fn lines(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let code = [vec![returns()[0]; n], returns().to_vec()].concat();
    m.program("program", "socket", &code);
    let function = m.func_type("program", 1);
    m.func_infos("socket", &[(0, function)]);
    let lines: Vec<_> = (0..n as u32).map(|at| (at, at + 1)).collect();
    m.lines("socket", &lines);
    Files::new(m.finish(), small_kernel())
}

/// Maps of different sizes.
fn maps(n: usize, is_distinct: bool) -> Files {
    let mut m = ObjectBuilder::default();
    m.program("program", "socket", &returns());
    m.func_type("program", 1);
    for at in 0..n {
        let numbers = [("type", 2), ("key_size", 4), ("value_size", 4), ("max_entries", 1 + at as u32)];
        m.map(&name("map", at, is_distinct), &numbers, None);
    }
    Files::new(m.finish(), small_kernel())
}

/// `n` program arrays that each hold the same program.
fn arrays(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let code = m.code("socket", &returns());
    let program = m.function("program", code, 0, returns().len());
    m.func_type("program", 1);
    let proto = m.types.func_proto(m.int, &[]);
    let numbers = [("type", 3), ("key_size", 4), ("value_size", 4), ("max_entries", 1)];
    for at in 0..n {
        let (section, map, _) = m.map(&name("array", at, true), &numbers, Some((proto, 1)));
        m.add_data_reloc(section, map + 32, program);
    }
    Files::new(m.finish(), small_kernel())
}

/// A map of maps with `n` initial values.
fn values(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    m.program("program", "socket", &returns());
    m.func_type("program", 1);
    let inner = [("type", 2), ("key_size", 4), ("value_size", 4), ("max_entries", 1)];
    let (_, _, map) = m.map("inner", &inner, None);
    let numbers: Vec<_> = inner.iter().map(|(field, n)| (*field, *n)).collect();
    let mut members = Vec::new();
    for (at, (field, number)) in numbers.iter().enumerate() {
        let array = m.types.array(m.int, m.int, *number);
        members.push((*field, m.types.pointer(array), 64 * at as u32));
    }
    let definition = m.types.structure("", 32, &members);
    let outer = [("type", 12), ("key_size", 4), ("value_size", 4), ("max_entries", n as u32)];
    let (section, at, _) = m.map("outer", &outer, Some((definition, n)));
    for slot in 0..n {
        m.add_data_reloc(section, at + 32 + 8 * slot, map);
    }
    Files::new(m.finish(), small_kernel())
}
