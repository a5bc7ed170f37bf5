//! Generates a loader program from a load plan (libbpf: `gen_loader.c`).
//!
//! The program makes the requests of [`load::execute`](https://docs.rs/core-relo-loader) in the same order,
//! so that the kernel holds the same maps and programs afterwards. Unlike libbpf's, the program writes the
//! descriptors of maps into the instructions, so that the tags of programs are those of other loads. It has
//! no limit of its own on the number of maps, programs and instructions.

mod code;
mod data;
mod error;
mod maps;
mod programs;
mod support;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;

pub use error::LoaderProgramError;

use super::{
    context::{map_fd_offset, program_fd_offset},
    file::{LoaderFile, LoaderFileError, LoaderMap, LoaderProgram},
    step::StepKind,
};
use crate::{
    index::MapIndex,
    internal::{InternalError, Invariant as _},
    load_plan::{LoadPlan, MapPlan, ProgramPlan, SlotPlan},
    sha256::sha256,
};
use code::{CONTEXT, Code, Condition, R0, R1, R2, R3, RESULT, Size};
use core_relo::Endian;
use data::{Attributes, Data};
use symbols::Symbols;
use tables::Tables;

/// The error number for data with a wrong hash (`EINVAL`, as in libbpf).
const WRONG_HASH: i32 = -22;

/// Options of a loader program.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct LoaderOptions {
    /// Whether the program checks the hash of its data, so that it can be signed. Such a program needs Linux
    /// 6.18.
    pub checks_data: bool,
    /// The name of the kernel whose CO-RE relocations the plan has; empty if the kernel relocates.
    pub relocated_for: String,
}

impl LoaderFile {
    /// Generates a loader program from a plan with [late
    /// binding](crate::load_plan::TargetKernel::late_binding).
    ///
    /// The pins, the BPF token and the bound read-only data of a plan are not part of the program.
    pub fn generate(plan: &LoadPlan, options: &LoaderOptions) -> Result<Self, LoaderProgramError> {
        support::check(plan)?;
        let mut generator = Generator::new(plan, options.checks_data)?;
        generator.emit()?;
        let maps = generator.created_maps.iter().map(|map| Ok(describe_map(plan.map(*map)?)));
        let maps = maps.collect::<Result<Vec<_>, InternalError>>()?;
        let data = generator.data.finish();
        // The hash is known once the data is complete. Its place in the instructions was reserved.
        let mut instructions = generator.code.finish();
        if options.checks_data {
            let hash = generator.hash.invariant("a program that checks its data has a place for the hash")?;
            hash.write(&mut instructions, sha256(&data))?;
        }
        let file = Self {
            endian: Endian::native(),
            name: plan.name().to_owned(),
            relocated_for: options.relocated_for.clone(),
            checks_data: options.checks_data,
            maps,
            programs: plan.programs().iter().map(describe_program).collect(),
            instructions,
            data,
            signatures: None,
        };
        file.check()?;
        Ok(file)
    }
}

/// A generator of one loader program.
struct Generator<'p> {
    plan: &'p LoadPlan,
    checks_data: bool,
    /// The maps that are created, in order.
    created_maps: Vec<MapIndex>,
    symbols: Symbols,
    code: Code,
    data: Data,
    tables: Tables,
    hash: Option<HashPlace>,
}

impl<'p> Generator<'p> {
    fn new(plan: &'p LoadPlan, checks_data: bool) -> Result<Self, LoaderProgramError> {
        let created = MapIndex::enumerate(plan.maps()).filter(|(_, map)| map.autocreate());
        let created_maps: Vec<_> = created.map(|(index, _)| index).collect();
        let (symbols, mut data) = (Symbols::collect(plan), Data::default());
        let tables = Tables::new(&mut data, symbols.len(), created_maps.len(), plan.programs().len())?;
        let (maps, programs) = (created_maps.len(), plan.programs().len());
        // The limit of the context keeps all offsets of the context in range.
        if program_fd_offset(maps, programs).is_none_or(|bytes| bytes > crate::limits::LOADER_CONTEXT_BYTES) {
            return Err(LoaderFileError::Context { maps, programs }.into());
        }
        Ok(Self { plan, checks_data, created_maps, symbols, code: Code::default(), data, tables, hash: None })
    }

    /// Emits the whole program.
    fn emit(&mut self) -> Result<(), LoaderProgramError> {
        let plan = self.plan;
        self.code.copy(CONTEXT, R1);
        let over = self.code.jump(Condition::Always, R0, 0);
        self.code.begin_cleanup();
        let (table, count) = self.tables.all_fds()?;
        self.code.close_all(table, count)?;
        self.code.copy(R0, RESULT);
        self.code.exit();
        self.code.land(over)?;
        if self.checks_data {
            self.check_hash()?;
        }
        self.load_btf()?;
        for (slot, map) in self.created_maps.clone().into_iter().enumerate() {
            self.load_map(slot, plan.map(map)?)?;
        }
        self.fill_slots(|target| matches!(target, SlotPlan::Map(_)))?;
        self.find_symbols()?;
        let license = self.data.add_text(plan.license())?;
        for (slot, program) in plan.programs().iter().enumerate() {
            self.load_program(slot, program, license)?;
        }
        self.fill_slots(|target| matches!(target, SlotPlan::Program(_)))?;
        self.finish()
    }

