//! The fast path: one pass that accepts the type sections that compilers write.
//!
//! This pass takes most of the time of parsing a kernel's BTF. The pass reports no errors. If it does not
//! accept a BTF, [`scan`](super::scan) and [`validate`](super::validate) read the BTF again. They report the
//! first error, and also accept unknown kinds whose record size is in the BTF's layout section.

use super::{
    btf::Btf,
    error::BtfError,
    kind_set::{BLOCK_RECORDS, KFLAG, KindSet},
    table::{BLOCK_SPAN, Offsets, RecordTable},
    validate::Validation,
};
use crate::{
    endian::Endian,
    format::{Info, Kind, RecordSize, WordMeaning},
    ids::{TypeId, low_u16, low_u32, to_usize},
};
use alloc::{vec, vec::Vec};
use core::{cell::Cell, hint::black_box, ops::ControlFlow};

/// Bytes of `struct btf_type`, with which every record begins.
const COMMON_BYTES: usize = 12;

/// The record size by which the buffers are sized: a little less than the average of a kernel's BTF (23 to 26
/// bytes).
///
/// After the pass, such buffers are nearly full and need not be shrunk. An allocator can then reuse their
/// memory for the next BTF, without a page fault for each page.
const TYPICAL_BYTES: usize = 20;

// The pass compares raw kinds: the conversion to `Kind` costs as much as the validation of an element.
const ARRAY: u8 = Kind::Array.raw();
const STRUCT: u8 = Kind::Struct.raw();
const UNION: u8 = Kind::Union.raw();
const ENUM: u8 = Kind::Enum.raw();
const FUNC: u8 = Kind::Func.raw();
const FUNC_PROTO: u8 = Kind::FuncProto.raw();
const DATASEC: u8 = Kind::Datasec.raw();
const ENUM64: u8 = Kind::Enum64.raw();

/// The sizes and references of a kind's records. The struct has eight bytes, so that indexing the table needs
/// no multiplication.
#[derive(Clone, Copy)]
struct RecordShape {
    /// Bytes of a record without elements, or 0 for an unknown kind.
    fixed_bytes: u16,
    /// Bytes of an element.
    element_bytes: u16,
    /// All ones if the third word is the id of a type, else 0.
    id_mask: u32,
}

/// The shape of each kind's records, by the last byte of the info word: the kind and the kflag.
static RECORD_SHAPES: [RecordShape; 256] = {
    let mut shapes = [RecordShape { fixed_bytes: 0, element_bytes: 0, id_mask: 0 }; 256];
    let (mut raw, mut index) = (0, 0usize);
    // The kflag is the highest bit, so all smaller bytes are kinds.
    while raw < KFLAG {
        let kind = Kind::from_raw(raw);
        if let Some(layout) = kind.layout() {
            let RecordSize { fixed, element } = layout.size();
            let id_mask = if kind.has_target() { u32::MAX } else { 0 };
            let (fixed_bytes, element_bytes) =
                (low_u16(to_usize(fixed.wrapping_add(12))), low_u16(to_usize(element)));
            let shape = RecordShape { fixed_bytes, element_bytes, id_mask };
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
            {
                (shapes[index], shapes[index | 0x80]) = (shape, shape);
            }
        }
        (raw, index) = (raw.wrapping_add(1), index.wrapping_add(1));
    }
    shapes
};

/// The names and types to which records may refer.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'b> {
    pub(super) first_id: TypeId,
    /// One past the last string offset.
    pub(super) string_end: u32,
    pub(super) base: Option<&'b Btf<'b>>,
}

/// Finds the records of a type section. Returns `None` if a record reaches past the section's end, has an
/// unknown kind, or refers to a name or a type that does not exist. The only error is too little memory for
/// the table.
///
/// With [`Validation::CommonWords`] the references of elements are not validated.
pub(super) fn find_records(
    types: &[u8],
    endian: Endian,
    bounds: Bounds<'_>,
    validation: Validation,
) -> Result<Option<RecordTable>, BtfError> {
    // Each byte order and validation has its own instance of the function, so that the loop does not test
    // them.
    let validate_elements = validation != Validation::CommonWords;
    let scan_records = match (endian, validate_elements) {
        (Endian::Little, false) => scan_records::<false, false>,
        (Endian::Little, true) => scan_records::<false, true>,
        (Endian::Big, false) => scan_records::<true, false>,
        (Endian::Big, true) => scan_records::<true, true>,
    };
    let mut buffers = TableBuffers::new(types.len() / TYPICAL_BYTES)?;
    let mut result = scan_records(types, bounds, &mut buffers);
    if result.is_none() {
        // The BTF has more records than the first buffers hold, or the pass does not accept it.
        buffers = TableBuffers::new(types.len() / COMMON_BYTES)?;
        result = scan_records(types, bounds, &mut buffers);
    }
    let Some(ScanResult { count, highest_id, has_unresolved_func }) = result else {
        return Ok(None);
    };
    let end_id = u32::try_from(count).ok().and_then(|count| bounds.first_id.0.checked_add(count));
    if end_id.is_none_or(|end_id| highest_id >= end_id) {
        return Ok(None);
    }
    let table = buffers.into_table(count);
    let is_valid = !has_unresolved_func || have_prototypes(types, endian, bounds, &table);
    Ok(is_valid.then_some(table))
}

