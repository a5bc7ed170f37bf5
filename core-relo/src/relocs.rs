//! The relocations of an object: the CO-RE records with their instructions and their accesses, before a
//! target is known.

use crate::{
    ByteOffset, Endian, Name, StrOffset,
    btf::{Btf, Type},
    ext::{BtfExt, CoreRelo, RelocKind},
    index::{InsnIndex, to_u32, to_usize},
    insn::{INSN_BYTES, Slot},
    source_lines::{
        Access, AccessWords, LineQuery, SourceLine, SourceLines, ValueUses, find_value_uses,
        is_register_struct,
    },
    spec::{self, AccessStringError, Spec},
};
use alloc::vec::Vec;
use core::fmt;
use hashbrown::HashMap;
use thiserror::Error;

/// A section of instructions of the object.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "created by the reader of the ELF file")]
pub struct CodeSection<'o> {
    /// The ELF section's name.
    pub name: &'o [u8],
    /// The section's bytes.
    pub code: &'o [u8],
    /// The programs and subprograms, in order of their start.
    pub functions: Vec<Function<'o>>,
}

/// A program or subprogram: the range of an ELF function symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "created by the reader of the ELF file")]
pub struct Function<'o> {
    /// The symbol's name.
    pub name: &'o [u8],
    /// The first instruction.
    pub start: InsnIndex,
    /// The length in instructions (slots of 8 bytes).
    pub len: u32,
}

/// The reason why no record of an object can be collected.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocsError {
    /// The section of a group of records has no name.
    #[error(".BTF.ext core_relo: no section name at string offset {0}")]
    SectionName(StrOffset),
    /// The byte order of `.BTF` differs from that of `.BTF.ext`.
    #[error(".BTF and .BTF.ext are of different byte order")]
    Endian,
}

crate::debug_as_message!(RelocsError);

/// A relocation record with its section, function, instruction and source line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record<'o> {
    /// The ELF section's name.
    pub section: Name<'o>,
    /// The record's index among those of the same section (`struct btf_ext_info_sec`), from 0: libbpf's "relo
    /// #N".
    pub index_in_section: u32,
    /// The record as the compiler wrote it.
    pub relo: CoreRelo,
    /// The instruction, if the record's offset is a multiple of 8.
    pub insn: Option<InsnIndex>,
    /// The local access, or the reason why the record has none.
    pub spec: Result<Spec, AccessStringError>,
    /// The index of the record's section in [`Relocs::code`], if there is a section of that name.
    pub(crate) section_index: Option<usize>,
    /// The index of the record's function in that section.
    pub(crate) function_index: Option<usize>,
}

impl Record<'_> {
    /// Returns the index of the record's section in [`Relocs::code`]; `None` if there is no section of that
    /// name.
    pub fn section_position(&self) -> Option<usize> {
        self.section_index
    }

    /// Returns the index of the record's section in [`Relocs::code`] and of its function in that section.
    pub fn function_position(&self) -> Option<(usize, usize)> {
        Some((self.section_index?, self.function_index?))
    }

    /// Returns the words of the access: the names of the members, the enumerator, or the type of a relocation
    /// of a whole type. `btf` is the object's BTF.
    fn access_words<'b>(&self, btf: &'b Btf<'_>) -> AccessWords<'b> {
        let Ok(spec) = &self.spec else { return AccessWords::default() };
        let names: Vec<_> = if spec.kind.is_type() {
            btf.ty(spec.root).map(Type::name).into_iter().collect()
        } else {
            spec.accessors.iter().filter_map(|accessor| accessor.name(btf)).collect()
        };
        let access = match spec.kind {
            kind if kind.is_type() => Access::Type,
            RelocKind::FieldExists => Access::ExistenceCheck,
            _ => Access::Use,
        };
        let composite = spec.accessors.iter().last().and_then(|accessor| btf.ty(accessor.ty)).map(Type::name);
        AccessWords {
            access,
            names: names.into_iter().filter(|name| !name.is_empty()).collect(),
            is_register: composite.is_some_and(|name| is_register_struct(name.essential().as_bytes())),
        }
    }
}

impl Function<'_> {
    /// Returns the instruction after the last one.
    const fn end(&self) -> InsnIndex {
        InsnIndex(self.start.0.saturating_add(self.len))
    }
}

/// The relocations of an object, in the order in which libbpf performs them.
#[derive(Clone)]
pub struct Relocs<'o> {
    btf: &'o Btf<'o>,
    code: &'o [CodeSection<'o>],
    records: Vec<Record<'o>>,
    lines: SourceLines<'o>,
}

