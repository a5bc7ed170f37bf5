//! The object's side of every relocation, made once: records, where they are, what they access.

use crate::{
    btf::Btf,
    endian::Endian,
    ext::{BtfExt, CoreRelo, LineInfo},
    ids::{ByteOffset, InsnIndex, StrOffset, to_u32, to_usize},
    insn::{INSN_BYTES, Slot},
    name::Name,
    spec::{self, Spec, SpecError},
};
use alloc::vec::Vec;
use hashbrown::HashMap;
use thiserror::Error;

/// A section of instructions, as it lies in the object.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever reads the ELF")]
pub struct CodeSection<'o> {
    /// The ELF section's name.
    pub name: &'o [u8],
    /// Its bytes.
    pub code: &'o [u8],
    /// Its programs and subprograms, in order of their start.
    pub functions: Vec<Function<'o>>,
}

/// A program or subprogram: what an ELF function symbol covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever reads the ELF")]
pub struct Function<'o> {
    /// The symbol's name.
    pub name: &'o [u8],
    /// Its first instruction.
    pub start: InsnIndex,
    /// Its length in instructions (slots of 8 bytes).
    pub len: u32,
}

/// Why the records of an object cannot be collected at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocsError {
    /// A group of records whose section has no name.
    #[error(".BTF.ext core_relo names a section at string offset {0}, where there is no name")]
    SectionName(StrOffset),
    /// BTF and instructions, or `.BTF.ext`, of different byte order.
    #[error(".BTF and .BTF.ext are of different byte order")]
    Endian,
}

/// One record, tied to its section, function, instruction and source line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record<'o> {
    /// The ELF section's name.
    pub section: Name<'o>,
    /// Its number among the records of that section's group, restarting per group: libbpf's "relo #N".
    pub index: u32,
    /// The record as written.
    pub relo: CoreRelo,
    /// The instruction, if the offset is a multiple of 8.
    pub insn: Option<InsnIndex>,
    /// What it accesses, or why that cannot be said.
    pub spec: Result<Spec, SpecError>,
    /// Position of its section in the code given, if there is one of that name.
    pub(crate) code: Option<usize>,
    /// Position of its function in that section.
    pub(crate) function: Option<usize>,
    source: Option<LineInfo>,
}

/// A source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceLine<'o> {
    /// The file, as given to the compiler.
    pub file: Name<'o>,
    /// Line number, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// The line's text.
    pub text: Name<'o>,
}

impl Record<'_> {
    /// The positions of its code section among those given, and of its function in that section.
    pub fn place(&self) -> Option<(usize, usize)> {
        Some((self.code?, self.function?))
    }
}

/// Every relocation of an object, in the order libbpf makes them.
#[derive(Clone, Debug)]
pub struct Relocs<'o> {
    btf: &'o Btf<'o>,
    code: &'o [CodeSection<'o>],
    records: Vec<Record<'o>>,
}

impl<'o> Relocs<'o> {
    /// Collects the records of `ext`, whose types are those of `btf` and whose instructions are in `code`.
    ///
    /// A bad record is kept and reported by the plan; only what spoils all of them is an error here.
    pub fn collect(
        btf: &'o Btf<'o>,
        ext: &BtfExt<'_>,
        code: &'o [CodeSection<'o>],
    ) -> Result<Self, RelocsError> {
        if btf.endian() != ext.endian() {
            return Err(RelocsError::Endian);
        }
        let mut places = HashMap::new();
        for (at, section) in code.iter().enumerate() {
            places.entry(section.name).or_insert(at);
        }
        let lines = lines_by_section(btf, ext);
        let mut records = Vec::new();
        for group in ext.core_relos() {
            let named = btf.name(group.name()).filter(|name| !name.is_empty());
            let section = named.ok_or(RelocsError::SectionName(group.name()))?;
            let place = places.get(section.as_bytes()).copied();
            let lines = lines.get(&section).map_or(&[][..], Vec::as_slice);
            for (relo, index) in group.records().zip(0u32..) {
                let insn = (relo.insn_offset.0 % 8 == 0).then_some(InsnIndex(relo.insn_offset.0 / 8));
                let function =
                    place.and_then(|at| code.get(at)).zip(insn).and_then(|(c, i)| c.function_at(i));
                let source = line_at(lines, relo.insn_offset);
                let spec = spec::local(btf, &relo);
                records.push(Record { section, index, relo, insn, spec, code: place, function, source });
            }
        }
        Ok(Self { btf, code, records })
    }

    /// The object's BTF.
    pub fn btf(&self) -> &'o Btf<'o> {
        self.btf
    }

    /// The object's byte order.
    pub fn endian(&self) -> Endian {
        self.btf.endian()
    }

    /// The sections of instructions.
    pub fn code(&self) -> &'o [CodeSection<'o>] {
        self.code
    }

    /// The records in order.
    pub fn records(&self) -> &[Record<'o>] {
        &self.records
    }

    /// The function a record's instruction belongs to.
    pub fn function(&self, record: &Record<'o>) -> Option<&'o Function<'o>> {
        self.code.get(record.code?)?.functions.get(record.function?)
    }

    /// The instruction a record patches, as the compiler wrote it.
    pub fn insn(&self, record: &Record<'o>) -> Option<Slot> {
        let at = to_usize(record.relo.insn_offset.0);
        Slot::decode(self.endian(), self.code.get(record.code?)?.code.get(at..)?)
    }

    /// The source line a record's instruction was compiled from.
    pub fn source(&self, record: &Record<'o>) -> Option<SourceLine<'o>> {
        let info = record.source?;
        Some(SourceLine {
            file: self.btf.name(info.file)?,
            line: info.line,
            column: info.column,
            text: self.btf.name(info.text).map(trimmed)?,
        })
    }
}