/// The result of [`scan_records`], besides the table.
struct ScanResult {
    count: usize,
    /// The highest id to which a record refers.
    highest_id: u32,
    /// Whether a FUNC may refer to a type other than an earlier FUNC_PROTO of the own types.
    has_unresolved_func: bool,
}

/// Finds the records, and validates their name offsets. The caller compares `highest_id` with the number of
/// types, which is known only after the pass.
///
/// The offset of a record depends on the length of the record before. A lookup by kind returns the length
/// without a branch that the processor could mispredict.
#[inline(never)]
fn scan_records<const IS_BIG_ENDIAN: bool, const VALIDATE_ELEMENTS: bool>(
    types: &[u8],
    bounds: Bounds<'_>,
    buffers: &mut TableBuffers,
) -> Option<ScanResult> {
    let endian = byte_order::<IS_BIG_ENDIAN>();
    // Offset 0 is the empty name, even if the BTF has no strings, as a split BTF may.
    let name_end = bounds.string_end.max(1);
    let TableBuffers { blocks, low16, kinds } = buffers;
    // Cells allow reading the kind of an earlier type while the kinds are written.
    let all_kinds = Cell::from_mut(kinds.as_mut_slice()).as_slice_of_cells();
    let (low16, kinds) = (low16.as_chunks_mut::<BLOCK_RECORDS>().0, all_kinds.as_chunks::<BLOCK_RECORDS>().0);
    let (mut rest, mut count) = (types, 0usize);
    let (mut highest_id, mut has_unresolved_func) = (0, false);
    for ((block, low16), kinds) in blocks.iter_mut().zip(low16).zip(kinds) {
        let block_start = rest.len();
        *block = low_u32(block_start);
        for (index, (low16, kind)) in low16.iter_mut().zip(kinds).enumerate() {
            let Some((common, trailer)) = rest.split_first_chunk::<COMMON_BYTES>() else {
                let is_compact = block_start.wrapping_sub(rest.len()) <= BLOCK_SPAN;
                let count = count.wrapping_add(index);
                let result = ScanResult { count, highest_id, has_unresolved_func };
                return (rest.is_empty() && is_compact).then_some(result);
            };
            let [name, info, target] = *common.as_chunks::<4>().0 else { return None };
            if endian.word(name) >= name_end {
                return None;
            }
            let (info, target) = (Info(endian.word(info)), endian.word(target));
            let shape = RECORD_SHAPES.get(usize::from(info.high_byte()))?;
            highest_id = highest_id.max(target & shape.id_mask);
            *low16 = low_u16(rest.len());
            kind.set(info.high_byte());
            rest = if info.kind_raw() == FUNC {
                if VALIDATE_ELEMENTS {
                    // The kinds of later types are still 0.
                    let earlier = all_kinds.get(to_usize(target.wrapping_sub(bounds.first_id.0)));
                    if earlier.map(Cell::get) != Some(FUNC_PROTO) {
                        // The black box keeps this rare case out of the common one, which then needs no
                        // register for the flag.
                        has_unresolved_func = black_box(true);
                    }
                }
                // Nearly half of a kernel's records are FUNCs, all of 12 bytes. The branch lets the processor
                // predict where the next record begins. Without the black box the compiler removes the
                // branch, and the next record waits for the length of this one.
                black_box(());
                trailer
            } else {
                let elements = to_usize(info.vlen()).wrapping_mul(usize::from(shape.element_bytes));
                let len = usize::from(shape.fixed_bytes).wrapping_add(elements);
                let (record, following) = rest.split_at_checked(len)?;
                if VALIDATE_ELEMENTS && len > COMMON_BYTES {
                    let elements = record.get(COMMON_BYTES..)?;
                    let highest = highest_element_id::<IS_BIG_ENDIAN>(info.kind_raw(), elements, name_end)?;
                    highest_id = highest_id.max(highest);
                }
                following
            };
        }
        // The shape of an unknown kind has length 0, so that the pass makes no progress. A block of such
        // records spans 0 bytes.
        if !(1..=BLOCK_SPAN).contains(&block_start.wrapping_sub(rest.len())) {
            return None;
        }
        count = count.wrapping_add(BLOCK_RECORDS);
    }
    None
}