impl<'o> Relocs<'o> {
    /// Collects the records of `ext`. Their types are in `btf`, their instructions in `code`.
    ///
    /// An invalid record is not an error here. The plan reports the error of the record.
    pub fn collect(
        btf: &'o Btf<'o>,
        ext: &BtfExt<'_>,
        code: &'o [CodeSection<'o>],
    ) -> Result<Self, RelocsError> {
        if btf.endian() != ext.endian() {
            return Err(RelocsError::Endian);
        }
        let mut section_indices = HashMap::new();
        for (index, section) in code.iter().enumerate() {
            section_indices.entry(section.name).or_insert(index);
        }
        let lines = SourceLines::collect(btf, ext);
        let mut records = Vec::new();
        for group in ext.core_relos() {
            let name = btf.name(group.name()).filter(|name| !name.is_empty());
            let section = name.ok_or(RelocsError::SectionName(group.name()))?;
            let section_index = section_indices.get(section.as_bytes()).copied();
            for (relo, index_in_section) in group.records().zip(0u32..) {
                let insn = (relo.insn_offset.0 % 8 == 0).then_some(InsnIndex(relo.insn_offset.0 / 8));
                let section_code = section_index.and_then(|index| code.get(index));
                let function_index = section_code.zip(insn).and_then(|(code, insn)| code.function_at(insn));
                let spec = spec::parse_access(btf, &relo);
                records.push(Record {
                    section,
                    index_in_section,
                    relo,
                    insn,
                    spec,
                    section_index,
                    function_index,
                });
            }
        }
        Ok(Self { btf, code, records, lines })
    }

    /// Returns the object's BTF.
    pub fn btf(&self) -> &'o Btf<'o> {
        self.btf
    }

    /// Returns the object's byte order.
    pub fn endian(&self) -> Endian {
        self.btf.endian()
    }

    /// Returns the sections of instructions.
    pub fn code(&self) -> &'o [CodeSection<'o>] {
        self.code
    }

    /// Returns the records in order.
    pub fn records(&self) -> &[Record<'o>] {
        &self.records
    }

    /// Returns the function that contains a record's instruction.
    pub fn function(&self, record: &Record<'o>) -> Option<&'o Function<'o>> {
        self.code.get(record.section_index?)?.functions.get(record.function_index?)
    }

    /// Returns the instruction of a record, as the compiler wrote it.
    pub fn insn(&self, record: &Record<'o>) -> Option<Slot> {
        let at = to_usize(record.relo.insn_offset.0);
        Slot::decode(self.endian(), self.code.get(record.section_index?)?.code.get(at..)?)
    }

    /// Returns the source line of a record's access. The line that contains the access may begin after the
    /// record's instruction, because compilers load offsets early. If no line of the function names the
    /// member, the access is only near the line: [`SourceLine::is_near`].
    pub fn source_line(&self, record: &Record<'o>) -> Option<SourceLine<'o>> {
        let function = self.function(record).map(|function| function.start..function.end());
        // The instruction of a load or store is in the line of its access.
        let is_memory_access = self.insn(record).is_some_and(|slot| slot.first().is_memory_access());
        let words = if is_memory_access { AccessWords::default() } else { record.access_words(self.btf) };
        let uses = if words.names.is_empty() { None } else { self.find_value_uses(record) };
        let offset = |insn: Option<InsnIndex>| {
            insn.and_then(|insn| insn.index().checked_mul(INSN_BYTES))
                .map(|offset| ByteOffset(to_u32(offset)))
        };
        let [value_sum, value_use] = uses.map_or([None; 2], |uses| [uses.sum, uses.used]).map(offset);
        let (section, insn) = (record.section.as_bytes(), record.relo.insn_offset);
        self.lines.find_access(&LineQuery { section, function, insn, value_sum, value_use, words })
    }

    /// Finds the instructions that take the value which a record's instruction loads.
    fn find_value_uses(&self, record: &Record<'o>) -> Option<ValueUses> {
        let code = self.code.get(record.section_index?)?.code;
        let function = self.function(record)?;
        let end = function.end().index().checked_mul(INSN_BYTES)?;
        Some(find_value_uses(self.endian(), code.get(..end)?, record.insn?))
    }
}

impl CodeSection<'_> {
    /// Returns the number of whole instruction slots.
    pub fn insn_count(&self) -> u32 {
        to_u32(self.code.len() / INSN_BYTES)
    }

    /// Returns the index of the function that contains an instruction (libbpf: `find_prog_by_sec_insn`).
    pub fn function_at(&self, insn: InsnIndex) -> Option<usize> {
        let index = self.functions.partition_point(|f| f.start <= insn).checked_sub(1)?;
        let function = self.functions.get(index)?;
        let offset = insn.0.checked_sub(function.start.0)?;
        (offset < function.len).then_some(index)
    }
}

impl fmt::Debug for CodeSection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeSection")
            .field("name", &Name::new(self.name))
            .field("code_bytes", &self.code.len())
            .field("function_count", &self.functions.len())
            .finish()
    }
}

