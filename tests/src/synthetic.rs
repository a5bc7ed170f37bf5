//! Synthetic objects: generated CO-RE records on the types of real BTF, with matching instructions.

use core_relo::{
    Endian, TypeId,
    btf::{Btf, Kind},
    insn::{Insn, LD_IMM64},
};
use fastrand::Rng;
use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use std::collections::HashMap;

/// A generated record with its instruction.
#[derive(Clone, Debug)]
pub struct SyntheticRecord {
    /// The root type.
    pub root: TypeId,
    /// The access string.
    pub access: String,
    /// The number of the relocation kind.
    pub kind: u32,
    /// The size of the accessed type, 0 if the type has none.
    pub size: u32,
    /// The instruction: one slot, or two for `ld_imm64`.
    pub insns: Vec<Insn>,
}

const SECTION: &str = "synthetic";

/// Generates at least `count` records on the types of `local` from id `first` on. A few of them are invalid.
pub fn records(local: &Btf<'_>, first: TypeId, count: usize, rng: &mut Rng) -> Vec<SyntheticRecord> {
    let mut generated = Vec::new();
    let namesakes = namesakes(local, first);
    while generated.len() < count {
        let root = match rng.choice(&namesakes) {
            Some(root) if rng.u8(..) < 64 => *root,
            _ => TypeId(rng.u32(first.0..local.end_id().0)),
        };
        let Some(ty) = local.ty(root) else { continue };
        let is_relocatable = ty.kind().is_composite() || ty.kind().is_enum() || ty.kind() == Kind::Typedef;
        // Records with anonymous roots are refused early, so a few of them suffice.
        if (!is_relocatable || ty.name().is_empty()) && rng.u8(..) > 4 {
            continue;
        }
        // Several records per type, because the first record narrows the candidates of the next.
        for _ in 0..rng.usize(1..6) {
            generated.push(record(local, root, rng));
        }
    }
    generated
}

/// Returns the types that share their name and kind with another type. Such types are candidates of the same
/// records.
fn namesakes(local: &Btf<'_>, first: TypeId) -> Vec<TypeId> {
    let mut by_name: HashMap<_, Vec<TypeId>> = HashMap::new();
    let is_relocatable = |kind: Kind| kind.is_composite() || kind.is_enum() || kind == Kind::Typedef;
    for ty in local.types().filter(|ty| is_relocatable(ty.kind()) && !ty.name().is_empty()) {
        by_name.entry((ty.name().essential(), ty.kind())).or_default().push(ty.id());
    }
    let mut all: Vec<_> =
        by_name.into_values().filter(|ids| ids.len() > 1).flatten().filter(|id| *id >= first).collect();
    all.sort();
    all
}

fn record(local: &Btf<'_>, root: TypeId, rng: &mut Rng) -> SyntheticRecord {
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
        (0..=5, _) => (access, end) = random_access(local, root, rng),
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
    SyntheticRecord { root, access, kind, size, insns: Vec::new() }
}

/// Returns a valid access string and the type that it accesses.
fn random_access(local: &Btf<'_>, root: TypeId, rng: &mut Rng) -> (String, TypeId) {
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

/// Sets the instruction of a record. Most instructions contain `value`.
pub fn set_insn(record: &mut SyntheticRecord, value: u64, rng: &mut Rng) {
    let value = if rng.u8(..) < 6 { value.wrapping_add(1) } else { value };
    let low = value as u32 as i32;
    let width = match record.size {
        _ if rng.u8(..) < 32 => [0x00, 0x08, 0x10, 0x18][rng.usize(0..4)],
        1 => 0x10,
        2 => 0x08,
        8 => 0x18,
        _ => 0x00,
    };
    let access = |code| Insn { code, dst: 1, src: 2, off: value as i16, imm: 0 };
    let immediate = |code| Insn { code, dst: 3, src: 0, off: 0, imm: low };
    let is_offset = record.kind == 0;
    record.insns = match rng.u8(0..if is_offset { 20 } else { 11 }) {
        0..=3 => vec![immediate(0xb7)],
        4 => vec![immediate(0xb4)],
        5..=8 => ld_imm64(value),
        9 => vec![immediate(0x07)],
        10 => invalid_insns(value, rng),
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

/// Returns an instruction that relocation refuses, or nearly does.
fn invalid_insns(value: u64, rng: &mut Rng) -> Vec<Insn> {
    let mut wide = ld_imm64(value);
    match rng.u8(0..5) {
        0 => wide[0].src = 1,
        1 => wide[1].off = 1,
        // A register move, a call and a packet load cannot be relocated.
        2 => return vec![Insn { code: 0xbf, ..wide[0] }],
        3 => return vec![Insn { code: 0x85, ..wide[0] }],
        _ => return vec![Insn { code: 0x20, ..wide[0] }],
    }
    wide
}

/// Merges a split BTF and its base into one BTF. Ids and string offsets of a split BTF continue those of the
/// base, so they stay valid.
pub fn flatten(base: &[u8], split: &[u8], endian: Endian) -> Vec<u8> {
    let section = |btf: &[u8], at: usize| {
        let word = |at| endian.u32(btf, at).unwrap() as usize;
        let start = word(4) + word(at);
        btf[start..start + word(at + 4)].to_vec()
    };
    let types = [section(base, 8), section(split, 8)].concat();
    let strings = [section(base, 16), section(split, 16)].concat();
    let mut btf = base[..4].to_vec();
    let (types_len, strings_len) = (types.len() as u32, strings.len() as u32);
    for word in [24, 0, types_len, types_len, strings_len] {
        endian.put_u32(&mut btf, word);
    }
    [btf, types, strings].concat()
}

/// Builds an object with the given types, the access strings appended to their strings, and one function of
/// all instructions.
pub fn object(types: &[u8], endian: Endian, records: &[SyntheticRecord]) -> Vec<u8> {
    let mut btf = types.to_vec();
    let word = |at| endian.u32(types, at).unwrap();
    let (strings, mut len) = (word(4) + word(16), word(20));
    assert_eq!((strings + len) as usize, types.len(), "the strings come last");
    let name = len;
    btf.extend(format!("{SECTION}\0").bytes());
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
    // The header length, the empty function and line records, and the CO-RE records.
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
    let text = elf.add_section(Vec::new(), SECTION.into(), SectionKind::Text);
    elf.append_section_data(text, code, 8);
    for (name, data) in [(".BTF", btf), (".BTF.ext", ext)] {
        let section = elf.add_section(Vec::new(), name.into(), SectionKind::Other);
        elf.append_section_data(section, data, 8);
    }
    elf.add_symbol(Symbol {
        name: b"synthetic".to_vec(),
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
