//! Objects with many CO-RE relocations, and kernels for them.

use super::{
    Dimension, Files, RELOCATING,
    object::{ENDIAN, ObjectMaker, insn, returns},
};
use core_relo::{StrOffset, TypeId, btf::Builder};

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "CO-RE relocations of one access",
        most: 100_000,
        commands: RELOCATING,
        make: |n| records(n, Roots::One),
    },
    Dimension {
        name: "CO-RE relocations of different types",
        most: 100_000,
        commands: RELOCATING,
        make: |n| records(n, Roots::Own),
    },
    Dimension {
        name: "CO-RE relocations of types that the kernel lacks",
        most: 100_000,
        commands: RELOCATING,
        make: |n| records(n, Roots::Missing),
    },
    Dimension {
        name: "flavours of a type, with a CO-RE relocation each",
        most: 100_000,
        commands: RELOCATING,
        make: |n| records(n, Roots::Flavours),
    },
    Dimension {
        name: "candidates of a CO-RE relocation",
        most: 100_000,
        commands: RELOCATING,
        make: candidates,
    },
    Dimension { name: "members of a struct", most: 60_000, commands: RELOCATING, make: members },
    Dimension { name: "enumerators", most: 60_000, commands: RELOCATING, make: enumerators },
];

/// The offset of the member that [`task`] is about, in an object and not in a kernel.
pub(super) const TASK_OFFSET: i32 = 4;

/// The struct that every small kernel has, and the access of its second member.
pub(super) fn task(m: &mut ObjectMaker) -> (TypeId, StrOffset) {
    (m.types.structure("task", 8, &[("state", m.int, 0), ("pid", m.int, 32)]), m.types.string("0:1"))
}

/// A kernel with a struct `task`.
pub(super) fn small_kernel() -> Vec<u8> {
    kernel().finish()
}

fn kernel() -> Builder {
    let mut b = Builder::new(ENDIAN);
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("task", 16, &[("state", int, 0), ("flags", int, 32), ("pid", int, 64)]);
    b
}

#[derive(Clone, Copy, PartialEq)]
enum Roots {
    One,
    Own,
    Missing,
    Flavours,
}

fn records(n: usize, roots: Roots) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
    let (mut root, access) = task(&mut m);
    let mut records = Vec::new();
    for at in 0..n {
        let name = match roots {
            Roots::One => None,
            Roots::Own => Some(format!("own{at}")),
            Roots::Missing => Some(format!("missing{at}")),
            Roots::Flavours => Some(format!("task___flavour{at}")),
        };
        if let Some(name) = name {
            root = m.types.structure(&name, 8, &[("state", m.int, 0), ("pid", m.int, 32)]);
            if roots == Roots::Own {
                kernel.structure(&name, 16, &[("state", m.int, 0), ("flags", m.int, 32), ("pid", m.int, 64)]);
            }
        }
        records.push((at as u32, root, access, 0));
    }
    program(&mut m, n);
    m.core_records("socket", &records);
    Files::new(m.finish(), kernel.finish())
}

/// A program with an instruction for each of so many records.
fn program(m: &mut ObjectMaker, n: usize) {
    let code = [vec![insn(0xb7, 0, 0, TASK_OFFSET); n], returns().to_vec()].concat();
    m.program("program", "socket", &code);
    m.func_type("program", 1);
}

/// Structs of one name in the kernel.
fn candidates(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
    let (root, access) = task(&mut m);
    for _ in 1..n {
        kernel.structure("task", 16, &[("state", m.int, 0), ("flags", m.int, 32), ("pid", m.int, 64)]);
    }
    program(&mut m, 1);
    m.core_records("socket", &[(0, root, access, 0)]);
    Files::new(m.finish(), kernel.finish())
}

/// A struct here and in the kernel, whose last member is accessed.
fn members(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
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

/// An enum here and in the kernel, whose last value is asked for.
fn enumerators(n: usize) -> Files {
    let (mut m, mut kernel) = (ObjectMaker::default(), kernel());
    let names: Vec<_> = (0..n).map(|at| format!("VALUE_{at}")).collect();
    let values: Vec<_> = names.iter().zip(0i64..).map(|(name, at)| (&**name, at)).collect();
    let root = m.types.enumeration("large", 4, false, &values);
    kernel.enumeration("large", 4, false, &values);
    let access = m.types.string(&(n - 1).to_string());
    m.program("program", "socket", &[insn(0xb7, 0, 0, n as i32 - 1), returns()[1]]);
    m.func_type("program", 1);
    m.core_records("socket", &[(0, root, access, 11)]);
    Files::new(m.finish(), kernel.finish())
}
