//! The symbols of an ELF, in the form of `System.map`.

use crate::{
    elf_sections::{ReadPart, Sections},
    limits::{KERNEL_TEXT_BYTES, MAX_SYMBOL_BYTES},
};
use core_relo_loader::target::ElfClass;
use std::sync::Arc;

const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;

/// Symbol types (`STT_*`): none, object, function.
const NAMED_TYPES: std::ops::RangeInclusive<u8> = 0..=2;
const STT_FUNC: u8 = 2;

/// The last section index of a symbol that is defined in a section.
const SHN_LORESERVE: u16 = 0xff00;

/// Reads the symbol table. Returns `None` if the ELF has none, as the kernel in a boot image.
pub(super) fn read<'d>(sections: &Sections<'d>, elf: &impl ReadPart<'d>, limit: u64) -> Option<Arc<str>> {
    let table = sections.find_kind(b".symtab", SHT_SYMTAB, limit)??;
    let names = sections.find_kind(b".strtab", SHT_STRTAB, limit)??;
    let (table, names) = (elf.read_part(table.offset, table.len)?, elf.read_part(names.offset, names.len)?);
    let endian = sections.endian;
    let (entry_bytes, info_offset, section_offset) = match sections.class {
        ElfClass::Elf32 => (16, 12, 14),
        _ => (24, 4, 6),
    };
    let max_bytes = usize::try_from(KERNEL_TEXT_BYTES).ok()?;
    let mut text = String::new();
    for entry in table.chunks_exact(entry_bytes) {
        let symbol_type = entry.get(info_offset)? & 0xf;
        let section = endian.u16(entry, section_offset)?;
        if section == 0 || section >= SHN_LORESERVE || !NAMED_TYPES.contains(&symbol_type) {
            continue;
        }
        let start = usize::try_from(endian.u32(entry, 0)?).ok()?;
        let Some(name) = names.get(start..).and_then(symbol_name) else { continue };
        // Labels of assembler code have no type. They are functions in sections of instructions.
        let is_function = symbol_type == STT_FUNC || (symbol_type == 0 && sections.is_code(section.into()));
        text.push_str(if is_function { "0 T " } else { "0 D " });
        text.push_str(name);
        text.push('\n');
        if text.len() > max_bytes {
            return None;
        }
    }
    (!text.is_empty()).then(|| text.into())
}

/// Returns the name at the start of bytes, if it is one that C or assembler code may have.
fn symbol_name(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().take(MAX_SYMBOL_BYTES).position(|byte| *byte == 0)?;
    let name = str::from_utf8(bytes.get(..end)?).ok()?;
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())).then_some(name)
}
