//! Objects nobody wrote: CO-RE records made up on real types, with instructions to go with them.

use core_relo::{
    Endian, TypeId,
    btf::{Btf, Kind},
    insn::{Insn, LD_IMM64},
};
use fastrand::Rng;
use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use std::collections::HashMap;

/// One record and the instruction (or two slots) it sits on.
#[derive(Clone, Debug)]
pub struct Made {
    /// The root type.
    pub root: TypeId,
    /// The access string.
    pub access: String,
    /// The kind's number.
    pub kind: u32,
    /// The accessed type's size, 0 if it has none.
    pub size: u32,
    /// The instruction.
    pub insns: Vec<Insn>,
}

const CODE: &str = "made";

/// Makes up `count` records on the types of `local` from `first` on; a few of them are nonsense.
pub fn records(local: &Btf<'_>, first: TypeId, count: usize, rng: &mut Rng) -> Vec<Made> {
    let mut made = Vec::new();
    let namesakes = namesakes(local, first);
    while made.len() < count {
        let root = match rng.choice(&namesakes) {
            Some(root) if rng.u8(..) < 64 => *root,
            _ => TypeId(rng.u32(first.0..local.end_id().0)),
        };
        let Some(ty) = local.ty(root) else { continue };
        let worthy = ty.kind().is_composite() || ty.kind().is_enum() || ty.kind() == Kind::Typedef;
        // Anonymous roots are refused at once: a few will do.
        if (!worthy || ty.name().is_empty()) && rng.u8(..) > 4 {
            continue;
        }
        // Several of one type, since the first one narrows the candidates of the next.
        for _ in 0..rng.usize(1..6) {
            made.push(record(local, root, rng));
        }
    }
    made
}

/// Types that share name and kind with another one, which then are candidates together.
fn namesakes(local: &Btf<'_>, first: TypeId) -> Vec<TypeId> {
    let mut by_name: HashMap<_, Vec<TypeId>> = HashMap::new();
    let worthy = |kind: Kind| kind.is_composite() || kind.is_enum() || kind == Kind::Typedef;
    for ty in local.types().filter(|ty| worthy(ty.kind()) && !ty.name().is_empty()) {
        by_name.entry((ty.name().essential(), ty.kind())).or_default().push(ty.id());
    }
    let mut all: Vec<_> =
        by_name.into_values().filter(|ids| ids.len() > 1).flatten().filter(|id| *id >= first).collect();
    all.sort();
    all
}

fn record(local: &Btf<'_>, root: TypeId, rng: &mut Rng) -> Made {
    let stripped = local.strip(root).ok();
    let kind = match stripped.map(|ty| ty.kind()) {
        _ if rng.u8(..) < 8 => rng.u32(0..15),
        Some(Kind::Enum | Kind::Enum64) if rng.bool() => rng.u32(10..12),
        Some(Kind::Struct | Kind::Union | Kind::Array) if rng.u8(..) < 180 => rng.u32(0..6),
        _ => [6, 7, 8, 9, 12, 12][rng.usize(0..6)],
    };
    let (mut access, mut end) = ("0".to_owned(), root);
    match (kind, stripped) {
        (10 | 11, Some(ty)) => access = (rng.u32(0..ty.vlen().max(1))).to_string(),
        (0..=5, _) => (access, end) = walk(local, root, rng),
        _ => {}
    }
    match rng.u8(..) {
        0 => access.push_str(":0"),
        1 => access.push(':'),
        2 => access.push_str(":4294967295"),
        3 => access = format!("1:{access}"),
        4 => access.clear(),
        5 => access.push('x'),
        _ => {}
    }
    let size = local.size_of(end).map_or(0, |size| size.0);
    Made { root, access, kind, size, insns: Vec::new() }
}

/// An access that exists, and the type at its end.
fn walk(local: &Btf<'_>, root: TypeId, rng: &mut Rng) -> (String, TypeId) {
    let (mut access, mut at) = (if rng.u8(..) < 16 { rng.u32(0..3) } else { 0 }.to_string(), root);
    for _ in 0..rng.usize(1..8) {
        let Ok(ty) = local.strip(at) else { break };
        let index = match (ty.kind(), ty.array()) {
            (Kind::Struct | Kind::Union, _) if ty.vlen() > 0 => {
                let index = rng.u32(0..ty.vlen());
                at = ty.member(index).map_or(at, |member| member.ty);
                index
            }
            (_, Some(array)) => {
                at = array.element;
                let beyond = u32::from(rng.u8(..) < 8);
                rng.u32(0..array.nelems.saturating_add(beyond).max(1))
            }
            _ => break,
        };
        access.push_str(&format!(":{index}"));
    }
    (access, at)
}

