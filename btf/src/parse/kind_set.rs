//! Sets of kinds, and the records of a block whose kinds are in a set.

use crate::{endian::Endian, format::Kind};

/// The number of records in a block. A search skips a whole block if no record in it has a kind of the set.
pub(super) const BLOCK_RECORDS: usize = 32;

/// The `kind_flag` of the info word (`struct btf_type`), as a bit of the word's highest byte. The other bits
/// of the byte are the kind.
pub(super) const KFLAG: u8 = 0x80;

/// The largest set whose kinds are compared with all records of a block at once.
const COMPARED_KINDS: usize = 8;

/// A set of kinds to search for.
#[derive(Clone, Debug)]
pub(crate) struct KindSet {
    /// Whether the set contains a kind, by the kind's number, with and without the kflag.
    is_member: [bool; 256],
    /// The kinds and their count, if there are at most [`COMPARED_KINDS`]. Each row repeats the number of one
    /// kind for every record of a block.
    compared_kinds: Option<([[u8; BLOCK_RECORDS]; COMPARED_KINDS], usize)>,
}

impl KindSet {
    pub(crate) fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        let mut is_member = [false; 256];
        let mut compared_kinds = [[0; BLOCK_RECORDS]; COMPARED_KINDS];
        let mut count = 0usize;
        for raw in kinds.into_iter().map(Kind::raw) {
            let [plain, flagged] = [raw, raw | KFLAG].map(usize::from);
            if is_member.get(plain) == Some(&true) {
                continue;
            }
            for byte in [plain, flagged] {
                if let Some(entry) = is_member.get_mut(byte) {
                    *entry = true;
                }
            }
            if let Some(row) = compared_kinds.get_mut(count) {
                *row = [raw; BLOCK_RECORDS];
            }
            count = count.wrapping_add(1);
        }
        Self { is_member, compared_kinds: (count <= COMPARED_KINDS).then_some((compared_kinds, count)) }
    }

    /// Returns whether a kind is in the set. The kflag in `kind` is ignored.
    #[inline]
    pub(crate) fn contains(&self, kind: u8) -> bool {
        self.is_member.get(usize::from(kind)) == Some(&true)
    }

    /// Returns a bit for each record of a block, the lowest for the first record. A bit is set if the
    /// record's kind is in the set.
    ///
    /// `block` has the kinds of at most [`BLOCK_RECORDS`] records, with their kflags. The last block of a BTF
    /// may be shorter.
    #[inline]
    pub(super) fn matches(&self, block: &[u8]) -> u32 {
        let (Some((compared_kinds, count)), Some(block)) =
            (&self.compared_kinds, block.first_chunk::<BLOCK_RECORDS>())
        else {
            let kinds = block.iter().zip(0u32..);
            return kinds
                .fold(0, |bits, (kind, index)| bits | u32::from(self.contains(*kind)).wrapping_shl(index));
        };
        let mut is_member = [0u8; BLOCK_RECORDS];
        // Loops without branches let the compiler compare many records at once.
        for row in compared_kinds.iter().take(*count) {
            for ((is_member, kind), wanted) in is_member.iter_mut().zip(block).zip(row) {
                *is_member |= u8::from(kind & !KFLAG == *wanted);
            }
        }
        is_member.as_chunks::<8>().0.iter().rev().fold(0, |bits, bytes| (bits << 8) | gather_bits(*bytes))
    }
}

/// Gathers eight bytes that are 0 or 1 into bits, the first byte into the lowest.
#[inline]
fn gather_bits(bytes: [u8; 8]) -> u32 {
    // The factor has eight bits. Each pair of a byte and a bit of the factor sets another bit of the product,
    // so nothing carries. The highest byte contains the bit of each byte once, in order.
    let product = Endian::Little.u64_of(bytes).wrapping_mul(0x0102_0408_1020_4080);
    let [.., high] = Endian::Little.u64_bytes(product);
    u32::from(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn each_record_of_a_kind_in_the_set_has_its_bit() {
        use Kind::{Enum, Enum64, Float, Func, FuncProto, Fwd, Int, Ptr, Struct, Typedef, Union};
        let kinds = [Struct, Func, Union, Enum, Enum64, Float, Int, Fwd, Typedef, Ptr].map(Kind::raw);
        assert!(kinds.len() > COMPARED_KINDS);
        for count in 1..=kinds.len() {
            let set = KindSet::new(kinds.iter().take(count).map(|kind| Kind::from_raw(*kind)));
            for len in [1, 5, BLOCK_RECORDS - 1, BLOCK_RECORDS] {
                for index in 0..len {
                    let mut block = vec![FuncProto.raw(); len];
                    block[index] = kinds[count - 1] | KFLAG;
                    block[len / 2] = Struct.raw();
                    let expected = (1u32 << index) | (1 << (len / 2));
                    assert_eq!(set.matches(&block), expected, "{count} kinds, record {index} of {len}");
                }
            }
        }
    }
}
