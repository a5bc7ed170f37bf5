//! Objects with many global variables or data sections.

use super::{
    command::{OBJECT, UNLINKED},
    dimension::Dimension,
    input::{Files, name},
    object::{ObjectBuilder, returns},
    records::small_kernel,
};
use object::{SectionKind, SymbolKind};

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension { name: "globals", max_count: 100_000, commands: OBJECT, build: |n| globals(n, true) },
    Dimension {
        name: "globals of one name",
        max_count: 100_000,
        commands: OBJECT,
        build: |n| globals(n, false),
    },
    Dimension { name: "data sections", max_count: 60_000, commands: OBJECT, build: |n| sections(n, true) },
    Dimension {
        name: "data sections of one name",
        max_count: 60_000,
        commands: UNLINKED,
        build: |n| sections(n, false),
    },
];

/// The number of variables per DATASEC, below the limit of 65,535.
const SECTION_VARIABLES: usize = 50_000;

/// Global variables. Variables of one name are static.
fn globals(n: usize, is_distinct: bool) -> Files {
    let mut m = ObjectBuilder::default();
    m.program("program", "socket", &returns());
    m.func_type("program", 1);
    for (number, from) in (0..n).step_by(SECTION_VARIABLES).enumerate() {
        let count = SECTION_VARIABLES.min(n - from);
        let section_name = format!(".data.{number}");
        let section = m.section(&section_name, SectionKind::Data, &vec![1; 4 * count]);
        let mut variables = Vec::new();
        for at in 0..count {
            let variable = name("variable", from + at, is_distinct);
            let symbol = m.symbol(&variable, SymbolKind::Data, section, 4 * at, 4);
            if !is_distinct {
                m.make_static(symbol);
            }
            let ty = m.types.var(&variable, m.int, is_distinct.into());
            variables.push((ty, 4 * at as u32, 4));
        }
        m.types.datasec(section_name, 4 * count as u32, &variables);
    }
    Files::new(m.finish(), small_kernel())
}

/// Data sections with a variable each. Sections of one name share a DATASEC.
fn sections(n: usize, is_distinct: bool) -> Files {
    let mut m = ObjectBuilder::default();
    m.program("program", "socket", &returns());
    m.func_type("program", 1);
    let mut variables = Vec::new();
    for at in 0..n {
        let section_name = name(".data.part", at, is_distinct);
        let section = m.section(&section_name, SectionKind::Data, &[1; 4]);
        let variable = format!("variable{at}");
        let symbol = m.symbol(&variable, SymbolKind::Data, section, 0, 4);
        if is_distinct {
            let ty = m.types.var(&variable, m.int, 1);
            m.types.datasec(section_name, 4, &[(ty, 0, 4)]);
        } else {
            m.make_static(symbol);
            variables.push((m.types.var(&variable, m.int, 0), 0, 4));
        }
    }
    if !is_distinct {
        m.types.datasec(".data.part", 4, &variables);
    }
    Files::new(m.finish(), small_kernel())
}
