//! Records of functions and source lines, by section, for whoever puts programs together.

use core_relo::{
    btf::Btf,
    ext::{BtfExt, ExtRecord, FuncInfo, LineInfo, Sections},
};
use std::collections::HashMap;

/// Records of one kind: `(instruction, the record's other words)` by section, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct InfoTable<const WORDS: usize>(HashMap<Vec<u8>, Vec<(u32, [u32; WORDS])>>);

impl InfoTable<1> {
    /// Types of functions.
    pub(crate) fn functions(btf: &Btf<'_>, ext: &BtfExt<'_>) -> Self {
        Self::collect(btf, ext.func_infos(), |r: FuncInfo| (r.insn_offset.0, [r.ty.0]))
    }
}

impl InfoTable<3> {
    /// Source lines.
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
            // libbpf takes the first group of a section.
            table.entry(name.as_bytes().to_vec()).or_insert_with(|| {
                let records = section.records().map(&words).map(|(offset, words)| (offset / 8, words));
                let records: Vec<_> = records.collect();
                if records.is_sorted_by_key(|(at, _)| *at) {
                    return records;
                }
                log::warn!("section {name}: records out of order, which no kernel takes, are left out");
                Vec::new()
            });
        }
        Self(table)
    }

    /// The records of a run of a section's instructions: from the first one within to the last one before the first beyond
    /// (libbpf: `adjust_prog_btf_ext_info`).
    pub(crate) fn within(&self, section: &[u8], start: u32, len: u32) -> &[(u32, [u32; WORDS])] {
        let records = self.0.get(section).map(Vec::as_slice).unwrap_or_default();
        let end = start.saturating_add(len);
        let first = records.partition_point(|(at, _)| *at < start);
        let stop = records.partition_point(|(at, _)| *at < end);
        records.get(first..stop).unwrap_or_default()
    }
}
