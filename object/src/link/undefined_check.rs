//! The search for undefined symbols that are no externs of the kernel.

use super::{
    error::LinkError,
    info::InfoTable,
    undefined::{Undefined, UndefinedUse},
};
use crate::{
    elf::text,
    object::{ExternKind, Object, calls::function_containing},
};
use core_relo::{StrOffset, Text, btf::Btf};
use hashbrown::HashMap;

/// The undefined symbols that an error names. Ours: a hostile object may have thousands.
const NAMED: usize = 16;
/// The uses of a symbol that an error names.
const USES: usize = 3;

/// Refuses undefined symbols that are no externs of the kernel.
pub(super) fn check(object: &Object<'_>) -> Result<(), LinkError> {
    let undefined =
        || object.externs().iter().filter(|e| e.kind == ExternKind::Unknown && e.type_id.is_none());
    let count = undefined().count();
    if count == 0 {
        return Ok(());
    }
    let mut symbols: Vec<_> =
        undefined().take(NAMED).map(|e| Undefined { name: text(e.name), uses: Vec::new() }).collect();
    let positions: HashMap<u32, usize> =
        undefined().take(NAMED).zip(0..).map(|(e, n)| (e.symbol, n)).collect();
    let lines = match (object.btf(), object.ext()) {
        (Some(btf), Some(ext)) => InfoTable::lines(btf, ext),
        _ => InfoTable::default(),
    };
    for (section_index, section) in object.code_indices().iter().zip(object.code_sections()) {
        for reloc in object.elf_relocs_of(*section_index) {
            let reloc = reloc?;
            let symbol = positions.get(&reloc.symbol.index).and_then(|n| symbols.get_mut(*n));
            let Some(symbol) = symbol.filter(|symbol| symbol.uses.len() < USES) else { continue };
            let Ok(insn) = u32::try_from(reloc.offset / 8) else { continue };
            let Some(function) = function_containing(object.programs(), *section_index, insn) else {
                continue;
            };
            let start = function.start().0;
            let len = insn.checked_sub(start).and_then(|len| len.checked_add(1));
            let record = len.and_then(|len| lines.in_range(section.name, start, len).records.last());
            let function = text(function.name());
            symbol.uses.push(
                record
                    .zip(object.btf())
                    .and_then(|(record, btf)| use_at(btf, function.clone(), record))
                    .unwrap_or(UndefinedUse {
                        function,
                        file: "".into(),
                        line: 0,
                        column: 0,
                        text: "".into(),
                    }),
            );
        }
    }
    Err(LinkError::Undefined { symbols, more: count.saturating_sub(NAMED) })
}

/// Returns the use of a symbol at a line record. Returns `None` if the record's names are missing.
fn use_at(
    btf: &Btf<'_>,
    function: Text,
    (_, [file, line, position]): &(u32, [u32; 3]),
) -> Option<UndefinedUse> {
    let name = |at: &u32| btf.name(StrOffset(*at)).map(|name| name.as_bytes().trim_ascii());
    Some(UndefinedUse {
        function,
        file: text(name(file)?),
        line: position >> 10,
        column: position & 0x3ff,
        text: text(name(line)?),
    })
}
