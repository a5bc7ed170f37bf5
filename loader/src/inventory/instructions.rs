//! The instructions of programs in the kernel, annotated with functions, source lines, maps and call targets.

use super::{BtfCache, KernelSymbols};
use crate::sys::{InfoError, MapInfo, ObjectKind, ProgramInfo, ProgramLines};
use alloc::sync::Arc;
use core_relo::{
    Endian, InsnIndex, Name, StrOffset, TypeId,
    btf::{Btf, Kind},
    explain::CType,
    insn::{Class, Helper, Insn, Slot, Slots},
};
use std::{collections::HashMap, os::fd::AsFd};

/// An instruction of a program in the kernel, of one or two slots.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProgramInstruction {
    /// The number of its first slot.
    pub insn: u32,
    /// The slots.
    pub slot: Slot,
    /// The signature of the function that begins with this instruction.
    pub function_signature: Option<String>,
    /// The name of the function that contains the instruction.
    pub function: Option<Arc<str>>,
    /// The instruction in the notation of the kernel, with the names of functions and maps.
    pub text: String,
    /// The target of a call.
    pub call: Option<CallTarget>,
    /// The map whose address the instruction loads.
    pub map: Option<LoadedMapRef>,
    /// The source line that begins with this instruction.
    pub source: Option<ProgramSourceLine>,
}

/// The target of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallTarget {
    /// `helper`, `kfunc` or `function`.
    pub kind: &'static str,
    /// The name, if it is known.
    pub name: Option<String>,
}

/// The map whose address an instruction loads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedMapRef {
    /// The id.
    pub id: u32,
    /// The name, if the map can be opened and has one.
    pub name: Option<String>,
    /// The offset into the map's value, if the instruction loads the address of the value.
    pub offset: Option<u32>,
}

/// A source line of a program in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramSourceLine {
    /// The file, as the compiler's command line names it.
    pub file: String,
    /// The line number, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The line's text.
    pub text: String,
}

/// The sources of annotations for the code of one program.
///
/// ```no_run
/// use core_relo_loader::inventory::{
///     Annotator, BtfCache, KernelSymbols, ObjectKind, ProgramInfo, translated_code,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = ObjectKind::Program.open(7)?;
/// let (symbols, mut btfs) = (KernelSymbols::read(), BtfCache::default());
/// let annotator = Annotator::query(&program, &ProgramInfo::query(&program)?, &symbols, &mut btfs)?;
/// for instruction in annotator.annotate(&translated_code(&program)?, &mut btfs) {
///     println!("{}: {}", instruction.insn, instruction.text);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Annotator<'s> {
    btf: Option<Arc<Btf<'static>>>,
    /// The function and source line records.
    records: ProgramLines,
    jited: bool,
    symbols: &'s KernelSymbols,
}

impl ProgramInstruction {
    fn new(insn: u32, slot: Slot) -> Self {
        let text = slot.to_string();
        Self {
            insn,
            slot,
            function_signature: None,
            function: None,
            text,
            call: None,
            map: None,
            source: None,
        }
    }

    /// Decodes instructions without annotations.
    pub fn decode(insns: &[u8]) -> Vec<Self> {
        Slots::new(Endian::native(), insns).map(|(InsnIndex(insn), slot)| Self::new(insn, slot)).collect()
    }
}

impl<'s> Annotator<'s> {
    /// Reads the BTF of a program and its function and line records.
    pub fn query(
        program: &impl AsFd,
        info: &ProgramInfo,
        symbols: &'s KernelSymbols,
        btfs: &mut BtfCache,
    ) -> Result<Self, InfoError> {
        let btf = btfs.get(info.btf_id);
        let records = if btf.is_some() { ProgramLines::query(program)? } else { ProgramLines::default() };
        Ok(Self { btf, records, jited: info.jited_prog_len != 0, symbols })
    }

    /// Returns the function and source line records of the program. Without BTF, there are none.
    pub const fn records(&self) -> &ProgramLines {
        &self.records
    }