impl CodeSection<'_> {
    /// Number of whole instruction slots.
    pub fn insn_count(&self) -> u32 {
        to_u32(self.code.len() / INSN_BYTES)
    }

    /// Position of the function that covers an instruction (libbpf: `find_prog_by_sec_insn`).
    pub fn function_at(&self, insn: InsnIndex) -> Option<usize> {
        let covers = |f: &Function<'_>| insn >= f.start && insn.0.saturating_sub(f.start.0) < f.len;
        let after = self.functions.partition_point(|f| f.start <= insn);
        let at = after.checked_sub(1)?;
        self.functions.get(at).filter(|f| covers(f)).map(|_| at)
    }
}

/// The lines of each section, in order of their instruction.
fn lines_by_section<'o>(btf: &'o Btf<'_>, ext: &BtfExt<'_>) -> HashMap<Name<'o>, Vec<LineInfo>> {
    let mut lines = HashMap::<_, Vec<_>>::new();
    for group in ext.line_infos() {
        if let Some(section) = btf.name(group.name()) {
            lines.entry(section).or_default().extend(group.records());
        }
    }
    lines.values_mut().for_each(|of_section| of_section.sort_by_key(|line| line.insn_offset));
    lines
}

/// The last line that begins at or before an instruction.
fn line_at(lines: &[LineInfo], insn: ByteOffset) -> Option<LineInfo> {
    let after = lines.partition_point(|line| line.insn_offset <= insn);
    lines.get(after.checked_sub(1)?).copied()
}

fn trimmed(text: Name<'_>) -> Name<'_> {
    Name::new(text.as_bytes().trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Plan, Target,
        btf::Builder,
        insn::Insn,
        plan::{Decision, SkipReason},
    };
    use alloc::{sync::Arc, vec};

    /// Three records on the same field: at instruction 1 of `.text` (of function `kept`), at 3 (of none: the linker dropped
    /// the weak function that was there), and in a section that is not in the object.
    fn object(endian: Endian) -> (Vec<u8>, Vec<u8>) {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        let root = b.structure("s", 4, &[("a", int, 0)]);
        let [text, gone, access, file, line] =
            [".text", "gone", "0:0", "a.c", "\treturn s->a;"].map(|s| b.string(s).0);
        let record = |insn: u32| [insn, root.0, access, 0];
        let mut core = vec![16, text, 2];
        core.extend([record(8), record(24)].concat());
        core.extend([gone, 1]);
        core.extend(record(0));
        let lines = [16, text, 2, 16, file, line, 7 << 10, 0, file, line, (41 << 10) | 5];
        let bytes = |words: usize| to_u32(words.saturating_mul(4));
        let mut ext = Vec::new();
        endian.put_u16(&mut ext, 0xeb9f);
        ext.extend([1, 0]);
        for word in [32, 0, 0, 0, bytes(lines.len()), bytes(lines.len()), bytes(core.len())] {
            endian.put_u32(&mut ext, word);
        }
        for word in lines.into_iter().chain(core) {
            endian.put_u32(&mut ext, word);
        }
        (b.finish(), ext)
    }

    #[test]
    fn records_without_a_function_or_section_are_skipped_and_lines_begin_before_their_instruction() {
        for endian in [Endian::Little, Endian::Big] {
            let (btf, ext) = object(endian);
            let btf = Btf::parse(btf).unwrap();
            let code: Vec<u8> = [Insn { code: 0xb7, ..Insn::default() }.encode(endian); 4].concat();
            let functions = vec![Function { name: b"kept", start: InsnIndex(0), len: 2 }];
            let sections = [CodeSection { name: b".text", code: &code, functions }];
            let relocs = Relocs::collect(&btf, &BtfExt::parse(&ext).unwrap(), &sections).unwrap();
            let target = Target::new("vmlinux", Arc::new(btf.clone()));
            let plan = Plan::new(&relocs, &target);
            let decisions: Vec<_> = plan.iter().map(|planned| planned.decision().unwrap()).collect();
            assert_eq!(
                decisions,
                [
                    Decision::Keep { value: 0 },
                    Decision::Skip(SkipReason::NoFunction),
                    Decision::Skip(SkipReason::NoSection),
                ]
            );
            assert_eq!(plan.get(0).unwrap().function().map(|f| f.name), Some(&b"kept"[..]));
            let sources: Vec<_> = plan.iter().map(|p| p.source().map(|s| (s.line, s.column))).collect();
            assert_eq!(sources, [Some((41, 5)), Some((7, 0)), None], "lines are sorted by instruction first");
            assert_eq!(plan.get(0).unwrap().source().unwrap().text.as_bytes(), b"return s->a;");
            let indices: Vec<_> = relocs.records().iter().map(|r| (r.section.as_bytes(), r.index)).collect();
            assert_eq!(indices, [(&b".text"[..], 0), (b".text", 1), (b"gone", 0)]);
            let none = Plan::with(&relocs, &target, crate::plan::Options::default(), |_| false);
            assert_eq!(none.get(0).unwrap().decision(), Ok(Decision::Skip(SkipReason::NotSelected)));
        }
    }
}
