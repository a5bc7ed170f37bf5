//! The record table: the offset and the kind of each record of a BTF's own types.

use super::kind_set::{BLOCK_RECORDS, KFLAG, KindSet};
use crate::{
    data::rest_from,
    format::Kind,
    ids::{low_u16, to_usize},
};
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// The offsets and kinds of the own records of a BTF, in order of id.
///
/// An *own index* is the position of a record in this table. The record of a BTF's first own type has the own
/// index 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordTable {
    pub(super) offsets: Offsets,
    /// The highest byte of each info word: the kind, and the kflag as the highest bit. A search reads only
    /// the records of the searched kinds.
    pub(super) kinds: Vec<u8>,
}

/// The offsets of records, counted back from the end of the type section.
#[derive(Clone, Debug)]
pub(crate) enum Offsets {
    /// The offset of every [`BLOCK_RECORDS`]th record, and the low 16 bits of each offset.
    ///
    /// Takes half the memory of [`Wide`](Self::Wide). Every block spans at most [`BLOCK_SPAN`] bytes. All BTF
    /// that compilers write has such blocks.
    Compact {
        /// Bytes from the first record of each block to the end of the section.
        blocks: Vec<u32>,
        /// The low 16 bits of the bytes from each record to the end of the section.
        low16: Vec<u16>,
    },
    /// Bytes from each record to the end of the section.
    Wide(Vec<u32>),
}

/// The maximum length of a block, in bytes. Within this length, the low 16 bits of the offsets distinguish
/// all records.
pub(super) const BLOCK_SPAN: usize = 0xffff;

impl Default for Offsets {
    fn default() -> Self {
        Self::Wide(Vec::new())
    }
}

impl RecordTable {
    /// Returns the number of records.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Returns the offset of a record in a type section of `section_len` bytes.
    #[inline]
    pub(crate) fn offset(&self, own_index: usize, section_len: usize) -> Option<usize> {
        let from_end =
            self.offsets.block(own_index / BLOCK_RECORDS).bytes_to_end(own_index % BLOCK_RECORDS)?;
        Some(section_len.wrapping_sub(from_end))
    }

    /// Returns the offsets of all records.
    pub(crate) fn offsets(&self, section_len: usize) -> impl Iterator<Item = usize> {
        (0..self.len()).map_while(move |own_index| self.offset(own_index, section_len))
    }

    /// Returns the kind of a record.
    #[inline]
    pub(super) fn kind(&self, own_index: usize) -> Option<Kind> {
        self.kinds.get(own_index).map(|kind| Kind::from_raw(kind & !KFLAG))
    }

    /// Calls `found` with the own index and the bytes of each record of some kinds, in order, until `found`
    /// returns `Break`.
    ///
    /// `types` is the type section. The bytes reach from the start of the record to the end of the section.
    #[inline]
    pub(crate) fn visit<'d, B>(
        &self,
        types: &'d [u8],
        kinds: &KindSet,
        mut found: impl FnMut(usize, &'d [u8]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (index, block) in self.kinds.chunks(BLOCK_RECORDS).enumerate() {
            let mut matches = kinds.matches(block);
            if matches == 0 {
                continue;
            }
            let start = index.wrapping_mul(BLOCK_RECORDS);
            let block_offsets = self.offsets.block(index);
            while matches != 0 {
                let index_in_block = to_usize(matches.trailing_zeros());
                matches &= matches.wrapping_sub(1);
                let from_end = block_offsets.bytes_to_end(index_in_block);
                if let Some(record) =
                    from_end.and_then(|from_end| types.get(types.len().wrapping_sub(from_end)..))
                {
                    found(start.wrapping_add(index_in_block), record)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The offsets of the records of one block.
enum BlockOffsets<'t> {
    Compact { start: usize, low16: &'t [u16] },
    Wide(&'t [u32]),
}

impl Offsets {
    /// Returns the offsets of the records of a block. A block that does not exist has no offsets.
    #[inline]
    fn block(&self, index: usize) -> BlockOffsets<'_> {
        let first = index.wrapping_mul(BLOCK_RECORDS);
        match self {
            Self::Compact { blocks, low16 } => match (blocks.get(index), low16.get(first..)) {
                (Some(start), Some(low16)) => BlockOffsets::Compact { start: to_usize(*start), low16 },
                _ => BlockOffsets::Wide(&[]),
            },
            Self::Wide(offsets) => BlockOffsets::Wide(rest_from(offsets, first)),
        }
    }
}

impl BlockOffsets<'_> {
    /// Returns the bytes from a record of the block to the end of the section.
    #[inline]
    fn bytes_to_end(&self, index_in_block: usize) -> Option<usize> {
        match self {
            Self::Compact { start, low16 } => {
                let from_start = low_u16(*start).wrapping_sub(*low16.get(index_in_block)?);
                Some(start.wrapping_sub(usize::from(from_start)))
            }
            Self::Wide(offsets) => offsets.get(index_in_block).map(|from_end| to_usize(*from_end)),
        }
    }
}
