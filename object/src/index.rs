//! Indices into the tables of an object and of a plan: one type for each table, so that the compiler refuses
//! to mix them.

use core::fmt;

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_structs, reason = "an index is one number")]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

index! {
    /// The index of a section in an ELF file's section header table.
    SectionIndex(u32);
    /// The index of a function in [`Object::programs`](crate::object::Object::programs).
    ProgramIndex(usize);
    /// The index of a map in [`LoadPlan::maps`](crate::load_plan::LoadPlan::maps). The object's own maps come
    /// first, in libbpf's order.
    MapIndex(usize);
    /// The index of a kernel module in [`LoadPlan::modules`](crate::load_plan::LoadPlan::modules).
    ModuleIndex(usize);
    /// The index of an extern in [`LoadPlan::externs`](crate::load_plan::LoadPlan::externs).
    ExternIndex(usize);
}

impl ProgramIndex {
    /// Enumerates a table of an object's functions.
    pub fn enumerate<T>(table: impl IntoIterator<Item = T>) -> impl Iterator<Item = (Self, T)> {
        table.into_iter().enumerate().map(|(index, item)| (Self(index), item))
    }
}

impl MapIndex {
    /// Enumerates a table of maps.
    pub(crate) fn enumerate<T>(table: impl IntoIterator<Item = T>) -> impl Iterator<Item = (Self, T)> {
        table.into_iter().enumerate().map(|(index, item)| (Self(index), item))
    }
}

/// Converts a 32-bit number to an index of a slice. Every supported host has addresses of at least 32 bits.
#[expect(clippy::as_conversions, reason = "usize::from(u32) does not exist; hosts have >= 32-bit usize")]
pub(crate) const fn to_usize(n: u32) -> usize {
    const { assert!(usize::BITS >= 32) };
    n as usize
}
