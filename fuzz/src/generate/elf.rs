//! Generator of objects: programs, maps, globals, externs and struct_ops, with their relocations and types.

use super::{
    below, corrupt, endian,
    ext::{Code, ext},
    one_in,
    types::{Types, types},
};
use arbitrary::{Arbitrary, Result, Unstructured};
use core_relo::{
    Endian, TypeId,
    btf::{Builder, Kind},
    insn::{Insn, LD_IMM64},
};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
    elf::RelocationType,
    write::{self, Relocation, SectionId, SymbolId, SymbolSection},
};

/// Names of code sections.
const SECTIONS: [&str; 18] = [
    "tp_btf/sched_process_exec",
    ".text",
    "kprobe/do_unlinkat",
    "xdp",
    "fentry/bpf_fentry_test1",
    "?kprobe/tcp_v4_connect",
    "raw_tp/sys_enter",
    "struct_ops/ssthresh",
    "iter/task",
    "lsm/file_open",
    "tc",
    "freplace/f0",
    "usdt/./binary:test:probe",
    "uprobe/./binary:f1",
    "cgroup/connect4",
    "syscall",
    "kprobe",
    "no such section",
];

/// Names of maps and variables, shared by the objects of a link.
const NAMES: [&str; 8] = ["a", "b", "counter", "events", "f0", "m0", "LINUX_KERNEL_VERSION", ".data"];

/// Externs: DATASEC and name.
const EXTERNS: [(&str, &str); 9] = [
    (".ksyms", "bpf_prog_fops"),
    (".ksyms", "jiffies"),
    (".ksyms", "bpf_task_acquire"),
    (".ksyms", "no_such_symbol"),
    (".kconfig", "CONFIG_HZ"),
    (".kconfig", "CONFIG_MODULES"),
    (".kconfig", "LINUX_KERNEL_VERSION"),
    (".kconfig", "CONFIG_DEFAULT_HOSTNAME"),
    ("", "shared"),
];

/// ELF relocation types of BPF: 64-bit loads, data, calls.
const R_64_64: u32 = 1;
const R_ABS64: u32 = 2;
const R_64_32: u32 = 10;

/// An object under construction.
struct Generator {
    elf: write::Object<'static>,
    endian: Endian,
    types: Types,
    int: TypeId,
    /// Symbols that a 64-bit load may refer to.
    data: Vec<SymbolId>,
    /// Symbols that a call may refer to.
    functions: Vec<SymbolId>,
    /// Relocatable positions: section, offset, relocation type.
    positions: Vec<(SectionId, u64, u32)>,
}

/// Generates an object.
pub fn object(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let endian = endian(u)?;
    object_in(u, endian)
}

/// Generates an object in a byte order.
pub fn object_in(u: &mut Unstructured<'_>, endian: Endian) -> Result<Vec<u8>> {
    let order = if endian == Endian::Little { Endianness::Little } else { Endianness::Big };
    let mut types = types(u, Builder::new(endian))?;
    let int = types.builder.int("int", 4, Builder::SIGNED);
    let elf = write::Object::new(BinaryFormat::Elf, Architecture::Bpf, order);
    let mut generator =
        Generator { elf, endian, types, int, data: Vec::new(), functions: Vec::new(), positions: Vec::new() };
    let mut sections = Vec::new();
    for number in 0..below(u, 4)? {
        sections.push(generator.code(u, number)?);
    }
    generator.maps(u)?;
    for name in [".data", ".rodata", ".bss", ".data.x", ".rodata.y"] {
        if one_in(u, 2)? {
            generator.globals(u, name)?;
        }
    }
    if one_in(u, 4)? {
        generator.struct_ops(u)?;
    }
    generator.externs(u)?;
    generator.relocations(u)?;
    generator.finish(u, &sections)
}