/// Returns the byte order as a constant, so that the loop needs no test and no register for it.
const fn byte_order<const IS_BIG_ENDIAN: bool>() -> Endian {
    if IS_BIG_ENDIAN { Endian::Big } else { Endian::Little }
}

/// Returns the highest type id in the elements of a record, or `None` if an element has a name that does not
/// exist.
#[inline]
fn highest_element_id<const IS_BIG_ENDIAN: bool>(kind: u8, elements: &[u8], name_end: u32) -> Option<u32> {
    let (endian, words) = (byte_order::<IS_BIG_ENDIAN>(), elements.as_chunks::<4>().0);
    match kind {
        STRUCT | UNION => highest_id::<3>(endian, words, const { repeated_words(Kind::Struct) }, name_end),
        ENUM => highest_id::<2>(endian, words, const { repeated_words(Kind::Enum) }, name_end),
        ENUM64 => highest_id::<3>(endian, words, const { repeated_words(Kind::Enum64) }, name_end),
        FUNC_PROTO => highest_id::<2>(endian, words, const { repeated_words(Kind::FuncProto) }, name_end),
        DATASEC => highest_id::<3>(endian, words, const { repeated_words(Kind::Datasec) }, name_end),
        ARRAY => highest_id::<3>(endian, words, const { repeated_words(Kind::Array) }, name_end),
        _ => Some(0),
    }
}

/// Returns the meanings of the words of an element. For an ARRAY, they are the words of its
/// `struct btf_array`.
const fn repeated_words<const WORDS: usize>(kind: Kind) -> [WordMeaning; WORDS] {
    let Some(layout) = kind.layout() else { return [WordMeaning::Value; WORDS] };
    let words = if layout.element.is_empty() { layout.fixed } else { layout.element };
    match words.first_chunk::<WORDS>() {
        Some(words) => *words,
        None => [WordMeaning::Value; WORDS],
    }
}

/// Returns the highest type id in elements whose words have these meanings, or `None` if a name does not
/// exist.
#[inline]
fn highest_id<const WORDS: usize>(
    endian: Endian,
    mut words: &[[u8; 4]],
    meanings: [WordMeaning; WORDS],
    name_end: u32,
) -> Option<u32> {
    let mut highest_id = 0;
    while let Some((element, following)) = words.split_first_chunk::<WORDS>() {
        words = following;
        for (word, meaning) in element.iter().zip(meanings) {
            match meaning {
                WordMeaning::Name if endian.word(*word) >= name_end => return None,
                WordMeaning::Id => highest_id = highest_id.max(endian.word(*word)),
                WordMeaning::Name | WordMeaning::Value => {}
            }
        }
    }
    Some(highest_id)
}