    /// Decodes and annotates instructions.
    pub fn annotate(&self, insns: &[u8], btfs: &mut BtfCache) -> Vec<ProgramInstruction> {
        let functions: HashMap<u32, TypeId> =
            self.records.functions.iter().map(|[insn, ty]| (*insn, TypeId(*ty))).collect();
        let sources: HashMap<u32, &[u32; 4]> =
            self.records.lines.iter().map(|record| (record[0], record)).collect();
        let mut maps = HashMap::new();
        let mut function = None;
        let mut instructions = Vec::new();
        for (InsnIndex(insn), slot) in Slots::new(Endian::native(), insns) {
            let mut line = self.annotate_slot(slot, insn, &functions, btfs);
            if let Some(ty) = functions.get(&insn) {
                line.function_signature = self.signature(*ty);
                function = self.function_name(*ty).map(Arc::from);
            }
            line.function.clone_from(&function);
            line.source = sources.get(&insn).and_then(|record| self.source_line(record));
            if let Some(map) = &mut line.map {
                let name = maps.entry(map.id).or_insert_with(|| map_name(map.id));
                map.name.clone_from(name);
                line.text = format!("{}{}", line.text, map_text(map));
            }
            instructions.push(line);
        }
        instructions
    }

    fn annotate_slot(
        &self,
        slot: Slot,
        insn_number: u32,
        functions: &HashMap<u32, TypeId>,
        btfs: &mut BtfCache,
    ) -> ProgramInstruction {
        let insn = slot.first();
        let mut line = ProgramInstruction::new(insn_number, slot);
        let function_at = |distance: i64| {
            let target = i64::from(insn_number).checked_add(distance)?.checked_add(1)?;
            self.function_name(*functions.get(&u32::try_from(target).ok()?)?)
        };
        match (insn.class(), slot.second()) {
            (Class::Jmp, None) if insn.code == 0x85 => {
                let call = self.call_target(insn, function_at, btfs);
                line.text = match &call {
                    CallTarget { name: Some(name), .. } => format!("call {name}"),
                    CallTarget { kind: "function", .. } if self.jited => format!("call pc{:+}", insn.off),
                    CallTarget { kind, .. } => format!("call {kind}#{}", insn.imm),
                };
                line.call = Some(call);
            }
            (Class::Jmp | Class::Jmp32, None) => {
                if let Some(target) = insn.jump_target(insn_number) {
                    line.text = format!("{} <{target}>", line.text);
                }
            }
            (_, Some(second)) => match insn.src {
                1 => set_map(&mut line, insn, None),
                2 => set_map(&mut line, insn, Some(second.imm.cast_unsigned())),
                4 => {
                    let name = function_at(insn.imm.into());
                    let name = name.unwrap_or_else(|| format!("pc{:+}", insn.imm));
                    line.text = format!("r{} = &{name}", insn.dst);
                }
                0 => {
                    if let Some(name) = slot.imm64().and_then(|address| self.symbols.name_at(address)) {
                        line.text = format!("r{} = &{name}", insn.dst);
                    }
                }
                _ => {}
            },
            _ => {}
        }
        line
    }

    fn call_target(
        &self,
        insn: Insn,
        function_at: impl Fn(i64) -> Option<String>,
        btfs: &mut BtfCache,
    ) -> CallTarget {
        let symbol = || self.symbols.call_target(insn.imm).map(str::to_owned);
        match insn.src {
            // For the interpreter, the kernel has replaced the offset of the called function.
            1 if !self.jited => CallTarget { kind: "function", name: None },
            1 => CallTarget { kind: "function", name: function_at(insn.off.into()) },
            2 => {
                let by_type = || {
                    let kernel = btfs.kernel().filter(|_| insn.off == 0)?;
                    let ty = kernel.ty(TypeId(insn.imm.cast_unsigned()))?;
                    (ty.kind() == Kind::Func).then(|| ty.name().to_string())
                };
                CallTarget { kind: "kfunc", name: symbol().or_else(by_type) }
            }
            _ => {
                // A tail call keeps the helper number; in other calls, an address has replaced it.
                let by_number = || Helper::of_call(insn.imm).name().map(|name| format!("bpf_{name}"));
                CallTarget { kind: "helper", name: symbol().or_else(by_number) }
            }
        }
    }