impl Generator {
    /// Adds a section of functions.
    fn code(&mut self, u: &mut Unstructured<'_>, number: usize) -> Result<Code> {
        let name = *u.choose(&SECTIONS)?;
        let section = self.elf.add_section(Vec::new(), name.into(), SectionKind::Text);
        let mut code = Code { name: name.to_owned(), patchable: Vec::new(), slots: 0, functions: Vec::new() };
        for function in 0..=below(u, 3)? {
            let start = code.slots;
            for _ in 0..below(u, 12)? {
                self.insn(u, section, &mut code)?;
            }
            self.put(section, &mut code, Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 });
            let name =
                if one_in(u, 4)? { (*u.choose(&NAMES)?).to_owned() } else { format!("f{number}{function}") };
            let (at, len) = (start as u64 * 8, (code.slots - start) as u64 * 8);
            let symbol = self.symbol(&name, SymbolKind::Text, section, at, len);
            self.elf.symbol_mut(symbol).weak = one_in(u, 8)?;
            if one_in(u, 4)? {
                self.elf.symbol_mut(symbol).scope = SymbolScope::Compilation;
            }
            self.functions.push(symbol);
            code.functions.push(start);
        }
        Ok(code)
    }

    /// Adds an instruction, often one that a relocation can patch.
    fn insn(&mut self, u: &mut Unstructured<'_>, section: SectionId, code: &mut Code) -> Result<()> {
        let (dst, src, at) = (below(u, 10)? as u8, below(u, 10)? as u8, code.slots);
        let insn = |code, src, off, imm| Insn { code, dst, src, off, imm };
        let generated = match below(u, 9)? {
            0 => insn(0xb7, 0, 0, i32::from(u8::arbitrary(u)?)),
            1 => {
                insn(*u.choose(&[0x61, 0x79, 0x71, 0x69, 0x81, 0x91])?, src, i16::from(u8::arbitrary(u)?), 0)
            }
            2 => {
                insn(*u.choose(&[0x63, 0x7b, 0x73, 0x6b, 0x62, 0x7a])?, src, i16::from(u8::arbitrary(u)?), 0)
            }
            3 => {
                self.positions.push((section, at as u64 * 8, R_64_64));
                code.patchable.push(at);
                self.put(section, code, insn(LD_IMM64, 0, 0, i32::from(u8::arbitrary(u)?)));
                self.put(section, code, Insn::default());
                return Ok(());
            }
            4 => {
                self.positions.push((section, at as u64 * 8, R_64_32));
                insn(0x85, 1, 0, *u.choose(&[-1, 0, 1, 1000])?)
            }
            5 => insn(0x85, 0, 0, *u.choose(&[1, 14, 112, 113, 181, 9999])?),
            6 => insn(0x05, 0, *u.choose(&[0, 1, -1])?, 0),
            7 => insn(*u.choose(&[0x07, 0x67, 0x77, 0xc7, 0xb4, 0x04])?, 0, 0, i32::from(u8::arbitrary(u)?)),
            _ => insn(u8::arbitrary(u)?, src, i16::arbitrary(u)?, i32::arbitrary(u)?),
        };
        code.patchable.push(at);
        self.put(section, code, generated);
        Ok(())
    }

    fn put(&mut self, section: SectionId, code: &mut Code, insn: Insn) {
        self.elf.append_section_data(section, &insn.encode(self.endian), 8);
        code.slots += 1;
    }

    fn symbol(
        &mut self,
        name: &str,
        kind: SymbolKind,
        section: SectionId,
        value: u64,
        size: u64,
    ) -> SymbolId {
        self.elf.add_symbol(write::Symbol {
            name: name.into(),
            value,
            size,
            kind,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    }

    /// Adds map definitions.
    fn maps(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let count = below(u, 4)?;
        if count == 0 {
            return Ok(());
        }
        let section = self.elf.add_section(Vec::new(), ".maps".into(), SectionKind::Data);
        let mut vars = Vec::new();
        for number in 0..count {
            let name = if one_in(u, 3)? { (*u.choose(&NAMES)?).to_owned() } else { format!("m{number}") };
            let (ty, size) = self.map_type(u)?;
            let at = self.elf.append_section_data(section, &vec![0; size as usize], 8);
            if size >= 8 {
                self.positions.push((section, at + u64::from(size) - 8, R_ABS64));
            }
            vars.push((self.types.builder.var(&name, ty, 1), at as u32, size));
            let symbol = self.symbol(&name, SymbolKind::Data, section, at, size.into());
            self.data.push(symbol);
        }
        let end = vars.iter().map(|(_, at, size)| at + size).max().unwrap_or(0);
        self.types.builder.datasec(".maps", end, &vars);
        Ok(())
    }

    /// Adds the struct of a map definition. Returns the struct and its size.
    fn map_type(&mut self, u: &mut Unstructured<'_>) -> Result<(TypeId, u32)> {
        let mut members = Vec::new();
        for field in ["type", "key", "value", "max_entries", "map_flags", "pinning", "values", "key_size"] {
            if !one_in(u, 2)? {
                continue;
            }
            let known = self.types.pick(u)?.map_or(self.int, |ty| ty.id);
            let builder = &mut self.types.builder;
            let ty = match field {
                "key" | "value" => builder.pointer(known),
                "values" => {
                    let pointer = builder.pointer(known);
                    builder.array(pointer, self.int, u32::from(one_in(u, 2)?))
                }
                _ => {
                    let n = *u.choose(&[1u32, 2, 12, 13, 4, 26, 31, 4096, u32::MAX])?;
                    let array = builder.array(self.int, self.int, n);
                    builder.pointer(array)
                }
            };
            members.push((field, ty, members.len() as u32 * 64));
        }
        let size = members.len() as u32 * 8;
        Ok((self.types.builder.structure("", size, &members), size))
    }

    /// Adds variables of a data section.
    fn globals(&mut self, u: &mut Unstructured<'_>, name: &str) -> Result<()> {
        let is_bss = name == ".bss";
        let kind = if is_bss { SectionKind::UninitializedData } else { SectionKind::Data };
        let section = self.elf.add_section(Vec::new(), name.into(), kind);
        let mut vars = Vec::new();
        for _ in 0..below(u, 4)? {
            let name = *u.choose(&NAMES)?;
            let size = *u.choose(&[4u32, 8, 1, 64, 4096])?;
            let at = if is_bss {
                self.elf.append_section_bss(section, size.into(), 8)
            } else {
                self.elf.append_section_data(section, &vec![7; size as usize], 8)
            };
            let ty = self.types.pick(u)?.map_or(self.int, |ty| ty.id);
            vars.push((self.types.builder.var(name, ty, u32::from(!one_in(u, 3)?)), at as u32, size));
            let symbol = self.symbol(name, SymbolKind::Data, section, at, size.into());
            self.elf.symbol_mut(symbol).weak = one_in(u, 8)?;
            self.data.push(symbol);
        }
        let end = vars.iter().map(|(_, at, size)| at + size).max().unwrap_or(0);
        self.types.builder.datasec(name, end, &vars);
        let whole = self.elf.section_symbol(section);
        self.data.push(whole);
        Ok(())
    }

    /// Adds a struct_ops variable.
    fn struct_ops(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let name = *u.choose(&[".struct_ops", ".struct_ops.link", "?.struct_ops"])?;
        let section = self.elf.add_section(Vec::new(), name.into(), SectionKind::Data);
        let b = &mut self.types.builder;
        let proto = b.func_proto(self.int, &[]);
        let pointer = b.pointer(proto);
        let members = [("ssthresh", pointer, 0), ("undo_cwnd", pointer, 64), ("flags", self.int, 128)];
        let size = 24;
        let ty = b.structure("tcp_congestion_ops", size, &members[..=below(u, 2)?]);
        let var = b.var("ops", ty, 1);
        b.datasec(name, size, &[(var, 0, size)]);
        let at = self.elf.append_section_data(section, &vec![0; size as usize], 8);
        self.positions.extend([(section, at, R_ABS64), (section, at + 8, R_ABS64)]);
        let symbol = self.symbol("ops", SymbolKind::Data, section, at, size.into());
        self.data.push(symbol);
        Ok(())
    }

    /// Adds undefined symbols and their types.
    fn externs(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut vars: Vec<(&str, TypeId)> = Vec::new();
        for (section, name) in EXTERNS {
            if !one_in(u, 4)? {
                continue;
            }
            let symbol = self.elf.add_symbol(write::Symbol {
                name: name.into(),
                value: 0,
                size: 0,
                kind: SymbolKind::Unknown,
                scope: SymbolScope::Unknown,
                weak: one_in(u, 3)?,
                section: SymbolSection::Undefined,
                flags: SymbolFlags::None,
            });
            self.data.push(symbol);
            self.functions.push(symbol);
            let ty = self.types.pick(u)?.map_or(self.int, |ty| ty.id);
            if one_in(u, 3)? {
                let proto = self.types.builder.func_proto(self.int, &[]);
                vars.push((section, self.types.builder.func(name, proto, 2)));
            } else {
                vars.push((section, self.types.builder.var(name, ty, 2)));
            }
        }
        for section in [".ksyms", ".kconfig"] {
            let all = vars.iter().filter(|(name, _)| *name == section).map(|(_, var)| (*var, 0, 0));
            let all: Vec<_> = all.collect();
            if !all.is_empty() {
                self.types.builder.datasec(section, 0, &all);
            }
        }
        Ok(())
    }

    /// Adds relocations that refer from instructions and data to symbols.
    fn relocations(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        for (section, offset, number) in std::mem::take(&mut self.positions) {
            let is_call = number == R_64_32;
            let (own, other) =
                if is_call { (&self.functions, &self.data) } else { (&self.data, &self.functions) };
            let symbols = if one_in(u, 8)? || (number == R_ABS64 && one_in(u, 2)?) { other } else { own };
            if symbols.is_empty() || one_in(u, 4)? {
                continue;
            }
            let symbol = *u.choose(symbols)?;
            let r_type = if one_in(u, 64)? { u32::arbitrary(u)? & 0xff } else { number };
            let offset = if one_in(u, 64)? { u64::from(u16::arbitrary(u)?) } else { offset };
            let flags = RelocationFlags::Elf { r_type: RelocationType(r_type) };
            let added = self.elf.add_relocation(section, Relocation { offset, symbol, addend: 0, flags });
            added.expect("a REL has no addend");
        }
        Ok(())
    }

    /// Adds function types, `.BTF`, `.BTF.ext` and the license, and returns the file.
    fn finish(mut self, u: &mut Unstructured<'_>, sections: &[Code]) -> Result<Vec<u8>> {
        let prototypes: Vec<_> =
            self.types.all.iter().filter(|ty| ty.kind == Kind::FuncProto).map(|ty| ty.id).collect();
        let proto = if prototypes.is_empty() {
            self.types.builder.func_proto(self.int, &[])
        } else {
            *u.choose(&prototypes)?
        };
        let symbols = self.functions.iter().map(|id| self.elf.symbol(*id));
        for symbol in symbols.filter(|symbol| symbol.kind == SymbolKind::Text) {
            let name = String::from_utf8_lossy(&symbol.name).into_owned();
            self.types.builder.func(&name, proto, 1);
        }
        if !one_in(u, 32)? {
            let ext = ext(u, self.endian, &mut self.types, sections)?;
            let mut btf = self.types.builder.finish();
            if one_in(u, 32)? {
                corrupt(u, &mut btf)?;
            }
            for (name, bytes) in [(".BTF", btf), (".BTF.ext", ext)] {
                let section = self.elf.add_section(Vec::new(), name.into(), SectionKind::Other);
                self.elf.append_section_data(section, &bytes, 8);
            }
        }
        let license = self.elf.add_section(Vec::new(), "license".into(), SectionKind::Data);
        self.elf.append_section_data(license, u.choose(&[&b"GPL\0"[..], b"", b"no end"])?, 1);
        let mut bytes = self.elf.write().expect("the object is well-formed");
        if one_in(u, 16)? {
            corrupt(u, &mut bytes)?;
        }
        Ok(bytes)
    }
}