/// Returns whether every FUNC refers to a FUNC_PROTO of the own types or of the base.
fn have_prototypes(types: &[u8], endian: Endian, bounds: Bounds<'_>, table: &RecordTable) -> bool {
    let is_prototype = |target: TypeId| {
        let kind = match target.0.checked_sub(bounds.first_id.0) {
            Some(own_index) => table.kind(to_usize(own_index)),
            None => bounds.base.and_then(|base| base.kind_of(target)),
        };
        kind == Some(Kind::FuncProto)
    };
    let flow = table.visit(types, &KindSet::new([Kind::Func]), |_, record| {
        let has_prototype = endian.u32(record, 8).is_some_and(|target| is_prototype(TypeId(target)));
        if has_prototype { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    flow.is_continue()
}

/// The number of records above which a fallible reservation precedes the allocation of the table.
///
/// The table of a kernel's BTF is smaller (about 3 MiB). The reservation would take a tenth of the time of
/// parsing it.
const CHECKED_RECORDS: usize = 1 << 22;

/// Buffers for the [`RecordTable`] of a BTF.
///
/// Zeroed pages that are never written use no memory.
struct TableBuffers {
    blocks: Vec<u32>,
    low16: Vec<u16>,
    kinds: Vec<u8>,
}

impl TableBuffers {
    fn new(max_records: usize) -> Result<Self, BtfError> {
        // One more block lets the pass find the end if the last record fills a block.
        let blocks = (max_records / BLOCK_RECORDS).checked_add(1);
        let counts = blocks.and_then(|blocks| Some((blocks, blocks.checked_mul(BLOCK_RECORDS)?)));
        let (blocks, records) = counts.ok_or(BtfError::OutOfMemory { types: max_records })?;
        if records > CHECKED_RECORDS {
            // A failed reservation is an error. A failed `vec!` would end the process.
            let (mut block_offsets, mut low16, mut kinds) =
                (Vec::<u32>::new(), Vec::<u16>::new(), Vec::<u8>::new());
            let reserved = block_offsets
                .try_reserve_exact(blocks)
                .and_then(|()| low16.try_reserve_exact(records))
                .and_then(|()| kinds.try_reserve_exact(records));
            reserved.map_err(|_no_memory| BtfError::OutOfMemory { types: max_records })?;
        }
        // `vec!` gets zeroed pages from the kernel.
        Ok(Self { blocks: vec![0; blocks], low16: vec![0; records], kinds: vec![0; records] })
    }

    fn into_table(self, count: usize) -> RecordTable {
        let Self { mut blocks, mut low16, mut kinds } = self;
        let is_half_empty = count < low16.len() / 2;
        blocks.truncate(count.div_ceil(BLOCK_RECORDS));
        low16.truncate(count);
        kinds.truncate(count);
        if is_half_empty {
            blocks.shrink_to_fit();
            low16.shrink_to_fit();
            kinds.shrink_to_fit();
        }
        RecordTable { offsets: Offsets::Compact { blocks, low16 }, kinds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Btf, Builder, BuiltMember,
        parse::{Header, validate::Validation},
    };
    use alloc::{string::ToString as _, sync::Arc};

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    #[test]
    fn too_little_memory_for_the_table_is_an_error() {
        // The offsets of so many records take more bytes than any allocation may have.
        let most = isize::MAX.unsigned_abs();
        let buffers = TableBuffers::new(most).map(|_| ());
        assert_eq!(buffers, Err(BtfError::OutOfMemory { types: most }));
    }

    /// Builds types of every kind, with FUNCs before their FUNC_PROTO and after it.
    fn every_kind(mut b: Builder) -> Vec<u8> {
        let int = b.int("int", 4, Builder::SIGNED);
        let fwd = b.forward("later", Kind::Union);
        let ptr = b.pointer(fwd);
        let array = b.array(int, ptr, 4);
        let union = b.union("u", 8, &[("f", int, 0), ("p", ptr, 0)]);
        let member = |name, ty| BuiltMember { name, ty, bit_offset: 0, bitfield_bits: 3 };
        let flagged = b.composite(Kind::Struct, "s", 64, &[member("a", int), member("", union)]);
        b.signed_enumeration("e", 4, &[("A", -1), ("B", 7)]);
        b.enumeration64("e64", 8, &[("C", u64::MAX)]);
        let mut at = b.typedef("t", flagged);
        for kind in [Kind::Const, Kind::Volatile, Kind::Restrict] {
            at = b.modifier(kind, at);
        }
        at = b.type_tag("user", at);
        let proto = b.func_proto(at, &[("x", array), ("", TypeId::VOID)]);
        b.func("f", proto, 1);
        let next = b.func_proto(int, &[("y", ptr)]);
        b.func("g", TypeId(next.0.saturating_add(2)), 1);
        b.func_proto(at, &[]);
        let var = b.var("v", at, 1);
        b.datasec(".data", 64, &[(var, 0, 64)]);
        b.decl_attribute("tag", flagged, 1);
        b.float("double", 8);
        b.finish()
    }

    /// Returns the range of the type section, which follows a header of 24 bytes.
    fn type_range(data: &[u8]) -> core::ops::Range<usize> {
        let types = Header::parse(data).unwrap().types_of(data);
        24..types.len().checked_add(24).unwrap()
    }

    fn offsets(btf: &Btf<'_>) -> impl Iterator<Item = usize> {
        btf.table.offsets(btf.types_section().len())
    }

    type Parsed = Result<(Vec<usize>, Vec<u8>), BtfError>;

    /// Returns the results of parsing with the fast path and without.
    fn both_paths(data: &[u8], base: Option<&Arc<Btf<'static>>>) -> [Parsed; 2] {
        [Validation::All, Validation::AllWithoutFastPath].map(|validation| {
            let btf = Btf::parse_with(data.to_vec().into(), base.cloned(), validation)?;
            Ok((btf.table.offsets(btf.types_section().len()).collect(), btf.table.kinds))
        })
    }

    fn is_accepted(data: &[u8], base: Option<&Arc<Btf<'static>>>) -> bool {
        let header = Header::parse(data).unwrap();
        let (first_id, names) = base.map_or((TypeId(1), 0), |base| (base.end_id(), base.string_end()));
        let string_end = names.saturating_add(header.string_len());
        let bounds = Bounds { first_id, string_end, base: base.map(AsRef::as_ref) };
        let accepts = |validation| {
            find_records(header.types_of(data), header.endian, bounds, validation).unwrap().is_some()
        };
        accepts(Validation::All) && accepts(Validation::CommonWords)
    }

    #[test]
    fn the_fast_path_accepts_what_compilers_write() {
        for endian in ORDERS {
            let plain = every_kind(Builder::new(endian));
            assert!(is_accepted(&plain, None));
            let base = Arc::new(Btf::parse(plain).unwrap());
            assert!(is_accepted(&every_kind(Builder::split(&base)), Some(&base)));
        }
    }

    #[test]
    fn the_fast_path_accepts_more_records_than_the_first_buffers_hold() {
        for endian in ORDERS {
            let mut b = Builder::new(endian);
            for _ in 0..1000 {
                b.forward("f", Kind::Union);
            }
            assert!(is_accepted(&b.finish(), None));
        }
    }

    #[test]
    fn every_changed_byte_gives_the_same_result_on_both_paths() {
        let (mut good, mut bad) = (0, 0);
        for endian in ORDERS {
            let plain = every_kind(Builder::new(endian));
            let base = Arc::new(Btf::parse(plain.clone()).unwrap());
            let split = every_kind(Builder::split(&base));
            for (data, base) in [(plain, None), (split, Some(&base))] {
                for at in type_range(&data) {
                    for change in [1, 2, 4, 0x0c, 0x0d, 0x1f, 0x7f, 0x80, 0xff] {
                        let mut data = data.clone();
                        data[at] ^= change;
                        let [fast, slow] = both_paths(&data, base);
                        assert_eq!(fast, slow, "byte {at} changed by {change:#x}");
                        *if fast.is_ok() { &mut good } else { &mut bad } += 1;
                    }
                }
            }
        }
        assert!(good > 1000 && bad > 1000, "{good} accepted, {bad} rejected");
    }

    #[test]
    fn unvalidated_records_lie_within_the_data() {
        let elements = |e: &BtfError| {
            matches!(
                e,
                BtfError::TypeRef { .. } | BtfError::NameRef { .. } | BtfError::FuncWithoutProto { .. }
            )
        };
        let (mut same, mut more) = (0, 0);
        for endian in ORDERS {
            let good = every_kind(Builder::new(endian));
            for at in type_range(&good) {
                for change in [1, 4, 0x0d, 0x80, 0xff] {
                    let mut data = good.clone();
                    data[at] ^= change;
                    let [unvalidated, validated] = [Validation::CommonWords, Validation::All]
                        .map(|validation| Btf::parse_with(data.clone().into(), None, validation));
                    match (unvalidated, validated) {
                        (Ok(unvalidated), Ok(validated)) => {
                            assert!(
                                offsets(&unvalidated).eq(offsets(&validated)),
                                "byte {at} changed by {change:#x}"
                            );
                            same += 1;
                        }
                        (Ok(unvalidated), Err(e)) => {
                            assert!(elements(&e), "{e}");
                            // Accessors accept a reference to a type or name that does not exist.
                            assert!(
                                unvalidated
                                    .types()
                                    .map(|ty| ty.raw().to_string())
                                    .all(|text| !text.is_empty())
                            );
                            let _ = unvalidated.types().flat_map(|ty| unvalidated.size_of(ty.id())).count();
                            more += 1;
                        }
                        (unvalidated, validated) => assert_eq!(unvalidated.err(), validated.err()),
                    }
                }
            }
        }
        assert!(same > 500 && more > 100, "{same} the same, {more} only unvalidated");
    }

    #[test]
    fn a_func_in_a_split_btf_refers_to_a_prototype_of_the_base() {
        for endian in ORDERS {
            let base = Arc::new(Btf::parse(every_kind(Builder::new(endian))).unwrap());
            for target in base.types().map(|ty| ty.id().0).chain([0, base.end_id().0, u32::MAX]) {
                let mut b = Builder::split(&base);
                b.func("f", TypeId(target), 1);
                let [fast, slow] = both_paths(&b.finish(), Some(&base));
                assert_eq!(fast, slow, "refers to {target}");
            }
        }
    }
}
