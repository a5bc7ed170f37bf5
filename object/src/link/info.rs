//! `func_info` and `line_info` records of an object, by section.

use core_relo::{
    btf::Btf,
    ext::{BtfExt, ExtRecord, FuncInfo, LineInfo, Sections},
};
use std::collections::HashMap;

/// The records of one kind by section, in file order. A record is an instruction index and the record's other words.
#[derive(Clone, Debug, Default)]
pub(crate) struct InfoTable<const WORDS: usize>(HashMap<Vec<u8>, Vec<(u32, [u32; WORDS])>>);

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
        words: impl Fn(R) -> (u32, [u32; WORDS]),
    ) -> Self {
        let mut table = HashMap::new();
        for section in sections {
            let Some(name) = btf.name(section.name()) else { continue };
            // Like libbpf, only the first group of a section counts.
            table.entry(name.as_bytes().to_vec()).or_insert_with(|| {
                let records = section.records().map(&words).map(|(offset, words)| (offset / 8, words));
                let records: Vec<_> = records.collect();
                if records.is_sorted_by_key(|(insn, _)| *insn) {
                    return records;
                }
                log::warn!("section {name}: ignoring func_info or line_info records that are not sorted, which the kernel would refuse");
                Vec::new()
            });
        }
        Self(table)
    }

    /// Returns the records of `len` instructions of a section (libbpf: `adjust_prog_btf_ext_info`).
    pub(crate) fn in_range(&self, section: &[u8], start: u32, len: u32) -> &[(u32, [u32; WORDS])] {
        let records = self.0.get(section).map_or(&[][..], Vec::as_slice);
        let (_, records) = records.split_at(records.partition_point(|(insn, _)| *insn < start));
        let is_in_range = |(insn, _): &(u32, _)| insn.checked_sub(start).is_some_and(|index| index < len);
        let (records, _) = records.split_at(records.partition_point(is_in_range));
        records
    }
}
