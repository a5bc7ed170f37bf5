//! Applies the caller's settings to the plan of a map.

use super::plan::{MapPlan, MapRole};
use crate::{
    internal::InternalError,
    load_plan::{btf::set_secinfo, error::LoadPlanError, settings::MapSettings},
};
use core_relo::{
    ByteSize, StrOffset, TypeId,
    btf::{Btf, Editor, Kind, Type},
};

/// Applies the settings of a caller.
///
/// `btf` is the fixed-up BTF, and `edit` the same BTF with earlier changes, in which a resized section is
/// changed.
pub(super) fn apply_settings(
    plan: &mut MapPlan,
    settings: MapSettings,
    btf: Option<&Btf<'_>>,
    edit: &mut Option<Editor>,
) -> Result<(), LoadPlanError> {
    plan.autoattach = settings.autoattach != Some(false);
    let original_size = plan.value_size();
    if let Some(size) = settings.value_size {
        if plan.role.is_data() {
            resize_data(plan, size, btf, edit.as_mut())?;
        }
        plan.attributes.value_size = size;
    }
    // The value of a struct_ops map was already computed from the caller's data.
    if let Some(data) = settings.data.filter(|_| plan.role != MapRole::StructOps) {
        set_data(plan, data, original_size)?;
    }
    override_with(&mut plan.autocreate, settings.autocreate);
    override_with(&mut plan.attributes.max_entries, settings.max_entries);
    override_with(&mut plan.attributes.key_size, settings.key_size);
    override_with(&mut plan.attributes.map_type, settings.map_type);
    override_with(&mut plan.attributes.map_flags, settings.map_flags);
    override_with(&mut plan.attributes.map_extra, settings.map_extra);
    override_with(&mut plan.numa_node, settings.numa_node);
    override_with(&mut plan.pin, settings.pin);
    plan.ifindex = settings.ifindex;
    plan.exclusive_to = settings.exclusive_to;
    plan.reuse = settings.reuse;
    plan.callers_inner = settings.inner;
    Ok(())
}

/// Replaces a value of the object by the caller's setting, if the caller has set it.
pub(super) fn override_with<T>(value: &mut T, setting: Option<T>) {
    if let Some(setting) = setting {
        *value = setting;
    }
}

/// Sets the initial data of a map, whose size was `original_size` before the settings.
fn set_data(plan: &mut MapPlan, mut data: Vec<u8>, original_size: u32) -> Result<(), LoadPlanError> {
    let expected = if plan.role.is_data() { ByteSize(plan.value_size()).index() } else { plan.data.len() };
    // The caller may have set variables before resizing the section.
    if plan.role.is_data() && data.len() == ByteSize(original_size).index() {
        data.resize(expected, 0);
    }
    if data.len() != expected {
        let what = format!("wrong size of the initial data: {} bytes, expected {expected}", data.len());
        return Err(LoadPlanError::Map { map: plan.name.clone().into(), what: what.into() });
    }
    plan.data = data;
    Ok(())
}

/// Resizes the initial data of a data map, and its section in the BTF. A map whose section cannot be resized
/// gets no BTF types.
fn resize_data(
    plan: &mut MapPlan,
    size: u32,
    btf: Option<&Btf<'_>>,
    edit: Option<&mut Editor>,
) -> Result<(), InternalError> {
    if !plan.data.is_empty() {
        plan.data.resize(ByteSize(size).index(), 0);
    }
    let (Some(btf), Some(edit)) = (btf, edit) else { return Ok(()) };
    match ResizedSection::new(btf, plan.value_type, size) {
        Ok(section) => section.write(edit),
        Err(why) => {
            log::info!("map {}: the map has no BTF types: {why}", plan.name);
            plan.value_type = TypeId::VOID;
            Ok(())
        }
    }
}

/// A section whose last variable is resized to fill the section's new size (libbpf:
/// `map_btf_datasec_resize`).
struct ResizedSection {
    section: TypeId,
    size: u32,
    /// The index of the last variable's entry in the section.
    last_entry: u32,
    variable: TypeId,
    offset: u32,
    /// The new size of the variable.
    variable_size: u32,
    /// The words of the variable's new type, an ARRAY, after its name and info: size, element, index, number
    /// of elements.
    array_words: [u32; 4],
}

impl ResizedSection {
    /// Computes the change. The last variable has to be an array.
    fn new(btf: &Btf<'_>, section: TypeId, size: u32) -> Result<Self, &'static str> {
        let ty = btf.ty(section).filter(|t| t.kind() == Kind::Datasec);
        let ty = ty.ok_or("its value is not a section of variables")?;
        let last_entry = ty.vlen().checked_sub(1).ok_or("its section has no variable")?;
        let info = ty.secinfo(last_entry).ok_or("its section has no variable")?;
        let array = btf.ty(info.ty).and_then(Type::target).and_then(|id| btf.strip(id).ok());
        let array = array.and_then(Type::array).ok_or("its last variable is not an array")?;
        let element =
            btf.size_of(array.element).map_err(|_walk| "its last variable's elements have no size")?.0;
        let variable_size =
            size.checked_sub(info.offset).ok_or("its last variable begins after the new end")?;
        let count = variable_size.checked_div(element).filter(|_| variable_size.is_multiple_of(element));
        let count = count.ok_or("the new size is not a multiple of its last variable's elements")?;
        let array_words = [0, array.element.0, array.index.0, count];
        let (variable, offset) = (info.ty, info.offset);
        Ok(Self { section, size, last_entry, variable, offset, variable_size, array_words })
    }

    /// Writes the change to the BTF for the kernel.
    fn write(&self, edit: &mut Editor) -> Result<(), InternalError> {
        let array = edit.push(StrOffset(0), Kind::Array, 0, &self.array_words);
        edit.set(self.section, Editor::SIZE_OR_TYPE, self.size);
        let words = [self.variable.0, self.offset, self.variable_size];
        set_secinfo(edit, self.section, self.last_entry, words)?;
        edit.set(self.variable, Editor::SIZE_OR_TYPE, array.0);
        Ok(())
    }
}