impl fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &Name::new(self.name))
            .field("start", &self.start)
            .field("len", &self.len)
            .finish()
    }
}

impl fmt::Debug for Relocs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relocs")
            .field("endian", &self.endian())
            .field("section_count", &self.code.len())
            .field("record_count", &self.records.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Plan, Target,
        btf::Builder,
        ext::{ExtBuilder, ExtPart},
        insn::Insn,
        plan::{Decision, SkipReason},
    };
    use alloc::{format, sync::Arc, vec};

    /// Returns the BTF and `.BTF.ext` of three records on the same field. The first is in function `kept` of
    /// `.text`. The second is at instruction 3, outside any function, as where the linker drops a weak
    /// function. The section of the third does not exist.
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
            for debug in [format!("{relocs:?}"), format!("{plan:?}"), format!("{sections:?}")] {
                assert!(!debug.contains("183"), "the code 0xb7 of an instruction: {debug}");
            }
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
            let sources: Vec<_> = plan.iter().map(|p| p.source_line().map(|s| (s.line, s.column))).collect();
            assert_eq!(sources, [Some((41, 5)), Some((7, 0)), None], "lines are sorted by instruction first");
            assert_eq!(plan.get(0).unwrap().source_line().unwrap().text.as_bytes(), b"return s->a;");
            let indices: Vec<_> =
                relocs.records().iter().map(|r| (r.section.as_bytes(), r.index_in_section)).collect();
            assert_eq!(indices, [(&b".text"[..], 0), (b".text", 1), (b"gone", 0)]);
            let unselected = Plan::with_options(&relocs, &target, crate::plan::Options::default(), |_| false);
            assert_eq!(unselected.get(0).unwrap().decision(), Ok(Decision::Skip(SkipReason::NotSelected)));
        }
    }

    /// An access of two instructions: a load of the member's offset in line 1, and another instruction with
    /// r1 in line 2.
    struct Access {
        composite: &'static str,
        member: &'static str,
        lines: [&'static str; 2],
        second_opcode: u8,
    }

    impl Access {
        /// Returns the number of the access's line.
        fn line(&self, endian: Endian) -> u32 {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            let root = b.structure(self.composite, 4, &[(self.member, int, 0)]);
            let [text, access, file] = [".text", "0:0", "a.c"].map(|s| b.string(s));
            let mut words = Vec::new();
            for ((insn, line), source) in [(0, 1), (8, 2)].into_iter().zip(self.lines) {
                words.extend([insn, file.0, b.string(source).0, line << 10]);
            }
            let bytes =
                |words: &[u32]| words.iter().flat_map(|word| endian.u32_bytes(*word)).collect::<Vec<_>>();
            let mut ext = ExtBuilder::new(endian);
            ext.group(ExtPart::LineInfo, text, 16, &bytes(&words));
            ext.group(ExtPart::CoreRelo, text, 16, &bytes(&[0, root.0, access.0, 0]));
            let (btf, ext) = (Btf::parse(b.finish()).unwrap(), ext.finish());
            let load = Insn { code: 0xb7, dst: 1, ..Insn::default() };
            let second = Insn { code: self.second_opcode, dst: 2, src: 1, ..Insn::default() };
            let (code, start) = ([load, second].map(|insn| insn.encode(endian)).concat(), InsnIndex(0));
            let functions = vec![Function { name: b"f", start, len: 2 }];
            let sections = [CodeSection { name: b".text", code: &code, functions }];
            let relocs = Relocs::collect(&btf, &BtfExt::parse(&ext).unwrap(), &sections).unwrap();
            relocs.source_line(relocs.records().first().unwrap()).unwrap().line
        }
    }

    #[test]
    fn a_member_that_a_macro_hides_has_the_line_of_the_instruction_that_uses_its_offset() {
        let call = 0x85;
        let lines = ["a = f();", "g(MEMBER(c));"];
        let access = Access { composite: "s", member: "hidden", lines, second_opcode: call };
        assert_eq!([Endian::Little, Endian::Big].map(|endian| access.line(endian)), [2; 2]);
    }

    #[test]
    fn a_register_has_the_line_of_its_macro_and_container_of_that_of_its_sum() {
        let (no_use, subtract) = (0xb7, 0x1f);
        let lines = ["a = f();", "g(PT_REGS_PARM1(c));"];
        let register = Access { composite: "pt_regs", member: "di", lines, second_opcode: no_use };
        let other = Access { composite: "s", ..register };
        let lines = ["v = READ(t, mnt);", "m = container_of(v, struct mount, mnt);"];
        let sum = Access { composite: "mount", member: "mnt", lines, second_opcode: subtract };
        for endian in [Endian::Little, Endian::Big] {
            assert_eq!([&register, &other, &sum].map(|access| access.line(endian)), [2, 1, 2]);
        }
    }
}
