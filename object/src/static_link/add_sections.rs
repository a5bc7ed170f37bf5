//! The sections of an input, added to the linked object.

use super::{LinkError, State, input::Input};
use object::elf;

impl State<'_> {
    /// libbpf: `linker_append_sec_data`
    pub(super) fn add_sections(&mut self, input: &mut Input<'_>) -> Result<(), LinkError> {
        for at in 1..input.sections.len() {
            let Some(s) = input.at(at) else { break };
            let is_data = match &s.elf {
                None => true,
                Some(e) => e.sh_type == elf::SHT_PROGBITS.0 || e.sh_type == elf::SHT_NOBITS.0,
            };
            if s.skipped || !is_data {
                continue;
            }
            // These sections are not concatenated: all files must have the same contents.
            let is_unique = matches!(&*s.name, b"license" | b"version");
            let identical = if is_unique { self.sections.find_identical(s) } else { None };
            let placed = match identical {
                Some(section) => section.map(|out| (out, 0, true)),
                None => self.sections.append(s, &mut self.strings).map(|(out, offset)| (out, offset, false)),
            };
            let (out, offset, skipped) = placed.map_err(|cause| input.fault(&s.name, cause))?;
            if let Some(s) = input.sections.get_mut(at) {
                (s.out, s.offset, s.skipped) = (Some(out), offset, skipped);
            }
        }
        Ok(())
    }
}
