//! BTFs that the kernel accepts or refuses: a case for each of its rules, random ones, and those of objects
//! with changed words.

mod composites;
mod functions;
mod headers;
mod managed;
mod mutated;
mod names;
mod primitives;
mod random;
mod references;
mod resolution;
mod sections;

pub use mutated::{MutatedObject, MutatedObjects};
pub use random::RandomBtf;

use core_relo::{
    Endian, TypeId,
    btf::{Builder, BuiltRecord, Kind},
};

/// A BTF, and what Linux 6.18 says about it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the case.
    pub name: &'static str,
    /// The bytes of the BTF, in the machine's byte order.
    pub btf: Vec<u8>,
    /// The refusal, or `None` if the kernel accepts the BTF.
    pub refusal: Option<Refusal>,
}

/// The refusal of a BTF by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The type that the kernel's log names, or `None` for the header.
    pub ty: Option<TypeId>,
    /// The words of the kernel's log. Empty if the kernel logs nothing.
    pub message: &'static str,
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let groups = [
        headers::cases(),
        names::cases(),
        primitives::cases(),
        references::cases(),
        composites::cases(),
        functions::cases(),
        sections::cases(),
        resolution::cases(),
        managed::cases(),
    ];
    groups.into_iter().flatten().collect()
}

/// The words of a record after its name: see [`Builder::raw`].
#[derive(Clone, Copy)]
struct Raw<'a> {
    name: &'a [u8],
    kind: Kind,
    elements: u32,
    flag: bool,
    third: u32,
    words: &'a [u32],
}

impl Raw<'_> {
    const fn of(kind: Kind) -> Self {
        Self { name: b"", kind, elements: 0, flag: false, third: 0, words: &[] }
    }

    fn add(self, b: &mut Builder) -> TypeId {
        b.raw(
            self.name,
            BuiltRecord {
                kind: self.kind,
                vlen: self.elements,
                kflag: self.flag,
                size_or_type: self.third,
                words: self.words,
            },
        )
    }
}

/// A BTF that the kernel accepts. Type 1 is `int`.
fn accepted<R>(name: &'static str, build: impl FnOnce(&mut Builder) -> R) -> Case {
    Case { name, btf: built(build), refusal: None }
}

/// A BTF whose type the kernel refuses. Type 1 is `int`.
fn refused<R>(
    name: &'static str,
    ty: u32,
    message: &'static str,
    build: impl FnOnce(&mut Builder) -> R,
) -> Case {
    Case { name, btf: built(build), refusal: Some(Refusal { ty: Some(TypeId(ty)), message }) }
}

fn built<R>(build: impl FnOnce(&mut Builder) -> R) -> Vec<u8> {
    let mut b = Builder::new(Endian::native());
    b.int("int", 4, Builder::SIGNED);
    let _result: R = build(&mut b);
    b.finish()
}

/// The type `int` of every case.
const INT: TypeId = TypeId(1);
/// A type that no case has.
const ABSENT: TypeId = TypeId(999);
/// A type id above the kernel's limit.
const TOO_LARGE: TypeId = TypeId(0x0010_0000);
/// A string offset that no case has.
const NO_STRING: u32 = 0x00ff_0000;
