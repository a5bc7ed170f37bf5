//! Finds the functions, variables and types of the kernel by name.

use super::{
    Generator, LoaderProgramError,
    code::{Condition, R0, R1, R2, R3, R4, RESULT, Size, helper},
    tables::Tables,
};
use crate::{
    internal::Invariant as _,
    load_plan::{KernelSymbol, KernelSymbolKind, LoadPlan, ProgramPlan},
    loader_program::step::StepKind,
};
use alloc::collections::BTreeMap;
use core_relo::{
    Endian,
    insn::{Insn, opcode, pseudo},
};

/// `-ENOENT`.
const NOT_FOUND: i32 = -2;

/// `-EINVAL`: the result of a search by name in a kernel without BTF.
const NO_BTF: i32 = -22;

/// The symbols of a plan, each once. A symbol is weak if all references are.
#[derive(Debug, Default)]
pub(super) struct Symbols(BTreeMap<(String, KernelSymbolKind), (usize, bool)>);

impl Symbols {
    pub(super) fn collect(plan: &LoadPlan) -> Self {
        let mut symbols = Self::default();
        for program in plan.programs() {
            let targets = program.attach().late_target().into_iter();
            let references = program.symbol_refs().iter().map(|reference| &reference.symbol);
            for symbol in targets.chain(references) {
                let index = symbols.0.len();
                let entry = symbols.0.entry((symbol.name.clone(), symbol.kind)).or_insert((index, true));
                entry.1 &= symbol.is_weak;
            }
        }
        symbols
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the index of a symbol.
    fn index_of(&self, symbol: &KernelSymbol) -> Result<usize, LoaderProgramError> {
        let entry = self.0.get(&(symbol.name.clone(), symbol.kind));
        Ok(entry.invariant("each symbol of a plan is collected")?.0)
    }
}

/// Returns the errors of a search that leave a symbol missing. Every other error ends the load.
const fn accepted_errors(kind: KernelSymbolKind, is_weak: bool) -> &'static [i32] {
    match (is_weak, btf_kind(kind)) {
        (true, Some(_)) => &[NOT_FOUND, NO_BTF],
        (true, None) => &[NOT_FOUND],
        (false, _) => &[],
    }
}

