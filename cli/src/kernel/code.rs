//! Translated instructions with names: of functions, source lines, maps and whatever is called.

use super::{Kind, symbols::Symbols, types::Types};
use core_relo::{
    Endian, StrOffset, TypeId,
    btf::Btf,
    explain::CType,
    insn::{Class, INSN_BYTES, Insn, Slot, helper_name},
};
use core_relo_loader::sys::{self, ProgLines};
use serde::Serialize;
use std::{collections::BTreeMap, rc::Rc, sync::Arc};

/// A program's instructions.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) lines: Vec<Line>,
}

/// An instruction, of one slot or two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) insn: usize,
    /// The signature of the function that begins here.
    pub(crate) begins: Option<String>,
    /// The name of the function that this is in.
    pub(crate) function: Option<Rc<str>>,
    pub(crate) bytes: String,
    pub(crate) text: String,
    pub(crate) call: Option<Call>,
    pub(crate) map: Option<MapRef>,
    /// The source line that begins here.
    pub(crate) source: Option<Source>,
}

/// What an instruction calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Call {
    pub(crate) kind: &'static str,
    pub(crate) name: Option<String>,
}

/// The map that an instruction loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MapRef {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    /// Into its value, if it is the value's address that is loaded.
    pub(crate) offset: Option<u32>,
}

/// A source line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) text: String,
}

/// The instructions alone.
pub(crate) fn raw(insns: &[u8]) -> Vec<Line> {
    slots(insns)
        .map(|(insn, slot)| Line {
            insn,
            bytes: slot.hex(Endian::native()).to_string(),
            text: slot.to_string(),
            ..Line::default()
        })
        .collect()
}

/// Each instruction with its number; one that is cut off ends the list.
fn slots(insns: &[u8]) -> impl Iterator<Item = (usize, Slot)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let slot = Slot::decode(Endian::native(), insns.get(at * INSN_BYTES..)?)?;
        let insn = at;
        at += if slot.second().is_some() { 2 } else { 1 };
        Some((insn, slot))
    })
}

/// What instructions are named after.
pub(crate) struct Names<'s> {
    pub(crate) btf: Option<Arc<Btf<'static>>>,
    pub(crate) records: ProgLines,
    pub(crate) jited: bool,
    pub(crate) symbols: &'s Symbols,
}

