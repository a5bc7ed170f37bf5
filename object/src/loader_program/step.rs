//! The steps of a loader program, which tell where the program failed.

use core::fmt;
use core_relo::{Endian, Escaped};

/// The offset of the step in the data.
pub(super) const STEP_OFFSET: u32 = 0;
/// The offset of the step's name in the data.
pub(super) const NAME_OFFSET: u32 = 4;
/// The bits of the index in the number of a step. The kind is above.
const INDEX_BITS: u32 = 24;
/// The length of a name in an error, in bytes.
const NAME_BYTES: usize = 256;

macro_rules! steps {
    ($($(#[$doc:meta])* $variant:ident $number:literal $text:literal,)*) => {
        /// The kind of a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum StepKind {$($(#[$doc])* $variant,)*}

        impl StepKind {
            const fn number(self) -> u32 {
                match self {$(Self::$variant => $number,)*}
            }

            const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            const fn text(self) -> &'static str {
                match self {$(Self::$variant => $text,)*}
            }
        }
    };
}

steps! {
    /// The hash of the data is compared.
    CheckData 1 "checking the hash of its data",
    /// The BTF of the object is loaded.
    LoadBtf 2 "loading the BTF",
    /// A map is created.
    CreateMap 3 "creating map",
    /// An inner map is created.
    CreateInnerMap 4 "creating the inner map of map",
    /// The initial contents of a map are written.
    FillMap 5 "filling map",
    /// A map is frozen.
    FreezeMap 6 "freezing map",
    /// A symbol of the kernel is looked up.
    FindSymbol 7 "finding kernel symbol",
    /// A program is loaded.
    LoadProgram 8 "loading program",
}

/// A step of a loader program.
///
/// The program writes the step to its data before each request, so that a process finds the last step there
/// after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoaderStep {
    /// The kind.
    pub kind: StepKind,
    /// The index of the map, symbol or program.
    pub index: u32,
    /// The name of the map, symbol or program; empty if the step has none.
    pub name: String,
}

impl LoaderStep {
    /// Reads the last step from the data of a loader program. Returns `None` if the program reached no step.
    pub fn read(endian: Endian, data: &[u8]) -> Option<Self> {
        let step = endian.u32(data, usize::try_from(STEP_OFFSET).ok()?)?;
        let name_offset = usize::try_from(endian.u32(data, usize::try_from(NAME_OFFSET).ok()?)?).ok()?;
        let kind = StepKind::from_number(step >> INDEX_BITS)?;
        let name = if name_offset == 0 { &[] } else { data.get(name_offset..)? };
        let name: Vec<u8> = name.iter().copied().take(NAME_BYTES).take_while(|byte| *byte != 0).collect();
        let index = step & ((1 << INDEX_BITS) - 1);
        Some(Self { kind, index, name: String::from_utf8_lossy(&name).into_owned() })
    }

    /// Returns the number of a step in the data.
    pub(super) fn number(kind: StepKind, index: u32) -> Option<u32> {
        (index < 1 << INDEX_BITS).then_some((kind.number() << INDEX_BITS) | index)
    }
}

impl fmt::Display for LoaderStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.text())?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " `{}`", Escaped(&self.name)) }
    }
}
