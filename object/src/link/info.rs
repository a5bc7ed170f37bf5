//! `func_info` and `line_info` records of an object, by section.

use core_relo::{
    btf::Btf,
    ext::{BtfExt, ExtRecord, FuncInfo, LineInfo, Section, Sections},
};
use hashbrown::HashMap;

/// A record: an instruction index, and the record's other words.
pub(crate) type InfoRecord<const WORDS: usize> = (u32, [u32; WORDS]);

/// The records of one kind by section.
#[derive(Clone, Debug)]
pub(crate) struct InfoTable<const WORDS: usize> {
    sections: HashMap<Vec<u8>, SectionInfo<WORDS>>,
    /// The bytes of a record in the object. `None` without records.
    pub(super) record_bytes: Option<u32>,
}

/// The records of a section, in file order.
#[derive(Clone, Debug)]
struct SectionInfo<const WORDS: usize> {
    records: Vec<InfoRecord<WORDS>>,
    /// The highest instruction up to each record. `None` if the records are in the order of their
    /// instructions.
    highest: Option<Vec<u32>>,
    /// The indices of the records with a value after the known words.
    nonzero_tails: Vec<usize>,
}

/// The records of a range of instructions, in file order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InfoRange<'t, const WORDS: usize> {
    pub(crate) records: &'t [InfoRecord<WORDS>],
    /// The index of the first record with a value after the known words.
    pub(super) nonzero_tail: Option<usize>,
    /// The number of records that were looked at.
    pub(super) visited: usize,
}

impl<const WORDS: usize> Default for InfoTable<WORDS> {
    fn default() -> Self {
        Self { sections: HashMap::new(), record_bytes: None }
    }
}

impl InfoTable<1> {
    /// Collects the `func_info` records.
    pub(crate) fn functions(btf: &Btf<'_>, ext: &BtfExt<'_>) -> Self {
        Self::collect(btf, ext.func_infos(), |r: FuncInfo| (r.insn_offset.0, [r.ty.0]))
    }
}

impl InfoTable<3> {
    /// Collects the `line_info` records.
    pub(crate) fn lines(btf: &Btf<'_>, ext: &BtfExt<'_>) -> Self {
        let position = |r: &LineInfo| (r.line << 10) | (r.column & 0x3ff);
        Self::collect(btf, ext.line_infos(), |r: LineInfo| {
            (r.insn_offset.0, [r.file.0, r.text.0, position(&r)])
        })
    }
}

impl<const WORDS: usize> InfoTable<WORDS> {
    fn collect<R: ExtRecord>(
        btf: &Btf<'_>,
        sections: Sections<'_, R>,
        words: impl Fn(R) -> InfoRecord<WORDS>,
    ) -> Self {
        let mut table = Self::default();
        for section in sections {
            // All sections have the same record size.
            table.record_bytes = Some(section.record_size());
            let Some(name) = btf.name(section.name()) else { continue };
            // Like libbpf, only the first group of a section counts.
            table
                .sections
                .entry(name.as_bytes().to_vec())
                .or_insert_with(|| SectionInfo::new(&section, &words));
        }
        table
    }

    /// Returns the records of `len` instructions of a section (libbpf: `adjust_prog_btf_ext_info`).
    ///
    /// Of records that are not in the order of their instructions, this is the part from the first record in
    /// the range up to the last before any record after the range. The part may have records before the
    /// range.
    pub(crate) fn in_range(&self, section: &[u8], start: u32, len: u32) -> InfoRange<'_, WORDS> {
        let Some(section) = self.sections.get(section) else {
            return InfoRange { records: &[], nonzero_tail: None, visited: 0 };
        };
        let is_before = |insn: u32| insn < start;
        let is_before_end = |insn: u32| insn.checked_sub(start).is_none_or(|index| index < len);
        let [first, end] = match &section.highest {
            None => {
                let records = &section.records;
                [
                    records.partition_point(|(insn, _)| is_before(*insn)),
                    records.partition_point(|(insn, _)| is_before_end(*insn)),
                ]
            }
            Some(highest) => [
                highest.partition_point(|insn| is_before(*insn)),
                highest.partition_point(|insn| is_before_end(*insn)),
            ],
        };
        let mut records = section.records.get(first..end).unwrap_or(&[]);
        let visited = records.len();
        if section.highest.is_some() {
            while let [rest @ .., (insn, _)] = records
                && is_before(*insn)
            {
                records = rest;
            }
        }
        let tails = &section.nonzero_tails;
        let tail = tails.get(tails.partition_point(|tail| *tail < first)..).and_then(<[_]>::first);
        let nonzero_tail = tail.and_then(|tail| tail.checked_sub(first)).filter(|tail| *tail < records.len());
        InfoRange { records, nonzero_tail, visited }
    }
}