impl Names<'_> {
    /// The instructions with names.
    pub(crate) fn apply(&self, insns: &[u8], types: &mut Types) -> Vec<Line> {
        let functions: BTreeMap<usize, TypeId> =
            self.records.functions.iter().map(|[at, ty]| (index(*at), TypeId(*ty))).collect();
        let sources: BTreeMap<usize, &[u32; 4]> =
            self.records.lines.iter().map(|record| (index(record[0]), record)).collect();
        let mut maps = BTreeMap::new();
        let mut function = None;
        let mut all = Vec::new();
        for (insn, mut line) in
            slots(insns).map(|(insn, slot)| (insn, self.line(slot, insn, &functions, types)))
        {
            if let Some(ty) = functions.get(&insn) {
                line.begins = self.signature(*ty);
                function = self.name(*ty).map(Rc::from);
            }
            line.function.clone_from(&function);
            line.source = sources.get(&insn).and_then(|record| self.source(record));
            if let Some(map) = &mut line.map {
                let name = maps.entry(map.id).or_insert_with(|| map_name(map.id));
                map.name.clone_from(name);
                line.text = format!("{}{}", line.text, map_words(map));
            }
            all.push(line);
        }
        all
    }

    fn line(&self, slot: Slot, at: usize, functions: &BTreeMap<usize, TypeId>, types: &mut Types) -> Line {
        let insn = slot.first();
        let mut line = Line {
            insn: at,
            bytes: slot.hex(Endian::native()).to_string(),
            text: slot.to_string(),
            ..Line::default()
        };
        let function_at = |distance: i64| {
            let to = i64::try_from(at).ok()?.checked_add(distance)?.checked_add(1)?;
            self.name(*functions.get(&usize::try_from(to).ok()?)?)
        };
        match (insn.class(), slot.second()) {
            (Class::Jmp, None) if insn.code == 0x85 => {
                let call = self.call(insn, function_at, types);
                line.text = match &call {
                    Call { name: Some(name), .. } => format!("call {name}"),
                    Call { kind: "function", .. } if self.jited => format!("call pc{:+}", insn.off),
                    Call { kind, .. } => format!("call {kind}#{}", insn.imm),
                };
                line.call = Some(call);
            }
            (Class::Jmp | Class::Jmp32, None) => {
                if let Some(to) = jump(insn).and_then(|by| at.checked_add_signed(by)) {
                    line.text = format!("{} <{}>", line.text, to + 1);
                }
            }
            (_, Some(second)) => match insn.src {
                1 => self.map(&mut line, insn, None),
                2 => self.map(&mut line, insn, Some(second.imm.cast_unsigned())),
                4 => {
                    let name = function_at(insn.imm.into());
                    let name = name.unwrap_or_else(|| format!("pc{:+}", insn.imm));
                    line.text = format!("r{} = &{name}", insn.dst);
                }
                0 => {
                    if let Some(name) = slot.imm64().and_then(|address| self.symbols.at(address)) {
                        line.text = format!("r{} = &{name}", insn.dst);
                    }
                }
                _ => {}
            },
            _ => {}
        }
        line
    }

    fn map(&self, line: &mut Line, insn: Insn, offset: Option<u32>) {
        line.text = format!("r{} = ", insn.dst);
        line.map = Some(MapRef { id: insn.imm.cast_unsigned(), name: None, offset });
    }

    fn call(&self, insn: Insn, function_at: impl Fn(i64) -> Option<String>, types: &mut Types) -> Call {
        let symbol = || self.symbols.called(insn.imm).map(str::to_owned);
        match insn.src {
            // The offset of what the interpreter calls is no longer where it was.
            1 if !self.jited => Call { kind: "function", name: None },
            1 => Call { kind: "function", name: function_at(insn.off.into()) },
            2 => {
                let by_type = || {
                    let kernel = types.kernel().filter(|_| insn.off == 0)?;
                    let ty = kernel.ty(TypeId(insn.imm.cast_unsigned()))?;
                    (ty.kind() == core_relo::btf::Kind::Func).then(|| ty.name().to_string())
                };
                Call { kind: "kfunc", name: symbol().or_else(by_type) }
            }
            _ => {
                // A tail call keeps its number; the others are addresses by now.
                let by_number = || helper_name(insn.imm.cast_unsigned()).map(|name| format!("bpf_{name}"));
                Call { kind: "helper", name: symbol().or_else(by_number) }
            }
        }
    }

    fn name(&self, function: TypeId) -> Option<String> {
        Some(self.btf.as_ref()?.ty(function)?.name().to_string())
    }

    /// `int handle_exec(struct trace_event_raw_sched_process_exec * ctx)`.
    fn signature(&self, function: TypeId) -> Option<String> {
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

    fn source(&self, [_, file, text, position]: &[u32; 4]) -> Option<Source> {
        let btf = self.btf.as_ref()?;
        let text = btf.name(StrOffset(*text))?.to_string();
        Some(Source {
            file: btf.name(StrOffset(*file))?.to_string(),
            line: position >> 10,
            column: position & 0x3ff,
            // What tabs a name may have are escaped.
            text: text.replace("\\t", " ").trim().to_owned(),
        })
    }
}

/// How far a jump goes, if it is one.
fn jump(insn: Insn) -> Option<isize> {
    match (insn.code >> 4, insn.class()) {
        (0, Class::Jmp32) => isize::try_from(insn.imm).ok(),
        (0, _) if insn.source_is_register() => None,
        (0x8 | 0x9, _) => None,
        _ => Some(insn.off.into()),
    }
}

fn map_name(id: u32) -> Option<String> {
    let fd = Kind::Map.open(id).ok()?;
    let name = sys::map_info(&fd).ok()?.name();
    (!name.is_empty()).then(|| core_relo::Name::new(name.as_bytes()).to_string())
}

/// `map 5 (events)`, `value of map 5 (.bss) +8`.
fn map_words(map: &MapRef) -> String {
    let name = map.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    match map.offset {
        None => format!("map {}{name}", map.id),
        Some(offset) => format!("value of map {}{name} +{offset}", map.id),
    }
}

fn index(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
