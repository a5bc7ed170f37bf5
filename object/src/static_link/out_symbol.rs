//! The symbols of the linked object.

/// A symbol of the linked object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutSymbol {
    pub(super) name: u32,
    pub(super) binding: u8,
    pub(super) kind: u8,
    pub(super) other: u8,
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}
