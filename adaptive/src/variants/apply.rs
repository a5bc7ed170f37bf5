//! A choice of alternatives, applied to the settings of a load.

use super::{error::VariantError, object_variants::ObjectVariants, selection::Selection};
use core_relo_object::{
    load_plan::{InitialValues, LoadPlanError, Settings},
    object::Object,
};

impl ObjectVariants {
    /// Applies a selection to the settings of a load: which programs are loaded, which maps are created, and
    /// the constants.
    ///
    /// `settings` are those of the caller, `numbers` those of [`find_constants`](Self::find_constants). A
    /// constant without a number keeps its initial value.
    pub fn apply(
        &self,
        object: &Object<'_>,
        selection: &Selection,
        numbers: &[Option<i128>],
        settings: &mut Settings,
    ) -> Result<(), VariantError> {
        let values = InitialValues::new(object);
        let uncreated = self.uncreated_maps(selection, settings);
        let mut constants = Vec::new();
        for (global, part) in &self.indicators {
            let is_loaded = self.is_part_loaded(part, selection, &uncreated, settings);
            constants.push((global, i128::from(is_loaded)));
        }
        for (constant, number) in self.constants.iter().zip(numbers) {
            constants.extend(number.map(|number| (&constant.global, number)));
        }
        for (global, number) in constants {
            let bytes = global.encode(number, object.endian()).map_err(LoadPlanError::from)?;
            values.set_bytes(settings, &global.global, &bytes)?;
        }
        let grouped = self.table().groups().iter().flat_map(|group| &group.alternatives).flat_map(|a| &a.0);
        for program in grouped {
            let is_loaded = self.loads(program, selection, settings);
            settings.program_mut(program).autoload = Some(is_loaded);
        }
        for program in &selection.left_out_programs {
            settings.program_mut(program).autoload = Some(false);
        }
        for map in uncreated {
            settings.map_mut(&map).autocreate = Some(false);
        }
        settings.allows_unused_externs = true;
        for initial in &self.initial_programs {
            initial.apply(self, selection, settings);
        }
        Ok(())
    }
}
