//! Where each record lies, and what it is; the pass that finds out for any BTF, and says what is wrong with it.

use super::{BtfError, Kind, header::Header, kind::Info};
use crate::{
    endian::Endian,
    ids::{TypeId, low_u16, to_u32, to_usize},
};
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// Where the own records of a BTF lie, and what they are, in order of id.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) places: Places,
    /// Numbers of kinds, so that a search reads only the records of the kinds it wants. The high bit is the kflag, which the
    /// pass leaves where it is.
    pub(super) kinds: Vec<u8>,
}

/// Where records lie.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// Those of compilers: bytes from every [`BLOCK`]th record to the end of the type section, which is what the pass that finds
    /// them has at hand, and the low half of that for each. Half of what offsets take, and pages cost more than arithmetic.
    Near { blocks: Vec<u32>, lows: Vec<u16> },
    /// Any: bytes from each record to the end of the type section.
    Far(Vec<u32>),
}

/// So many bytes a block may take for the low half to tell its records apart.
pub(super) const NEAR: usize = 0xffff;

impl Default for Places {
    fn default() -> Self {
        Self::Far(Vec::new())
    }
}

impl Table {
    /// The table of any BTF whose records lie within; what they refer to is not looked at.
    pub(super) fn scan(data: &[u8], header: &Header, first_id: TypeId) -> Result<Self, BtfError> {
        let mut table = Self { places: Places::Far(scan(data, header, first_id)?), kinds: Vec::new() };
        let high = |at: usize| header.endian.high_byte(data, at.saturating_add(4));
        if let Places::Far(lefts) = &table.places {
            let offsets = lefts.iter().map(|left| header.types.end.wrapping_sub(to_usize(*left)));
            table.kinds = offsets.map(high).collect();
        }
        Ok(table)
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The offset of a record; `end` is that of the end of the type section.
    #[inline]
    pub(super) fn offset(&self, place: usize, end: usize) -> Option<usize> {
        match &self.places {
            Places::Near { blocks, lows } => {
                let block = to_usize(*blocks.get(place / BLOCK)?);
                let from_block = low_u16(block).wrapping_sub(*lows.get(place)?);
                Some(end.wrapping_sub(block).wrapping_add(usize::from(from_block)))
            }
            Places::Far(lefts) => lefts.get(place).map(|left| end.wrapping_sub(to_usize(*left))),
        }
    }

    /// The offsets of all records.
    pub(super) fn offsets(&self, end: usize) -> impl Iterator<Item = usize> {
        (0..self.len()).map(move |place| self.offset(place, end).unwrap_or(end))
    }

    /// Calls `found` with the places of the records of some kinds, in order, until it breaks.
    #[inline]
    pub(super) fn visit<B>(
        &self,
        kinds: &KindSet,
        mut found: impl FnMut(usize) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (nth, block) in self.kinds.chunks(BLOCK).enumerate() {
            let start = nth.wrapping_mul(BLOCK);
            let mut within = kinds.within(block);
            while within != 0 {
                found(start.wrapping_add(to_usize(within.trailing_zeros())))?;
                within &= within.wrapping_sub(1);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Kinds that are looked for.
#[derive(Clone, Debug)]
pub(crate) struct KindSet {
    has: [bool; 256],
    /// The same, if they are few: each as often as a block has records, and how many they are.
    few: Option<([[u8; BLOCK]; FEW], usize)>,
}

/// Records passed over at once: most are of no interest, functions above all.
pub(super) const BLOCK: usize = 32;
/// The bit of the info word's last byte that is not the kind's.
pub(super) const KFLAG: u8 = 0x80;
/// So many kinds are looked for in a whole block.
const FEW: usize = 8;

impl KindSet {
    pub(crate) fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        let mut has = [false; 256];
        let mut few = [[0; BLOCK]; FEW];
        let mut count = 0usize;
        for raw in kinds.into_iter().map(Kind::raw) {
            let [plain, flagged] = [raw, raw | KFLAG].map(usize::from);
            if has.get(plain) == Some(&true) {
                continue;
            }
            for at in [plain, flagged] {
                if let Some(it) = has.get_mut(at) {
                    *it = true;
                }
            }
            if let Some(row) = few.get_mut(count) {
                *row = [raw; BLOCK];
            }
            count = count.saturating_add(1);
        }
        Self { has, few: (count <= FEW).then_some((few, count)) }
    }

    /// Whether a kind is among them, its kflag set or not.
    #[inline]
    pub(crate) fn has(&self, kind: u8) -> bool {
        self.has.get(usize::from(kind)) == Some(&true)
    }

    /// Which of a block's records are of these kinds, a bit for each.
    #[inline]
    fn within(&self, block: &[u8]) -> u32 {
        let (Some((few, count)), Some(block)) = (&self.few, block.first_chunk::<BLOCK>()) else {
            let each = block.iter().zip(0u32..);
            return each.fold(0, |bits, (kind, at)| bits | u32::from(self.has(*kind)).wrapping_shl(at));
        };
        of_kinds(block, few.get(..*count).unwrap_or(few))
    }
}

/// Which of a block's records are of some kinds, each of which is given as often as a block has records; a bit for each.
#[inline]
pub(super) fn of_kinds(block: &[u8; BLOCK], kinds: &[[u8; BLOCK]]) -> u32 {
    let mut is_in = [0u8; BLOCK];
    // Without a branch within, so that it is done on many at once.
    for row in kinds {
        for ((is_in, kind), wanted) in is_in.iter_mut().zip(block).zip(row) {
            *is_in |= u8::from(kind & !KFLAG == *wanted);
        }
    }
    is_in.as_chunks::<8>().0.iter().rev().fold(0, |bits, eight| (bits << 8) | gather(*eight))
}

/// Eight bytes that are 0 or 1 as bits, the first the lowest.
#[inline]
fn gather(eight: [u8; 8]) -> u32 {
    let bytes = Endian::Little.u64(&eight, 0).unwrap_or_default();
    // Each byte's bit comes to lie in the highest byte once, and no two of the others meet below.
    let [.., high] = Endian::Little.u64_bytes(bytes.wrapping_mul(0x0102_0408_1020_4080));
    u32::from(high)
}

/// The bytes from each record to the end of the type section; the first is the BTF's first own type.
fn scan(data: &[u8], header: &Header, first_id: TypeId) -> Result<Vec<u32>, BtfError> {
    // Two functions, so that the byte order is decided outside of the loop.
    match header.endian {
        Endian::Little => scan_in::<false>(data, header, first_id),
        Endian::Big => scan_in::<true>(data, header, first_id),
    }
}

fn scan_in<const BIG: bool>(data: &[u8], header: &Header, first_id: TypeId) -> Result<Vec<u32>, BtfError> {
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let types = data.get(header.types.clone()).unwrap_or_default();
    let section_len = to_u32(types.len());
    let mut lefts = Vec::new();
    let mut rest = types;
    let mut id = first_id;
    while !rest.is_empty() {
        let at = section_len.saturating_sub(to_u32(rest.len()));
        let bounds = |kind, vlen| BtfError::TypeBounds { id, kind, vlen, offset: at, section_len };
        let info = endian.u32(rest, 4).map(Info).ok_or(bounds(Kind::Void, 0))?;
        let kind = info.kind();
        let shape = match kind.record_shape() {
            Some(shape) => shape,
            None => header.layout_of(data, kind.raw()).ok_or(BtfError::UnknownKind {
                id,
                kind: kind.raw(),
                offset: at,
            })?,
        };
        let len = to_usize(shape.record_len(info.vlen()));
        lefts.push(to_u32(rest.len()));
        rest = rest.get(len..).ok_or(bounds(kind, info.vlen()))?;
        id = TypeId(id.0.checked_add(1).ok_or(BtfError::TooManyTypes)?);
    }
    Ok(lefts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::{Btf, Builder};
    use alloc::vec;

    fn both(test: impl Fn(Builder)) {
        for endian in [Endian::Little, Endian::Big] {
            test(Builder::new(endian));
        }
    }

    /// Bytes from each record to the end of the section.
    fn lefts(btf: &Btf<'_>) -> Vec<u32> {
        let end = btf.header.types.end;
        btf.table.offsets(end).map(|at| to_u32(end.wrapping_sub(at))).collect()
    }

    #[test]
    fn a_bit_for_each_record_of_the_kinds() {
        use Kind::{Enum, Enum64, Float, Func, Fwd, Int, Ptr, Struct, Typedef, Union};
        let kinds = [Struct, Func, Union, Enum, Enum64, Float, Int, Fwd, Typedef, Ptr].map(Kind::raw);
        assert!(kinds.len() > FEW);
        for count in 1..=kinds.len() {
            let set = KindSet::new(kinds.iter().take(count).map(|kind| Kind::from_raw(*kind)));
            for len in [1, 5, BLOCK - 1, BLOCK] {
                for at in 0..len {
                    let mut block = vec![Func.raw() ^ 1; len];
                    block[at] = kinds[count - 1] | KFLAG;
                    block[len / 2] = Struct.raw();
                    let expected = (1u32 << at) | (1 << (len / 2));
                    let of_middle = if at == len / 2 { 1 << at } else { expected };
                    assert_eq!(set.within(&block), of_middle, "{count} kinds, {at} of {len}");
                }
            }
        }
    }

    /// The BTF with its type section cut to `len` bytes.
    fn cut(b: &Builder, endian: Endian, len: u32) -> Result<Btf<'static>, BtfError> {
        let mut data = b.finish();
        data[12..16].copy_from_slice(&endian.u32_bytes(len));
        Btf::parse(data)
    }

    #[test]
    fn a_record_cut_short_anywhere_is_an_error_that_names_it() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, 0);
            b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
            for len in 0..52u32 {
                let (id, offset) = if len <= 16 { (1, 0) } else { (2, 16) };
                let (kind, vlen) = match len - offset {
                    0..8 => (Kind::Void, 0),
                    _ if id == 1 => (Kind::Int, 0),
                    _ => (Kind::Struct, 2),
                };
                let expected = BtfError::TypeBounds { id: TypeId(id), kind, vlen, offset, section_len: len };
                let got = cut(&b, endian, len);
                match len {
                    0 | 16 => assert_eq!(got.unwrap().table.len(), usize::from(len == 16)),
                    _ => assert_eq!(got.err(), Some(expected), "{len} bytes"),
                }
            }
            assert_eq!(lefts(&cut(&b, endian, 52).unwrap()), [52, 36]);
        }
    }

    #[test]
    fn every_kind_needs_the_whole_of_its_record() {
        let fixed = [(Kind::Int, 1), (Kind::Var, 1), (Kind::DeclTag, 1), (Kind::Array, 3)];
        let each = [
            (Kind::Struct, 3),
            (Kind::Union, 3),
            (Kind::Datasec, 3),
            (Kind::Enum64, 3),
            (Kind::Enum, 2),
            (Kind::FuncProto, 2),
        ];
        let elements = |vlen: u32| each.map(|(kind, words)| (kind, words * vlen, vlen));
        let fixed = fixed.map(|(kind, words)| (kind, words, 0));
        for (kind, words, vlen) in fixed.into_iter().chain(elements(1)).chain(elements(3)) {
            both(|b| {
                let build = |words: u32| {
                    let mut b = b.clone();
                    b.raw("", kind, vlen, false, 0, &vec![0; to_usize(words)]);
                    Btf::parse(b.finish())
                };
                assert_eq!(lefts(&build(words).unwrap()), [12 + 4 * words], "{kind}");
                let section_len = 12 + 4 * (words - 1);
                let short = BtfError::TypeBounds { id: TypeId(1), kind, vlen, offset: 0, section_len };
                assert_eq!(build(words - 1).err(), Some(short));
            });
        }
    }

    #[test]
    fn more_elements_than_the_section_holds_are_an_error_not_a_reservation() {
        for vlen in [2, 65_536, 0x00ff_ffff] {
            both(|mut b| {
                b.raw("", Kind::Struct, vlen, false, 8, &[0, 0, 0]);
                let (id, kind) = (TypeId(1), Kind::Struct);
                let expected = BtfError::TypeBounds { id, kind, vlen, offset: 0, section_len: 24 };
                assert_eq!(Btf::parse(b.finish()).err(), Some(expected));
            });
        }
    }

    #[test]
    fn the_table_is_in_proportion_to_the_data() {
        both(|mut b| {
            for _ in 0..1025 {
                b.pointer(TypeId::VOID);
            }
            let btf = Btf::parse(b.finish()).unwrap();
            assert_eq!(btf.table.len(), 1025);
            let Places::Near { blocks, lows } = &btf.table.places else { panic!("{:?}", btf.table) };
            assert!(blocks.capacity() < 64 && lows.capacity() < 2 * 1025, "{blocks:?}");
        });
    }

    #[test]
    fn a_younger_kind_is_skipped_by_the_layout_or_refused() {
        let young = |mut b: Builder, entries: &[[u8; 2]]| {
            b.int("int", 4, 0);
            b.raw("young", Kind::Unknown(20), 3, true, 9, &[1, 2, 3, 4, 5]);
            b.float("double", 8);
            if !entries.is_empty() {
                b.layout(entries);
            }
            Btf::parse(b.finish())
        };
        let layout = |last| {
            let mut entries = [[0, 0]; 21];
            entries[20] = last;
            entries
        };
        both(|b| {
            let refused = BtfError::UnknownKind { id: TypeId(2), kind: 20, offset: 16 };
            assert_eq!(young(b.clone(), &[]).err(), Some(refused));
            assert_eq!(young(b.clone(), &[[0, 0]; 20]).err(), Some(refused));
            for last in [[20, 0], [8, 4], [2, 6]] {
                let btf = young(b.clone(), &layout(last)).unwrap();
                assert_eq!(btf.ty(TypeId(2)).unwrap().kind(), Kind::Unknown(20));
                assert_eq!(btf.ty(TypeId(3)).unwrap().name().as_bytes(), b"double");
                assert_eq!(btf.end_id(), TypeId(4));
            }
            let kind = Kind::Unknown(20);
            let bounds = BtfError::TypeBounds { id: TypeId(2), kind, vlen: 3, offset: 16, section_len: 60 };
            assert_eq!(young(b, &layout([255, 255])).err(), Some(bounds));
        });
    }

    #[test]
    fn a_record_of_kind_zero_is_refused_without_a_layout() {
        both(|mut b| {
            b.raw("", Kind::Void, 0, false, 0, &[]);
            let refused = BtfError::UnknownKind { id: TypeId(1), kind: 0, offset: 0 };
            assert_eq!(Btf::parse(b.finish()).err(), Some(refused));
        });
    }

    #[test]
    fn more_than_65535_elements_count_in_full() {
        both(|mut b| {
            let values = vec![("A", 1); 70_000];
            let many = b.enumeration("many", 4, false, &values);
            let after = b.float("after", 8);
            let btf = Btf::parse(b.finish()).unwrap();
            let many = btf.ty(many).unwrap();
            assert_eq!((many.vlen(), many.variants().count()), (70_000, 70_000));
            assert_eq!(btf.ty(after).unwrap().name().as_bytes(), b"after");
        });
    }

    #[test]
    fn ids_in_errors_go_on_where_the_base_ends() {
        both(|mut b| {
            b.int("int", 4, 0);
            let base = Btf::parse(b.finish()).unwrap();
            let mut s = Builder::split(&base);
            s.pointer(TypeId(1));
            s.raw("", Kind::Array, 0, false, 0, &[]);
            let got = Btf::parse_split(s.finish(), alloc::sync::Arc::new(base)).err();
            let (id, kind) = (TypeId(3), Kind::Array);
            assert_eq!(got, Some(BtfError::TypeBounds { id, kind, vlen: 0, offset: 12, section_len: 24 }));
        });
    }
}