    /// Compares the kernel's hash of the map with the hash of the data.
    fn check_hash(&mut self) -> Result<(), LoaderProgramError> {
        self.code.mark(StepKind::CheckData, 0, 0)?;
        self.code.set(RESULT, WRONG_HASH);
        let mut places = Vec::new();
        for offset in [0, 8, 16, 24] {
            // The kernel's `struct bpf_map` begins with the hash.
            self.code.set_map(R1);
            self.code.load_from(Size::Long, R2, R1, offset);
            places.push(self.code.len());
            self.code.set_wide(R3, 0, 0);
            self.code.check_equal(R2, R3)?;
        }
        self.hash = Some(HashPlace(places));
        Ok(())
    }

    /// Loads the BTF of the object.
    fn load_btf(&mut self) -> Result<(), LoaderProgramError> {
        /// `BPF_BTF_LOAD`.
        const LOAD: i32 = 18;
        /// Bytes of the attributes, before the offsets of fields.
        const BYTES: usize = 28;
        const BTF: usize = 0;
        const LOG_BUF: usize = 8;
        const BTF_SIZE: usize = 16;
        const LOG_SIZE: usize = 20;
        const LOG_LEVEL: usize = 24;
        let Some(btf) = self.plan.btf() else { return Ok(()) };
        let size = u32::try_from(btf.len()).invariant("BTF has less than 4 GiB")?;
        let btf = self.data.add(btf)?;
        let attributes = self.data.add(Attributes::<BYTES>::new().set(BTF_SIZE, size).bytes())?;
        self.code.store_address(field(attributes, BTF)?, btf);
        self.write_log_fields([
            field(attributes, LOG_LEVEL)?,
            field(attributes, LOG_SIZE)?,
            field(attributes, LOG_BUF)?,
        ]);
        self.code.mark(StepKind::LoadBtf, 0, 0)?;
        self.code.request(LOAD, attributes, BYTES)?;
        self.code.check_result()?;
        self.code.store(Size::Word, self.tables.btf_fd()?, RESULT);
        Ok(())
    }

    /// Closes the BTF of the object and of modules, and hands the descriptors of maps and programs to the
    /// caller.
    fn finish(&mut self) -> Result<(), LoaderProgramError> {
        let (table, count) = self.tables.temporary_fds()?;
        self.code.close_all(table, count)?;
        let map_count = self.created_maps.len();
        for map in 0..map_count {
            self.code.load(Size::Word, R0, self.tables.map_fd(map)?);
            self.code.store_to(Size::Word, CONTEXT, context_offset(map_fd_offset(map))?, R0);
        }
        for program in 0..self.plan.programs().len() {
            self.code.load(Size::Word, R0, self.tables.program_fd(program)?);
            self.code.store_to(
                Size::Word,
                CONTEXT,
                context_offset(program_fd_offset(map_count, program))?,
                R0,
            );
        }
        self.code.set(R0, 0);
        self.code.exit();
        Ok(())
    }

    /// Returns the place of a map among the created maps.
    fn map_slot(&self, map: MapIndex) -> Option<usize> {
        self.created_maps.binary_search(&map).ok()
    }
}

/// The instructions that load the four parts of the data's hash.
struct HashPlace(Vec<usize>);

impl HashPlace {
    /// Writes the hash into the instructions.
    fn write(&self, instructions: &mut [u8], hash: [u8; 32]) -> Result<(), InternalError> {
        const PLACE: &str = "the hash is compared in four parts";
        for (insn, part) in self.0.iter().zip(hash.chunks_exact(8)) {
            // The parts are 64-bit loads from memory, in the machine's byte order.
            let value = Endian::native().u64(part, 0).invariant(PLACE)?;
            for (imm, shift) in [(4, 0), (12, 32)] {
                let offset = insn.checked_mul(8).and_then(|start| start.checked_add(imm));
                let place = offset.and_then(|offset| instructions.get_mut(offset..)?.first_chunk_mut());
                let [.., b4, b5, b6, b7] = Endian::Big.u64_bytes(value >> shift);
                *place.invariant(PLACE)? = Endian::native().u32_bytes(Endian::Big.word([b4, b5, b6, b7]));
            }
        }
        Ok(())
    }
}

/// Returns the offset of a field of attributes in the data.
fn field(attributes: u32, offset: usize) -> Result<u32, InternalError> {
    let offset = u32::try_from(offset).ok().and_then(|offset| attributes.checked_add(offset));
    offset.invariant("attributes are in the data")
}

/// Returns an offset in the context.
fn context_offset(offset: Option<usize>) -> Result<i16, LoaderProgramError> {
    let offset = offset.and_then(|offset| i16::try_from(offset).ok());
    Ok(offset.invariant("the context is short")?)
}

/// Creates the error for a program that cannot be loaded.
fn unsupported_program(program: &ProgramPlan, reason: &'static str) -> LoaderProgramError {
    LoaderProgramError::Unsupported { part: format!("program `{}`", program.name()).into(), reason }
}

/// Describes a map for the process that executes the loader program.
fn describe_map(map: &MapPlan) -> LoaderMap {
    LoaderMap {
        name: map.name().to_owned(),
        role: map.role(),
        attributes: map.attributes(),
        entry_per_cpu: map.has_entry_per_cpu(),
    }
}

/// Describes a program for the process that executes the loader program.
fn describe_program(program: &ProgramPlan) -> LoaderProgram {
    LoaderProgram {
        name: program.name().to_owned(),
        section: program.section().to_owned(),
        program_type: program.program_type(),
        attach_type: program.attach_type(),
        autoattach: program.autoattach(),
    }
}
