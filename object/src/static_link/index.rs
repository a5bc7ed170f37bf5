//! Indices into the linker's tables, and the tables.

use crate::{
    index::{SectionIndex, to_usize},
    internal::{InternalError, Invariant as _},
};
use core::marker::PhantomData;

/// An index into a [`Table`].
pub(super) trait TableIndex: Copy {
    /// The invariant that every index refers to an element.
    const IN_BOUNDS: &'static str;

    /// Returns the index of a position in the table; `None` if the position does not fit the index.
    fn from_position(position: usize) -> Option<Self>;

    /// Returns the position in the table.
    fn position(self) -> usize;
}

macro_rules! table_index {
    ($($(#[$doc:meta])* $name:ident $in_bounds:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) struct $name(usize);

        impl TableIndex for $name {
            const IN_BOUNDS: &'static str = $in_bounds;

            fn from_position(position: usize) -> Option<Self> {
                Some(Self(position))
            }

            fn position(self) -> usize {
                self.0
            }
        }
    )*};
}

table_index! {
    /// The index of an input, in the order in which the inputs are added.
    InputIndex "an input's index refers to an input";
    /// The index of a section of an input.
    InputSectionIndex "an input section's index refers to a section";
    /// The index of a section of the linked object. Differs from the section's ELF number.
    OutputSectionIndex "an output section's index refers to a section";
    /// The index of a symbol that inputs share.
    GlobalIndex "a global symbol's index refers to a symbol";
    /// The index of a variable in its output section.
    VariableIndex "a variable's index refers to a variable of its section";
}

impl From<SectionIndex> for InputSectionIndex {
    fn from(index: SectionIndex) -> Self {
        Self(to_usize(index.0))
    }
}

impl OutputSectionIndex {
    /// The string table, which is the first section.
    pub(super) const STRTAB: Self = Self(0);
    /// The symbol table, which is the second section.
    pub(super) const SYMTAB: Self = Self(1);
}

/// The index of a symbol of the linked object, as in the symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputSymbolIndex(pub(super) u32);

impl OutputSymbolIndex {
    /// The null symbol, which also stands for input symbols that are left out.
    pub(super) const NULL: Self = Self(0);
}

impl TableIndex for OutputSymbolIndex {
    const IN_BOUNDS: &'static str = "an output symbol's index refers to a symbol";

    fn from_position(position: usize) -> Option<Self> {
        u32::try_from(position).ok().map(Self)
    }

    fn position(self) -> usize {
        to_usize(self.0)
    }
}

/// A table that only grows, so that its indices stay valid.
#[derive(Debug)]
pub(super) struct Table<I, T> {
    items: Vec<T>,
    index: PhantomData<I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), index: PhantomData }
    }
}

impl<I: TableIndex, T> Table<I, T> {
    /// Returns the index that the next element gets.
    pub(super) fn next_index(&self) -> Result<I, InternalError> {
        I::from_position(self.items.len()).invariant("the elements of a table fit its index")
    }

    /// Adds an element and returns its index.
    pub(super) fn push(&mut self, item: T) -> Result<I, InternalError> {
        let index = self.next_index()?;
        self.items.push(item);
        Ok(index)
    }

    /// Returns an element.
    pub(super) fn get(&self, index: I) -> Result<&T, InternalError> {
        self.items.get(index.position()).invariant(I::IN_BOUNDS)
    }

    /// Returns an element for changes.
    pub(super) fn get_mut(&mut self, index: I) -> Result<&mut T, InternalError> {
        self.items.get_mut(index.position()).invariant(I::IN_BOUNDS)
    }

    /// Returns the elements in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Returns all indices. The iterator does not borrow the table.
    pub(super) fn indices(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).filter_map(I::from_position)
    }
}