impl Generator<'_> {
    /// Finds each symbol. Its type id and the descriptor of its module, or its address, are in the tables
    /// afterwards.
    pub(super) fn find_symbols(&mut self) -> Result<(), LoaderProgramError> {
        for ((name, kind), (index, is_weak)) in core::mem::take(&mut self.symbols.0) {
            let name_offset = self.data.add_text(name.as_bytes())?;
            self.code.mark(StepKind::FindSymbol, index, name_offset)?;
            let name_len = name.len().checked_add(1).and_then(|len| i32::try_from(len).ok());
            let name_len = name_len.invariant("names of symbols are short")?;
            self.code.set_address(R1, name_offset);
            self.code.set(R2, name_len);
            if let Some(number) = btf_kind(kind) {
                self.code.set(R3, number);
                self.code.set(R4, 0);
                self.code.call(helper::FIND_BY_NAME);
            } else {
                self.code.set(R3, 0);
                self.code.set_address(R4, self.tables.symbol_value(index)?);
                self.code.call(helper::KALLSYMS_LOOKUP);
            }
            self.code.copy(RESULT, R0);
            let missing = accepted_errors(kind, is_weak)
                .iter()
                .map(|errno| self.code.jump(Condition::Equal, RESULT, *errno));
            let missing: Vec<_> = missing.collect();
            self.code.check_result()?;
            if btf_kind(kind).is_some() {
                // The low half is the type id, the high half the descriptor of a module's BTF.
                self.code.store(Size::Word, self.tables.symbol_value(index)?, RESULT);
                self.code.shift_right(RESULT, 32);
                self.code.store(Size::Word, self.tables.symbol_fd(index)?, RESULT);
            }
            for jump in missing {
                self.code.land(jump)?;
            }
            self.symbols.0.insert((name, kind), (index, is_weak));
        }
        Ok(())
    }

    /// Writes the symbols of a program to its instructions, which begin at `insns` in the data.
    pub(super) fn write_symbols(
        &mut self,
        program: &ProgramPlan,
        insns: u32,
    ) -> Result<(), LoaderProgramError> {
        for reference in program.symbol_refs() {
            let symbol = self.symbols.index_of(&reference.symbol)?;
            let at = |byte: u32| {
                let offset = reference.insn.checked_mul(8).and_then(|start| start.checked_add(byte));
                offset.and_then(|offset| insns.checked_add(offset)).invariant("an instruction is in the data")
            };
            let (value, fd) = (self.tables.symbol_value(symbol)?, self.tables.symbol_fd(symbol)?);
            let start = usize::try_from(reference.insn).ok().and_then(|insn| insn.checked_mul(8));
            let insn = start.and_then(|start| program.insns().get(start..)?.first_chunk());
            let insn = insn.invariant("a reference is at an instruction of the program")?;
            let Insn { code, dst, .. } = Insn::decode(Endian::native(), *insn);
            if reference.symbol.kind == KernelSymbolKind::Address {
                let (low, high) = if Endian::native() == Endian::Little { (0, 4) } else { (4, 0) };
                for (half, imm) in [(low, 4), (high, 12)] {
                    let half = value.checked_add(half).invariant("an address has 8 bytes")?;
                    self.code.load(Size::Word, R0, half);
                    self.code.store(Size::Word, at(imm)?, R0);
                }
            } else if code == opcode::CALL {
                let index =
                    Tables::fd_array_index(symbol).ok_or_else(|| LoaderProgramError::Unsupported {
                        part: format!("program `{}`", program.name()).into(),
                        reason: "the programs refer to more than 32,766 symbols of the kernel",
                    })?;
                // A call of a weak function that the kernel lacks stays poisoned.
                self.code.load(Size::Word, R0, value);
                let missing = self.code.jump(Condition::Equal, R0, 0);
                self.code.store(Size::Word, at(4)?, R0);
                self.code.store_constant(Size::Byte, at(1)?, registers_byte(0, pseudo::KFUNC_CALL).into());
                self.code.load(Size::Word, R0, fd);
                let is_kernel = self.code.jump(Condition::Equal, R0, 0);
                self.code.store_constant(Size::Half, at(2)?, index.into());
                self.code.land(is_kernel)?;
                self.code.land(missing)?;
            } else {
                // A weak symbol that the kernel lacks leaves the load of 0.
                self.code.load(Size::Word, R0, value);
                let missing = self.code.jump(Condition::Equal, R0, 0);
                self.code.store(Size::Word, at(4)?, R0);
                self.code.store_constant(Size::Byte, at(1)?, registers_byte(dst, pseudo::BTF_ID).into());
                self.code.load(Size::Word, R0, fd);
                self.code.store(Size::Word, at(12)?, R0);
                self.code.land(missing)?;
            }
        }
        Ok(())
    }

    /// Writes the attach target of a program to the attributes of its load: type id and module.
    pub(super) fn write_attach_target(
        &mut self,
        target: &KernelSymbol,
        type_id: u32,
        module: u32,
    ) -> Result<(), LoaderProgramError> {
        let symbol = self.symbols.index_of(target)?;
        self.code.load(Size::Word, R0, self.tables.symbol_value(symbol)?);
        self.code.store(Size::Word, type_id, R0);
        self.code.load(Size::Word, R0, self.tables.symbol_fd(symbol)?);
        self.code.store(Size::Word, module, R0);
        Ok(())
    }
}

/// Returns the byte of an instruction with the registers.
const fn registers_byte(dst: u8, src: u8) -> u8 {
    match Endian::native() {
        Endian::Little => (src << 4) | dst,
        Endian::Big => (dst << 4) | src,
    }
}

/// Returns the BTF kind of a symbol (`BTF_KIND_*`). Returns `None` for an address.
const fn btf_kind(kind: KernelSymbolKind) -> Option<i32> {
    match kind {
        KernelSymbolKind::Function => Some(12),
        KernelSymbolKind::Variable => Some(14),
        KernelSymbolKind::Typedef => Some(8),
        KernelSymbolKind::Address => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without BTF answers a search by name with `EINVAL`, as Debian's 6.1 for s390x does. Its
    /// symbols have addresses.
    #[test]
    fn kernels_without_btf_lack_weak_symbols() {
        for kind in [KernelSymbolKind::Function, KernelSymbolKind::Variable] {
            assert_eq!(accepted_errors(kind, true), [NOT_FOUND, NO_BTF]);
            assert!(accepted_errors(kind, false).is_empty(), "a strong symbol must exist");
        }
        assert_eq!(accepted_errors(KernelSymbolKind::Address, true), [NOT_FOUND]);
    }
}
