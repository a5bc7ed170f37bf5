//! An assembler for test programs.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::unwrap_in_result,
    reason = "test code may panic"
)]

use crate::reach::{Function, ITERATOR_NEXT, LoadedValue, Program, Reach, Reachability, analyze};
use core::ops::Range;
use core_relo::Endian;
use core_relo::insn::{Insn, LD_IMM64};
use hashbrown::HashMap;

/// A program in text: one instruction, label (`name:`) or function (`fn name:`, `global name:`) a line.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) insns: Vec<Insn>,
    functions: Vec<Function>,
    labels: HashMap<String, u32>,
    loads: Vec<(u32, Load)>,
    pub(super) data: Vec<u8>,
    pub(super) unknown: Vec<Range<usize>>,
    pub(super) endian: Endian,
    pub(super) verifies_uncalled_functions: bool,
    pub(super) exception_callback: Option<u32>,
}

#[derive(Clone, Debug)]
enum Load {
    Frozen(u64),
    Function(String),
    Map { is_array: bool },
    Unknown,
}

const OPERATORS: [(&str, u8); 12] = [
    ("+=", 0x00),
    ("-=", 0x10),
    ("*=", 0x20),
    ("/=", 0x30),
    ("|=", 0x40),
    ("&=", 0x50),
    ("<<=", 0x60),
    (">>=", 0x70),
    ("%=", 0x90),
    ("^=", 0xa0),
    ("=", 0xb0),
    ("s>>=", 0xc0),
];

const COMPARISONS: [(&str, u8); 11] = [
    ("==", 0x10),
    (">", 0x20),
    (">=", 0x30),
    ("&", 0x40),
    ("!=", 0x50),
    ("s>", 0x60),
    ("s>=", 0x70),
    ("<", 0xa0),
    ("<=", 0xb0),
    ("s<", 0xc0),
    ("s<=", 0xd0),
];

fn find(table: &[(&str, u8)], text: &str) -> u8 {
    table.iter().find(|(name, _)| *name == text).unwrap_or_else(|| panic!("{text}")).1
}

fn register(text: &str) -> Option<u8> {
    text.strip_prefix(['r', 'w'])?.parse().ok()
}

fn number(text: &str) -> i64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap().cast_signed(),
        None => text.parse().unwrap_or_else(|_| panic!("{text}")),
    }
}

fn immediate(text: &str) -> i32 {
    let number = number(text);
    i32::try_from(number).unwrap_or_else(|_| u32::try_from(number).unwrap().cast_signed())
}

/// Reads `u32[r10-8]`: the size bits, the register, the offset.
fn memory(text: &str) -> Option<(u8, u8, i16)> {
    let (size, rest) = text.split_once('[')?;
    let size = match size {
        "u32" | "s32" => 0x00,
        "u16" | "s16" => 0x08,
        "u8" | "s8" => 0x10,
        "u64" => 0x18,
        _ => panic!("{text}"),
    };
    let inner = rest.strip_suffix(']')?;
    let at = inner.find(['+', '-']).unwrap_or(inner.len());
    let offset = inner[at..].trim_start_matches('+');
    Some((size, register(&inner[..at])?, if offset.is_empty() { 0 } else { offset.parse().unwrap() }))
}

