//! Loads programs.

use super::{
    Generator, LoaderProgramError,
    code::{CONTEXT, R0, RESULT, Size},
    data::Attributes,
};
use crate::{
    internal::Invariant as _,
    load_plan::{FixupTarget, ProgramPlan},
    loader_program::{
        context::{LOG_BUF, LOG_LEVEL, LOG_SIZE},
        step::StepKind,
    },
};
use core_relo::Endian;

/// `BPF_PROG_LOAD`.
const LOAD: i32 = 5;

/// Fields of the attributes of `BPF_PROG_LOAD`.
mod load {
    pub(super) const BYTES: usize = 140;
    pub(super) const PROG_TYPE: usize = 0;
    pub(super) const INSN_CNT: usize = 4;
    pub(super) const INSNS: usize = 8;
    pub(super) const LICENSE: usize = 16;
    pub(super) const LOG_LEVEL: usize = 24;
    pub(super) const LOG_SIZE: usize = 28;
    pub(super) const LOG_BUF: usize = 32;
    pub(super) const PROG_FLAGS: usize = 44;
    pub(super) const NAME: usize = 48;
    pub(super) const IFINDEX: usize = 64;
    pub(super) const ATTACH_TYPE: usize = 68;
    pub(super) const BTF_FD: usize = 72;
    pub(super) const FUNC_INFO_REC_SIZE: usize = 76;
    pub(super) const FUNC_INFO: usize = 80;
    pub(super) const FUNC_INFO_CNT: usize = 88;
    pub(super) const LINE_INFO_REC_SIZE: usize = 92;
    pub(super) const LINE_INFO: usize = 96;
    pub(super) const LINE_INFO_CNT: usize = 104;
    pub(super) const ATTACH_BTF_ID: usize = 108;
    pub(super) const ATTACH_BTF_FD: usize = 112;
    pub(super) const CORE_RELO_CNT: usize = 116;
    pub(super) const FD_ARRAY: usize = 120;
    pub(super) const CORE_RELOS: usize = 128;
    pub(super) const CORE_RELO_REC_SIZE: usize = 136;
}

/// An array of records in the data.
struct Records {
    offset: u32,
    count: u32,
}

impl Generator<'_> {
    /// Loads a program.
    pub(super) fn load_program(
        &mut self,
        slot: usize,
        program: &ProgramPlan,
        license: u32,
    ) -> Result<(), LoaderProgramError> {
        let name = self.data.add_text(program.name().as_bytes())?;
        let has_btf = self.plan.btf().is_some();
        let mut attributes = Attributes::<{ load::BYTES }>::new()
            .set(load::PROG_TYPE, program.program_type().number())
            .set(load::PROG_FLAGS, program.flags())
            .set_name(load::NAME, program.kernel_name())
            .set(load::IFINDEX, program.ifindex())
            .set(load::ATTACH_TYPE, program.attach_type());
        let insns = self.add_records(program.insns(), 8)?;
        attributes = attributes.set(load::INSN_CNT, insns.count);
        let mut pointers = vec![(load::INSNS, insns.offset), (load::LICENSE, license)];
        for (records, bytes, pointer, count, size_field) in [
            (program.func_info(), 8, load::FUNC_INFO, load::FUNC_INFO_CNT, load::FUNC_INFO_REC_SIZE),
            (program.line_info(), 16, load::LINE_INFO, load::LINE_INFO_CNT, load::LINE_INFO_REC_SIZE),
            (&late_relocs(program)?, 16, load::CORE_RELOS, load::CORE_RELO_CNT, load::CORE_RELO_REC_SIZE),
        ] {
            if records.is_empty() || !has_btf {
                continue;
            }
            let records = self.add_records(records, bytes)?;
            attributes = attributes.set(count, records.count).set(size_field, bytes);
            pointers.push((pointer, records.offset));
        }
        let needs_btf = pointers.iter().any(|(field, _)| !matches!(*field, load::INSNS | load::LICENSE));
        if !program.symbol_refs().is_empty() {
            pointers.push((load::FD_ARRAY, self.tables.fd_array()));
        }
        let attributes = self.data.add(attributes.bytes())?;
        let field = |offset| super::field(attributes, offset);
        for (offset, target) in pointers {
            self.code.store_address(field(offset)?, target);
        }
        self.write_log_fields([field(load::LOG_LEVEL)?, field(load::LOG_SIZE)?, field(load::LOG_BUF)?]);
        if needs_btf {
            self.code.load(Size::Word, R0, self.tables.btf_fd()?);
            self.code.store(Size::Word, field(load::BTF_FD)?, R0);
        }
        if let Some(target) = program.attach().late_target() {
            self.write_attach_target(target, field(load::ATTACH_BTF_ID)?, field(load::ATTACH_BTF_FD)?)?;
        }
        self.write_map_fds(program, insns.offset)?;
        self.write_symbols(program, insns.offset)?;
        self.code.mark(StepKind::LoadProgram, slot, name)?;
        self.code.request(LOAD, attributes, load::BYTES)?;
        self.code.check_result()?;
        self.code.store(Size::Word, self.tables.program_fd(slot)?, RESULT);
        Ok(())
    }

    /// Copies the fields of the log from the context: level, size, buffer.
    pub(super) fn write_log_fields(&mut self, [level, size, buffer]: [u32; 3]) {
        let fields =
            [(Size::Word, LOG_LEVEL, level), (Size::Word, LOG_SIZE, size), (Size::Long, LOG_BUF, buffer)];
        for (bytes, from, to) in fields {
            self.code.load_from(bytes, R0, CONTEXT, from);
            self.code.store(bytes, to, R0);
        }
    }

    /// Writes the descriptors of maps to the instructions.
    fn write_map_fds(&mut self, program: &ProgramPlan, insns: u32) -> Result<(), LoaderProgramError> {
        for fixup in program.fixups() {
            let FixupTarget::Map(map) = fixup.target() else {
                return Err(super::unsupported_program(program, "it refers to the BTF of a kernel module"));
            };
            let slot = self.map_slot(map).invariant("each map that an instruction refers to is created")?;
            let imm = fixup.insn().checked_mul(8).and_then(|start| start.checked_add(4));
            let imm =
                imm.and_then(|imm| insns.checked_add(imm)).invariant("an instruction is in the data")?;
            self.code.load(Size::Word, R0, self.tables.map_fd(slot)?);
            self.code.store(Size::Word, imm, R0);
        }
        Ok(())
    }

    /// Adds an array of records to the data.
    fn add_records(&mut self, records: &[u8], bytes: u32) -> Result<Records, LoaderProgramError> {
        let count = u32::try_from(records.len()).ok().and_then(|len| len.checked_div(bytes));
        let count = count.invariant("the records of a program are countable")?;
        Ok(Records { offset: self.data.add(records)?, count })
    }
}

/// Returns the CO-RE relocations of a program (`struct bpf_core_relo`).
fn late_relocs(program: &ProgramPlan) -> Result<Vec<u8>, LoaderProgramError> {
    let mut out = Vec::new();
    for reloc in program.late_relocs() {
        let offset = reloc.insn.checked_mul(8).invariant("a program has at most a million instructions")?;
        Endian::native().put_u32(&mut out, offset);
        for word in reloc.words {
            Endian::native().put_u32(&mut out, word);
        }
    }
    Ok(out)
}
