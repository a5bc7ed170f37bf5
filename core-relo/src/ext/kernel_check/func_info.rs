//! The types of the functions (kernel: `check_btf_func_early`, `check_btf_func`, `check_abnormal_return`).

use super::{Checker, InfoPlace, InfoRule};
use crate::{
    Name, TypeId,
    btf::{Element, Kind, Type},
    ext::{ExtRecord as _, FuncInfo},
    index::to_usize,
    insn::Insn,
};

/// The largest integer that counts as one (kernel: `btf_type_is_small_int`).
const INT_BYTES: u32 = 8;
/// The number of `bpf_tail_call`.
const TAIL_CALL: i32 = 12;

/// What a function does that not every function may do.
#[derive(Clone, Copy)]
struct Uses {
    packet_load: bool,
    tail_call: bool,
}

impl<'c> Checker<'c> {
    /// Checks the `func_info`.
    pub(super) fn check_func_info(&mut self) {
        let records = self.info.func_info.records;
        if records.is_empty() {
            self.check_without_func_info();
            return;
        }
        let starts = self.info.functions;
        let (found, functions) = (records.len(), starts.len());
        let count =
            if found == functions { Ok(()) } else { Err(InfoRule::FunctionCount { found, functions }) };
        let size = self.info.func_info.check_size(FuncInfo::SIZE);
        // Since exception callbacks exist, the types are needed before the functions are counted.
        let types_first = self.rules.exception_callbacks();
        let whole = if types_first { [size, Ok(())] } else { [count, size] };
        self.report_all(&InfoPlace::FuncInfo, whole);
        let mut previous = None;
        for (index, [insn, ty]) in (0u32..).zip(records) {
            let place = InfoPlace::FuncInfoRecord(index);
            let tail = self.info.func_info.check_tail(index);
            let order = check_order(*insn, previous);
            previous = Some(*insn);
            let start =
                if types_first || count.is_err() { Ok(()) } else { check_start(starts, index, *insn) };
            let function = self.function(*ty);
            let found = TypeId(*ty);
            let ty = if function.is_some() { Ok(()) } else { Err(InfoRule::FunctionType { found }) };
            self.report_all(&place, [tail, order, start, ty]);
            if !types_first && count.is_ok() {
                self.check_uses(index, function);
            }
        }
        if !types_first {
            return;
        }
        self.report_all(&InfoPlace::FuncInfo, [count]);
        if count.is_err() {
            return;
        }
        for (index, [insn, ty]) in (0u32..).zip(records) {
            self.report_all(&InfoPlace::FuncInfoRecord(index), [check_start(starts, index, *insn)]);
            let function = self.function(*ty);
            self.check_uses(index, function);
        }
    }

    /// Checks what a function does by its type.
    fn check_uses(&mut self, index: u32, function: Option<Type<'_>>) {
        let Some(function) = function.filter(|_| index > 0) else { return };
        let Some(uses) = self.uses(index) else { return };
        if !(uses.packet_load || uses.tail_call) || self.returns_number(function) {
            return;
        }
        let place = || InfoPlace::Function(Element::new(index, function.name()));
        if uses.packet_load {
            self.report(place(), InfoRule::PacketLoad);
        }
        if uses.tail_call {
            self.report(place(), InfoRule::TailCall);
        }
    }

    /// Checks what the functions do in a program without `func_info`.
    fn check_without_func_info(&mut self) {
        for (index, _) in (0u32..).zip(self.info.functions).skip(1) {
            let Some(uses) = self.uses(index) else { continue };
            let place = || InfoPlace::Function(Element::new(index, Name::new(b"")));
            if uses.packet_load {
                self.report(place(), InfoRule::PacketLoadWithoutInfo);
            }
            if uses.tail_call {
                self.report(place(), InfoRule::TailCallWithoutInfo);
            }
        }
    }

    /// Returns what a function does. `None` if there is no such function.
    fn uses(&self, index: u32) -> Option<Uses> {
        let (starts, index) = (self.info.functions, to_usize(index));
        let start = to_usize(*starts.get(index)?);
        let next = index.checked_add(1).and_then(|next| starts.get(next)).map(|next| to_usize(*next));
        let insns = self.info.insns.get(start..next.unwrap_or(self.info.insns.len()))?;
        Some(Uses {
            packet_load: insns.iter().any(Insn::is_packet_load),
            tail_call: insns.iter().any(is_tail_call),
        })
    }

    /// Returns the function of a record. `None` if the type is no FUNC.
    fn function(&self, ty: u32) -> Option<Type<'c>> {
        self.info.types?.ty(TypeId(ty)).filter(|ty| ty.kind() == Kind::Func)
    }

    /// Returns whether a function returns an integer or an enum.
    fn returns_number(&self, function: Type<'_>) -> bool {
        let Some(types) = self.info.types else { return false };
        let proto = function.target().and_then(|proto| types.ty(proto));
        let returned = proto.and_then(Type::target).map(|returned| types.strip(returned));
        // A chain of modifiers that is too long ends at no type.
        let Some(Ok(returned)) = returned else { return false };
        match returned.kind() {
            Kind::Int => returned.size_or_type() <= INT_BYTES,
            Kind::Enum => true,
            Kind::Enum64 => self.rules.knows(Kind::Enum64),
            _ => false,
        }
    }
}

/// Checks that a record follows the record before, or that the first begins at the first instruction.
const fn check_order(found: u32, previous: Option<u32>) -> Result<(), InfoRule> {
    match previous {
        None if found != 0 => Err(InfoRule::FirstFunction { found }),
        Some(previous) if found <= previous => Err(InfoRule::FunctionOrder { found, previous }),
        _ => Ok(()),
    }
}

/// Checks that a function begins at the instruction of a record.
fn check_start(starts: &[u32], index: u32, found: u32) -> Result<(), InfoRule> {
    match starts.get(to_usize(index)) {
        Some(start) if *start != found => Err(InfoRule::FunctionStart { found, start: *start }),
        _ => Ok(()),
    }
}

fn is_tail_call(insn: &Insn) -> bool {
    *insn == Insn { code: Insn::POISON.code, dst: insn.dst, src: 0, off: insn.off, imm: TAIL_CALL }
}