impl Assembly {
    pub(super) fn new(source: &str) -> Self {
        let mut assembly = Self {
            insns: Vec::new(),
            functions: vec![Function { start: 0, is_global: true }],
            labels: HashMap::new(),
            loads: Vec::new(),
            data: Vec::new(),
            unknown: Vec::new(),
            endian: Endian::Little,
            verifies_uncalled_functions: false,
            exception_callback: None,
        };
        let mut jumps = Vec::new();
        for line in source.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let at = u32::try_from(assembly.insns.len()).unwrap();
            if let Some(label) = line.strip_suffix(':') {
                let words: Vec<_> = label.split_whitespace().collect();
                if words.len() == 2 {
                    assembly.functions.push(Function { start: at, is_global: words[0] == "global" });
                }
                assembly.labels.insert((*words.last().unwrap()).to_owned(), at);
            } else {
                let target = assembly.line(line);
                jumps.extend(target.map(|target| (at, target)));
            }
        }
        for (at, target) in jumps {
            let distance = i64::from(assembly.labels[&target]) - i64::from(at) - 1;
            let insn = &mut assembly.insns[usize::try_from(at).unwrap()];
            if insn.code == 0x85 || insn.code == 0x06 {
                insn.imm = i32::try_from(distance).unwrap();
            } else {
                insn.off = i16::try_from(distance).unwrap();
            }
        }
        assembly
    }

    fn push(&mut self, code: u8, dst: u8, src: u8, off: i16, imm: i32) {
        self.insns.push(Insn { code, dst, src, off, imm });
    }

    /// Assembles a line. Returns the label of a jump or call.
    fn line(&mut self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["exit"] => self.push(0x95, 0, 0, 0, 0),
            ["poison"] => self.insns.push(Insn::POISON),
            ["invalid"] => self.push(0xff, 0, 0, 0, 0),
            ["may_goto", target] => {
                self.push(0xe5, 0, 0, 0, 0);
                return Some(target.to_owned());
            }
            ["goto", register_name] if register(register_name).is_some() => {
                self.push(0x0d, register(register_name).unwrap(), 0, 0, 0);
            }
            ["goto", target] => {
                self.push(0x05, 0, 0, 0, 0);
                return Some(target.to_owned());
            }
            ["gotol", target] => {
                self.push(0x06, 0, 0, 0, 0);
                return Some(target.to_owned());
            }
            ["call", helper] if helper.parse::<i32>().is_ok() => {
                self.push(0x85, 0, 0, 0, helper.parse().unwrap());
            }
            ["call", "kfunc"] => self.push(0x85, 0, 2, 0, 0),
            ["call", "next"] => self.push(0x85, 0, 2, 0, ITERATOR_NEXT),
            ["call", target] => {
                self.push(0x85, 0, 1, 0, 0);
                return Some(target.to_owned());
            }
            ["packet", _] => self.push(0x20, 0, 0, 0, 0),
            ["if", left, comparison, right, "goto", target] => {
                let class = if left.starts_with('w') { 6 } else { 5 };
                let code = find(&COMPARISONS, comparison) | class;
                match register(right) {
                    Some(right) => self.push(code | 8, register(left).unwrap(), right, 0, 0),
                    None => self.push(code, register(left).unwrap(), 0, 0, immediate(right)),
                }
                return Some(target.to_owned());
            }
            ["atomic", kind, place, source] => {
                let (size, base, offset) = memory(place).unwrap();
                let imm = i32::try_from(number(kind)).unwrap();
                self.push(0xc3 | size, base, register(source).unwrap(), offset, imm);
            }
            ["swap", bits, left] => self.push(0xd7, register(left).unwrap(), 0, 0, bits.parse().unwrap()),
            ["neg", left] => self.push(0x87, register(left).unwrap(), 0, 0, 0),
            [left, "=", "load", ref value @ ..] => self.load(register(left).unwrap(), value),
            [left, "=", "extend", bits, right] => {
                self.push(0xbf, register(left).unwrap(), register(right).unwrap(), bits.parse().unwrap(), 0);
            }
            [place, "=", value] if place.contains('[') => {
                let (size, base, offset) = memory(place).unwrap();
                match register(value) {
                    Some(source) => self.push(0x63 | size, base, source, offset, 0),
                    None => self.push(0x62 | size, base, 0, offset, immediate(value)),
                }
            }
            [left, "=", place] if place.contains('[') => {
                let (size, base, offset) = memory(place).unwrap();
                let mode = if place.starts_with('s') { 0x80 } else { 0x60 };
                self.push(mode | size | 1, register(left).unwrap(), base, offset, 0);
            }
            [left, operator, right] => {
                let class = if left.starts_with('w') { 4 } else { 7 };
                let code = find(&OPERATORS, operator) | class;
                match register(right) {
                    Some(right) => self.push(code | 8, register(left).unwrap(), right, 0, 0),
                    None => self.push(code, register(left).unwrap(), 0, 0, immediate(right)),
                }
            }
            _ => panic!("{line}"),
        }
        None
    }

    fn load(&mut self, dst: u8, value: &[&str]) {
        let at = u32::try_from(self.insns.len()).unwrap();
        let mut constant = 0;
        match *value {
            ["frozen", offset] => self.loads.push((at, Load::Frozen(offset.parse().unwrap()))),
            ["function", name] => self.loads.push((at, Load::Function(name.to_owned()))),
            ["map"] => self.loads.push((at, Load::Map { is_array: false })),
            ["array"] => self.loads.push((at, Load::Map { is_array: true })),
            ["unknown"] => self.loads.push((at, Load::Unknown)),
            [text] => constant = number(text),
            _ => panic!("{value:?}"),
        }
        let low = i32::try_from((constant << 32) >> 32).unwrap();
        self.push(LD_IMM64, dst, 0, 0, low);
        self.push(0, 0, 0, 0, i32::try_from(constant >> 32).unwrap());
    }

    pub(super) fn analyze(&self) -> Reachability {
        let loads: Vec<_> = self.loads.iter().map(|(at, load)| (*at, self.loaded(load))).collect();
        analyze(&Program {
            insns: &self.insns,
            functions: &self.functions,
            loads: &loads,
            endian: self.endian,
            verifies_uncalled_functions: self.verifies_uncalled_functions,
            exception_callback: self.exception_callback,
            bounds_context: false,
            passes_context: true,
        })
    }

    fn loaded(&self, load: &Load) -> LoadedValue<'_> {
        match load {
            Load::Frozen(offset) => {
                let (data, unknown) = (&self.data, &self.unknown);
                LoadedValue::Frozen { data, offset: *offset, unknown, is_config: false }
            }
            Load::Function(name) => LoadedValue::Function(self.labels[name]),
            Load::Map { is_array } => LoadedValue::Map { is_array: *is_array },
            Load::Unknown => LoadedValue::Unknown,
        }
    }

    /// Returns the instruction at a label.
    pub(super) fn label(&self, name: &str) -> u32 {
        self.labels[name]
    }

    /// Returns whether the instruction at a label is reached.
    pub(super) fn reach(&self, label: &str) -> Reach {
        self.analyze().reach(self.label(label))
    }
}

/// Returns whether the instruction at the label `here` is reached.
pub(super) fn reach(source: &str) -> Reach {
    Assembly::new(source).reach("here")
}
