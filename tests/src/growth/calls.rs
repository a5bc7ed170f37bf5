//! Objects with many subprograms, calls and jump tables.

use super::{
    command::{OBJECT, UNLINKED},
    dimension::Dimension,
    input::{Files, name},
    object::{ENDIAN, ObjectBuilder, call, load, returns},
    records::small_kernel,
};
use object::{SectionKind, SymbolKind};

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "subprograms", max_count: 100_000, commands: OBJECT, build: |n| subprograms(n, true) },
    Dimension {
        name: "subprograms of one name",
        max_count: 100_000,
        commands: OBJECT,
        build: |n| subprograms(n, false),
    },
    Dimension {
        name: "subprograms that each call the next",
        max_count: 100_000,
        commands: OBJECT,
        build: chain,
    },
    Dimension { name: "exception callbacks", max_count: 60_000, commands: OBJECT, build: callbacks },
    Dimension { name: "jump tables", max_count: 60_000, commands: UNLINKED, build: jump_tables },
];

/// One program that calls `n` subprograms.
fn subprograms(n: usize, is_distinct: bool) -> Files {
    let mut m = ObjectBuilder::default();
    let text = m.code(".text", &returns().repeat(n));
    let main = m.program("program", "socket", &[vec![call(-1); n], returns().to_vec()].concat());
    let main_type = m.func_type("program", 1);
    m.func_infos("socket", &[(0, main_type)]);
    let mut infos = Vec::new();
    for at in 0..n {
        let function = name("function", at, is_distinct);
        let symbol = m.function(&function, text, 2 * at, 2);
        if !is_distinct {
            m.make_static(symbol);
        }
        m.add_reloc(main, at, symbol, true);
        infos.push((2 * at as u32, m.func_type(&function, is_distinct.into())));
    }
    m.func_infos(".text", &infos);
    Files::new(m.finish(), small_kernel())
}

/// One program and a chain of subprograms.
fn chain(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    // Each function starts with a call of the function after it.
    let text = m.code(".text", &[[call(1), returns()[1]].repeat(n - 1), returns().to_vec()].concat());
    let main = m.program("program", "socket", &[call(-1), returns()[1]]);
    m.func_type("program", 1);
    for at in 0..n {
        let function = format!("function{at}");
        let symbol = m.function(&function, text, 2 * at, 2);
        m.func_type(&function, 1);
        if at == 0 {
            m.add_reloc(main, 0, symbol, true);
        }
    }
    Files::new(m.finish(), small_kernel())
}

/// `n` programs with an exception callback each.
fn callbacks(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let text = m.code(".text", &returns().repeat(n));
    let section = m.code("socket", &returns().repeat(n));
    for at in 0..n {
        let (callback, program) = (format!("callback{at}"), format!("program{at}"));
        m.function(&callback, text, 2 * at, 2);
        m.function(&program, section, 2 * at, 2);
        m.func_type(&callback, 1);
        let ty = m.func_type(&program, 1);
        m.types.decl_tag(&format!("exception_callback:{callback}"), ty, -1);
    }
    Files::new(m.finish(), small_kernel())
}

/// `n` functions with a jump table of one target each.
fn jump_tables(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let code = [load().to_vec(), returns().to_vec()].concat();
    let text = m.code(".text", &code.repeat(n));
    let main = m.program("program", "socket", &[vec![call(-1); n], returns().to_vec()].concat());
    m.func_type("program", 1);
    let mut targets = Vec::new();
    (0..n).for_each(|at| ENDIAN.put_u64(&mut targets, 32 * at as u64));
    let tables = m.section(".jumptables", SectionKind::Data, &targets);
    for at in 0..n {
        let function = format!("function{at}");
        let symbol = m.function(&function, text, 4 * at, 4);
        m.func_type(&function, 1);
        m.add_reloc(main, at, symbol, true);
        let table = m.symbol(&format!("table{at}"), SymbolKind::Data, tables, 8 * at, 8);
        m.add_reloc(text, 4 * at, table, false);
    }
    Files::new(m.finish(), small_kernel())
}