/// Gives a record an instruction that holds `value`, mostly.
pub fn give_insn(made: &mut Made, value: u64, rng: &mut Rng) {
    let value = if rng.u8(..) < 6 { value.wrapping_add(1) } else { value };
    let low = value as u32 as i32;
    let width = match made.size {
        _ if rng.u8(..) < 32 => [0x00, 0x08, 0x10, 0x18][rng.usize(0..4)],
        1 => 0x10,
        2 => 0x08,
        8 => 0x18,
        _ => 0x00,
    };
    let access = |code| Insn { code, dst: 1, src: 2, off: value as i16, imm: 0 };
    let immediate = |code| Insn { code, dst: 3, src: 0, off: 0, imm: low };
    let memory = made.kind == 0;
    made.insns = match rng.u8(0..if memory { 20 } else { 11 }) {
        0..=3 => vec![immediate(0xb7)],
        4 => vec![immediate(0xb4)],
        5..=8 => ld_imm64(value),
        9 => vec![immediate(0x07)],
        10 => odd(value, rng),
        11..=16 => vec![access(0x61 | width)],
        17 => vec![Insn { imm: 7, ..access(0x62 | width) }],
        18 => vec![access(0x63 | width)],
        // MEMSX
        _ => vec![access(0x81 | width)],
    };
}

fn ld_imm64(value: u64) -> Vec<Insn> {
    let first = Insn { code: LD_IMM64, dst: 4, src: 0, off: 0, imm: value as u32 as i32 };
    vec![first, Insn { imm: (value >> 32) as i32, ..Insn::default() }]
}

/// Instructions that are refused, or nearly.
fn odd(value: u64, rng: &mut Rng) -> Vec<Insn> {
    let mut wide = ld_imm64(value);
    match rng.u8(0..5) {
        0 => wide[0].src = 1,
        1 => wide[1].off = 1,
        // Register for immediate, call, packet load: none of them can be relocated.
        2 => return vec![Insn { code: 0xbf, ..wide[0] }],
        3 => return vec![Insn { code: 0x85, ..wide[0] }],
        _ => return vec![Insn { code: 0x20, ..wide[0] }],
    }
    wide
}

/// A split BTF and its base as one: ids and string offsets go on where the base ends as they are.
pub fn flattened(base: &[u8], split: &[u8], endian: Endian) -> Vec<u8> {
    let part = |btf: &[u8], at: usize| {
        let word = |at| endian.u32(btf, at).unwrap() as usize;
        let start = word(4) + word(at);
        btf[start..start + word(at + 4)].to_vec()
    };
    let types = [part(base, 8), part(split, 8)].concat();
    let strings = [part(base, 16), part(split, 16)].concat();
    let mut btf = base[..4].to_vec();
    let (types_len, strings_len) = (types.len() as u32, strings.len() as u32);
    for word in [24, 0, types_len, types_len, strings_len] {
        endian.put_u32(&mut btf, word);
    }
    [btf, types, strings].concat()
}

/// The object: the types as given, the access strings added to their strings, and one function of all the instructions.
pub fn object(types: &[u8], endian: Endian, records: &[Made]) -> Vec<u8> {
    let mut btf = types.to_vec();
    let word = |at| endian.u32(types, at).unwrap();
    let (strings, mut len) = (word(4) + word(16), word(20));
    assert_eq!((strings + len) as usize, types.len(), "the strings come last");
    let name = len;
    btf.extend(format!("{CODE}\0").bytes());
    len = (btf.len() as u32) - strings;
    let (mut code, mut group) = (Vec::new(), Vec::new());
    for word in [16, name, records.len() as u32] {
        endian.put_u32(&mut group, word);
    }
    for record in records {
        for word in [code.len() as u32, record.root.0, len, record.kind] {
            endian.put_u32(&mut group, word);
        }
        btf.extend(record.access.bytes().chain([0]));
        len = (btf.len() as u32) - strings;
        code.extend(record.insns.iter().flat_map(|insn| insn.encode(endian)));
    }
    let mut size = Vec::new();
    endian.put_u32(&mut size, len);
    btf[20..24].copy_from_slice(&size);
    let mut ext = Vec::new();
    endian.put_u16(&mut ext, 0xeb9f);
    ext.extend([1, 0]);
    // Header length; functions and lines, of which there are none; CO-RE records.
    for word in [32, 0, 0, 0, 0, 0, group.len() as u32] {
        endian.put_u32(&mut ext, word);
    }
    ext.extend(group);
    elf(endian, &code, &btf, &ext)
}

fn elf(endian: Endian, code: &[u8], btf: &[u8], ext: &[u8]) -> Vec<u8> {
    let order = match endian {
        Endian::Little => Endianness::Little,
        Endian::Big => Endianness::Big,
    };
    let mut elf = Object::new(BinaryFormat::Elf, Architecture::Bpf, order);
    let text = elf.add_section(Vec::new(), CODE.into(), SectionKind::Text);
    elf.append_section_data(text, code, 8);
    for (name, data) in [(".BTF", btf), (".BTF.ext", ext)] {
        let section = elf.add_section(Vec::new(), name.into(), SectionKind::Other);
        elf.append_section_data(section, data, 8);
    }
    elf.add_symbol(Symbol {
        name: b"made_up".to_vec(),
        value: 0,
        size: code.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(text),
        flags: SymbolFlags::None,
    });
    elf.write().unwrap()
}