impl<const WORDS: usize> SectionInfo<WORDS> {
    fn new<R: ExtRecord>(section: &Section<'_, R>, words: impl Fn(R) -> InfoRecord<WORDS>) -> Self {
        let records = section.records().map(words).map(|(offset, words)| (offset / 8, words));
        let records: Vec<_> = records.collect();
        let highest = (!records.is_sorted_by_key(|(insn, _)| *insn)).then(|| {
            let highest = records.iter().scan(0, |highest, (insn, _)| {
                *highest = (*highest).max(*insn);
                Some(*highest)
            });
            highest.collect()
        });
        let nonzero_tails = if section.record_size() > R::SIZE {
            let known = usize::try_from(R::SIZE).unwrap_or(usize::MAX);
            let has_value = |record: &[u8]| record.iter().skip(known).any(|byte| *byte != 0);
            let tails = section.raw_records().enumerate().filter(|(_, record)| has_value(record));
            tails.map(|(index, _)| index).collect()
        } else {
            Vec::new()
        };
        Self { records, highest, nonzero_tails }
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "test code may panic")]
mod tests {
    use super::*;
    use core_relo::{
        Endian,
        btf::Builder,
        ext::{ExtBuilder, ExtPart},
    };

    /// Returns a table of records with the instructions, in the section `x`. Each record has a word that is
    /// not known.
    fn table(records: &[[u32; 2]]) -> InfoTable<1> {
        let mut b = Builder::new(Endian::Little);
        let name = b.string("x");
        let btf = Btf::parse(b.finish()).unwrap();
        let mut bytes = Vec::new();
        for [insn, tail] in records {
            for word in [insn * 8, 1, *tail] {
                Endian::Little.put_u32(&mut bytes, word);
            }
        }
        let mut ext = ExtBuilder::new(Endian::Little);
        ext.group(ExtPart::FuncInfo, name, 12, &bytes);
        InfoTable::functions(&btf, &BtfExt::parse(&ext.finish()).unwrap())
    }

    /// Returns the instructions of the records in a range, and the record with a tail.
    fn range(table: &InfoTable<1>, start: u32, len: u32) -> (Vec<u32>, Option<usize>) {
        let range = table.in_range(b"x", start, len);
        (range.records.iter().map(|(insn, _)| *insn).collect(), range.nonzero_tail)
    }

    /// libbpf takes the records up to the first that lies after the range, whatever their order: the kernel
    /// refuses them.
    #[test]
    fn unsorted_records_of_a_range_are_those_that_libbpf_sends() {
        let table = table(&[[0, 0], [5, 0], [4, 0], [2, 1], [9, 0], [6, 0], [12, 0], [1, 0]]);
        assert_eq!(table.record_bytes, Some(12));
        assert_eq!(range(&table, 0, 4), (vec![0], None));
        assert_eq!(range(&table, 4, 4), (vec![5, 4], None));
        assert_eq!(range(&table, 3, 3), (vec![5, 4], None));
        assert_eq!(range(&table, 2, 4), (vec![5, 4, 2], Some(2)));
        assert_eq!(range(&table, 8, 2), (vec![9], None));
        assert_eq!(range(&table, 12, 1), (vec![12], None));
        assert_eq!(range(&table, 20, 1), (vec![], None));
    }

    #[test]
    fn sorted_records_of_a_range_are_those_of_its_instructions() {
        let table = table(&[[0, 0], [3, 0], [3, 1], [7, 1]]);
        assert_eq!(range(&table, 0, 3), (vec![0], None));
        assert_eq!(range(&table, 1, 6), (vec![3, 3], Some(1)));
        assert_eq!(range(&table, 7, u32::MAX), (vec![7], Some(0)));
    }
}