    /// Returns a function's name.
    pub fn function_name(&self, function: TypeId) -> Option<String> {
        Some(self.btf.as_ref()?.ty(function)?.name().to_string())
    }

    /// Returns a function's signature: `int handle_exec(struct trace_event_raw_sched_process_exec *ctx)`.
    pub fn signature(&self, function: TypeId) -> Option<String> {
        let btf = self.btf.as_ref()?;
        let func = btf.ty(function)?;
        let proto = btf.ty(func.target()?)?;
        let params: Vec<_> = proto
            .params()
            .take(16)
            .map(|p| format!("{} {}", CType::new(btf, p.ty), p.name).trim_end().to_owned().replace("* ", "*"))
            .collect();
        let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        Some(format!("{} {}({params})", CType::new(btf, proto.target()?), func.name()).replace("* ", "*"))
    }

    /// Returns the source line of a record.
    pub fn source_line(&self, [_, file, text, position]: &[u32; 4]) -> Option<ProgramSourceLine> {
        let btf = self.btf.as_ref()?;
        // Tabs become spaces before the text is escaped: a string in the source may contain `\t`.
        let tab_to_space = |byte: &u8| if *byte == b'\t' { b' ' } else { *byte };
        let text: Vec<u8> = btf.name(StrOffset(*text))?.as_bytes().iter().map(tab_to_space).collect();
        Some(ProgramSourceLine {
            file: btf.name(StrOffset(*file))?.shortened().to_string(),
            line: position >> 10,
            column: position & 0x3ff,
            text: Name::new(text.trim_ascii()).shortened().to_string(),
        })
    }
}

fn set_map(line: &mut ProgramInstruction, insn: Insn, offset: Option<u32>) {
    line.text = format!("r{} = ", insn.dst);
    line.map = Some(LoadedMapRef { id: insn.imm.cast_unsigned(), name: None, offset });
}

fn map_name(id: u32) -> Option<String> {
    let fd = ObjectKind::Map.open(id).ok()?;
    let name = MapInfo::query(&fd).ok()?.name();
    (!name.is_empty()).then(|| Name::new(name.as_bytes()).to_string())
}

/// Returns the text of a loaded map: `map 5 (events)`, `value of map 5 (.bss) +8`.
fn map_text(map: &LoadedMapRef) -> String {
    let name = map.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    match map.offset {
        None => format!("map {}{name}", map.id),
        Some(offset) => format!("value of map {}{name} +{offset}", map.id),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use core_relo::btf::Builder;

    #[test]
    fn source_lines_keep_backslashes_and_are_short() {
        let mut b = Builder::new(Endian::Little);
        let file = b.string("a\u{1b}.c").0;
        let text = b.string("\tprint(\"x\\ty\");\t// z\t").0;
        let long = b.string(&"x".repeat(60_000)).0;
        let btf = Some(Arc::new(Btf::parse(b.finish()).unwrap()));
        let symbols = KernelSymbols::default();
        let annotator = Annotator { btf, records: ProgramLines::default(), jited: true, symbols: &symbols };
        let line = annotator.source_line(&[0, file, text, 7 << 10 | 3]).unwrap();
        assert_eq!((&*line.file, line.line, line.column), ("a\\u{1b}.c", 7, 3));
        assert_eq!(line.text, "print(\"x\\ty\"); // z");
        let line = annotator.source_line(&[0, long, long, 0]).unwrap();
        assert!(line.text.len() < 4096 && line.file.len() < 4096, "{} {}", line.text.len(), line.file.len());
    }
}
