//! Appends the sections of an input to the sections of the linked object.

use super::{error::StaticLinkError, input::Input, output_object::OutputObject};

impl OutputObject<'_> {
    /// Appends an input's sections of code and data (libbpf: `linker_append_sec_data`).
    pub(super) fn add_sections(&mut self, input: &mut Input<'_>) -> Result<(), StaticLinkError> {
        for index in input.sections.indices() {
            let section = input.sections.get(index)?;
            if section.is_ignored || !section.is_data() {
                continue;
            }
            // These sections are not concatenated: all files must have the same contents.
            let is_unique = matches!(&*section.name, b"license" | b"version");
            if is_unique && self.sections.has_identical(input, section)? {
                continue;
            }
            let placement = self.sections.append(input, section, &mut self.strings)?;
            input.sections.get_mut(index)?.placement = Some(placement);
        }
        Ok(())
    }
}
