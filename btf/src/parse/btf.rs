//! The parsed BTF: a table of offsets over bytes that are borrowed or shared.

use super::{error::BtfError, header::Header, table::RecordTable};
use crate::{
    data::Data,
    endian::Endian,
    format::Kind,
    ids::{ByteSize, TypeId, low_u32, to_usize},
};
use alloc::sync::Arc;

/// The types of a kernel, a module or a BPF object.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, Kind};
///
/// let mut b = Builder::new(Endian::Little);
/// let long = b.int("long", 8, Builder::SIGNED);
/// b.structure("pair", 16, &[("a", long, 0), ("b", long, 64)]);
/// let btf = Btf::parse(b.finish()).unwrap();
///
/// let pair = btf.find(b"pair", Kind::Struct).unwrap();
/// assert_eq!(pair.members().map(|m| m.name.to_string()).collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(btf.size_of(pair.id()).unwrap().0, 16);
/// ```
#[derive(Clone, Debug)]
pub struct Btf<'d> {
    data: Data<'d>,
    header: Header,
    base: Option<Arc<Self>>,
    /// The range of the own types' ids.
    first_id: TypeId,
    end_id: TypeId,
    /// The range of the own strings' offsets.
    string_start: u32,
    string_end: u32,
    pub(crate) table: RecordTable,
    pub(super) pointer_size: Option<ByteSize>,
    /// The order of the own types by name, if the caller trusts it.
    pub(crate) name_order: Option<NameOrder>,
}

/// The range of the own types that have names, in a BTF whose types are sorted by name.
///
/// Types without a name come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameOrder {
    /// The own index of the first type that has a name.
    pub(crate) first_named: usize,
    /// One past the last own index.
    pub(crate) end: usize,
}

impl<'d> Btf<'d> {
    /// Puts a BTF together after its records were found.
    pub(super) fn from_parts(
        data: Data<'d>,
        header: Header,
        base: Option<Arc<Self>>,
        table: RecordTable,
    ) -> Result<Self, BtfError> {
        let (first_id, string_start) =
            base.as_ref().map_or((TypeId(1), 0), |base| (base.end_id, base.string_end));
        let count = u32::try_from(table.len()).ok();
        let end_id = count.and_then(|count| first_id.0.checked_add(count)).ok_or(BtfError::TooManyTypes)?;
        let string_end = string_start.checked_add(header.string_len()).ok_or(BtfError::TooManyTypes)?;
        Ok(Self {
            data,
            header,
            base,
            first_id,
            end_id: TypeId(end_id),
            string_start,
            string_end,
            table,
            pointer_size: None,
            name_order: None,
        })
    }

    /// Returns the byte order of the data.
    pub fn endian(&self) -> Endian {
        self.header.endian
    }

    /// Returns the size of a pointer: that of the first `long` (libbpf: `determine_ptr_size`), or the size
    /// that was [set](Self::set_pointer_size), or 8.
    ///
    /// libbpf falls back on the host's pointer size; this library does not.
    pub fn pointer_size(&self) -> ByteSize {
        self.pointer_size.unwrap_or(ByteSize(8))
    }

    /// Returns whether the BTF has a `long`, or a caller has set the pointer size.
    pub fn pointer_size_is_known(&self) -> bool {
        self.pointer_size.is_some()
    }

    /// Overrides the pointer size, for example with that of an ELF file's class.
    pub fn set_pointer_size(&mut self, size: ByteSize) {
        self.pointer_size = Some(size);
    }

    /// Returns the BTF from which this BTF is split.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// Returns the id of the first own type: 1, or the end of the base's ids.
    pub fn first_id(&self) -> TypeId {
        self.first_id
    }

    /// Returns one past the last id, which is the number of types with `void` and the base's types.
    pub fn end_id(&self) -> TypeId {
        self.end_id
    }

    /// Returns the bytes from which the BTF was parsed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.data
    }

    /// Returns the offset of the first own string.
    pub(crate) fn string_start(&self) -> u32 {
        self.string_start
    }

    /// Returns one past the last string offset, the base's strings included.
    pub(crate) fn string_end(&self) -> u32 {
        self.string_end
    }

    /// Returns the bytes of the own types' records.
    pub(crate) fn types_section(&self) -> &[u8] {
        self.header.types_of(&self.data)
    }

    /// Returns the bytes of the own strings.
    pub(crate) fn strings_section(&self) -> &[u8] {
        self.header.strings_of(&self.data)
    }

    /// Returns the bytes of the layout section, which may be empty.
    pub(crate) fn layout_section(&self) -> &[u8] {
        self.header.layout_of(&self.data)
    }

    /// Returns the own index of a type, or `None` for a type of the base.
    #[inline]
    pub(crate) fn own_index(&self, id: TypeId) -> Option<usize> {
        id.0.checked_sub(self.first_id.0).map(to_usize)
    }

    /// Returns the id of the type with this own index.
    #[inline]
    pub(crate) fn id_at(&self, own_index: usize) -> TypeId {
        // The table has fewer records than there are ids after `first_id`.
        TypeId(self.first_id.0.wrapping_add(low_u32(own_index)))
    }

    /// Returns the kind of a type, the base's included.
    pub(crate) fn kind_of(&self, id: TypeId) -> Option<Kind> {
        if id == TypeId::VOID {
            return Some(Kind::Void);
        }
        match self.own_index(id) {
            Some(own_index) => self.table.kind(own_index),
            None => self.base.as_ref()?.kind_of(id),
        }
    }

    /// Returns the number of BTFs in the chain of bases, this BTF included.
    /// [`limits::SPLIT_LEVELS`](crate::limits::SPLIT_LEVELS) bounds it.
    pub(super) fn levels(&self) -> u32 {
        self.base.as_ref().map_or(1, |base| base.levels().saturating_add(1))
    }
}
