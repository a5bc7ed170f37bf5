//! Objects with many CO-RE relocations, and matching kernels.

use super::{
    command::RELOCATING,
    dimension::Dimension,
    input::Files,
    object::{ENDIAN, ObjectBuilder, insn, returns},
};
use core_relo::{StrOffset, TypeId, btf::Builder};

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "CO-RE relocations of one access",
        max_count: 100_000,
        commands: RELOCATING,
        build: |n| records(n, Roots::Same),
    },
    Dimension {
        name: "CO-RE relocations of different types",
        max_count: 100_000,
        commands: RELOCATING,
        build: |n| records(n, Roots::Different),
    },
    Dimension {
        name: "CO-RE relocations of types that the kernel lacks",
        max_count: 100_000,
        commands: RELOCATING,
        build: |n| records(n, Roots::Missing),
    },
    Dimension {
        name: "flavours of a type, with a CO-RE relocation each",
        max_count: 100_000,
        commands: RELOCATING,
        build: |n| records(n, Roots::Flavours),
    },
    Dimension {
        name: "candidates of a CO-RE relocation",
        max_count: 100_000,
        commands: RELOCATING,
        build: candidates,
    },
    Dimension {
        name: "programs outside of the default load",
        max_count: 60_000,
        commands: RELOCATING,
        build: optional_programs,
    },
    Dimension { name: "members of a struct", max_count: 60_000, commands: RELOCATING, build: members },
    Dimension { name: "enumerators", max_count: 60_000, commands: RELOCATING, build: enumerators },
];

/// The offset of the member that [`task`] accesses, in the object.
pub(super) const TASK_OFFSET: i32 = 4;

/// Adds the struct `task` and returns it with the access string of its second member.
pub(super) fn task(m: &mut ObjectBuilder) -> (TypeId, StrOffset) {
    (m.types.structure("task", 8, &[("state", m.int, 0), ("pid", m.int, 32)]), m.types.string("0:1"))
}

/// Returns a kernel with a struct `task`.
pub(super) fn small_kernel() -> Vec<u8> {
    kernel().finish()
}

fn kernel() -> Builder {
    let mut b = Builder::new(ENDIAN);
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("task", 16, &[("state", int, 0), ("flags", int, 32), ("pid", int, 64)]);
    add_bpf_types(&mut b, int);
    b
}

/// Adds the types that tell which program types and map types a kernel has, so that `check` decides.
pub(super) fn add_bpf_types(b: &mut Builder, int: TypeId) {
    let contexts = [("BPF_PROG_TYPE_SOCKET_FILTER_prog", int, 0), ("BPF_PROG_TYPE_KPROBE_prog", int, 32)];
    b.structure("bpf_ctx_convert", 8, &contexts);
    let programs = [("BPF_PROG_TYPE_SOCKET_FILTER", 1), ("BPF_PROG_TYPE_KPROBE", 2)];
    b.enumeration("bpf_prog_type", 4, &programs);
    let maps = [("BPF_MAP_TYPE_ARRAY", 2), ("BPF_MAP_TYPE_ARRAY_OF_MAPS", 12)];
    b.enumeration("bpf_map_type", 4, &maps);
}

/// The root types of the records.
#[derive(Clone, Copy, PartialEq)]
enum Roots {
    /// All records access the same struct.
    Same,
    /// Each record accesses its own struct, which the kernel has.
    Different,
    /// Each record accesses its own struct, which the kernel lacks.
    Missing,
    /// Each record accesses its own flavour of one struct.
    Flavours,
}

fn records(n: usize, roots: Roots) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let (mut root, access) = task(&mut m);
    let mut records = Vec::new();
    for at in 0..n {
        let name = match roots {
            Roots::Same => None,
            Roots::Different => Some(format!("own{at}")),
            Roots::Missing => Some(format!("missing{at}")),
            Roots::Flavours => Some(format!("task___flavour{at}")),
        };
        if let Some(name) = name {
            root = m.types.structure(&name, 8, &[("state", m.int, 0), ("pid", m.int, 32)]);
            if roots == Roots::Different {
                kernel.structure(&name, 16, &[("state", m.int, 0), ("flags", m.int, 32), ("pid", m.int, 64)]);
            }
        }
        records.push((at as u32, root, access, 0));
    }
    program(&mut m, n);
    m.core_records("socket", &records);
    Files::new(m.finish(), kernel.finish())
}

/// Adds a program with an instruction for each of `n` records.
fn program(m: &mut ObjectBuilder, n: usize) {
    let code = [vec![insn(0xb7, 0, 0, TASK_OFFSET); n], returns().to_vec()].concat();
    m.program("program", "socket", &code);
    m.func_type("program", 1);
}

/// One record with `n` structs of its name in the kernel.
fn candidates(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let (root, access) = task(&mut m);
    for _ in 1..n {
        kernel.structure("task", 16, &[("state", m.int, 0), ("flags", m.int, 32), ("pid", m.int, 64)]);
    }
    program(&mut m, 1);
    m.core_records("socket", &[(0, root, access, 0)]);
    Files::new(m.finish(), kernel.finish())
}

/// `n` programs that each have a load of their own, with a record that eliminates one of two candidates.
fn optional_programs(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let (root, access) = task(&mut m);
    kernel.structure("task", 4, &[("state", m.int, 0)]);
    let code = [vec![insn(0xb7, 0, 0, TASK_OFFSET)], returns().to_vec()].concat();
    for at in 0..n {
        let section = format!("?kprobe/f{at}");
        m.program(&format!("program{at}"), &section, &code);
        m.core_records(&section, &[(0, root, access, 0)]);
    }
    m.func_type("program0", 1);
    Files::new(m.finish(), kernel.finish())
}

/// A record that accesses the last member of a struct with `n` members.
fn members(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let names: Vec<_> = (0..n).map(|at| format!("member{at}")).collect();
    let members: Vec<_> = names.iter().zip(0u32..).map(|(name, at)| (&**name, m.int, 32 * at)).collect();
    let root = m.types.structure("large", 4 * n as u32, &members);
    kernel.structure("large", 4 * n as u32, &members);
    let access = m.types.string(&format!("0:{}", n - 1));
    m.program("program", "socket", &[insn(0xb7, 0, 0, 4 * (n as i32 - 1)), returns()[1]]);
    m.func_type("program", 1);
    m.core_records("socket", &[(0, root, access, 0)]);
    Files::new(m.finish(), kernel.finish())
}

/// A record of the last value of an enum with `n` values.
fn enumerators(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectBuilder::default(), kernel());
    let names: Vec<_> = (0..n).map(|at| format!("VALUE_{at}")).collect();
    let values: Vec<_> = names.iter().zip(0i64..).map(|(name, at)| (&**name, at)).collect();
    let root = m.types.enumeration("large", 4, &values);
    kernel.enumeration("large", 4, &values);
    let access = m.types.string(&(n - 1).to_string());
    m.program("program", "socket", &[insn(0xb7, 0, 0, n as i32 - 1), returns()[1]]);
    m.func_type("program", 1);
    m.core_records("socket", &[(0, root, access, 11)]);
    Files::new(m.finish(), kernel.finish())
}
