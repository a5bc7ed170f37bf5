//! The symbols of the linked object.

/// A symbol of the linked object, with the fields of an `Elf64_Sym`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputSymbol {
    /// The offset of the name in the string table.
    pub(super) name: u32,
    pub(super) binding: u8,
    pub(super) kind: u8,
    pub(super) other: u8,
    /// `st_shndx`.
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}
