//! The types that an object's BTF declares its variables with.

use crate::{limits, object::Object};
use core_relo::{TypeId, btf::Kind};
use std::collections::HashMap;

/// Types by section and name; variables of one name in order of their offset.
#[derive(Debug, Default)]
pub(super) struct Declared<'b>(HashMap<&'b [u8], HashMap<&'b [u8], Vec<Variable>>>);

/// A variable: its place, if the compiler wrote it, and its type.
#[derive(Clone, Copy, Debug)]
struct Variable {
    offset: u32,
    ty: TypeId,
}

impl<'b> Declared<'b> {
    /// Those of the object's data sections.
    pub(super) fn of(object: &'b Object<'_>) -> Self {
        let mut found = Self::default();
        let Some(btf) = object.btf() else { return found };
        for section in object.data_sections() {
            found.0.entry(section.name).or_default();
        }
        if found.0.is_empty() {
            return found;
        }
        // Longer names are none of a symbol's.
        let is_short = |name: &[u8]| name.len() <= limits::NAME_BYTES;
        for section in btf.types().filter(|t| t.kind() == Kind::Datasec) {
            let name = section.name().as_bytes();
            let Some(variables) = Some(name).filter(|n| is_short(n)).and_then(|n| found.0.get_mut(n)) else {
                continue;
            };
            for info in section.secinfos() {
                let variable = btf.ty(info.ty).filter(|t| t.kind() == Kind::Var);
                let Some((name, ty)) = variable.and_then(|t| Some((t.name().as_bytes(), t.target()?))) else {
                    continue;
                };
                if is_short(name) {
                    variables.entry(name).or_default().push(Variable { offset: info.offset, ty });
                }
            }
        }
        for namesakes in found.0.values_mut().flat_map(HashMap::values_mut) {
            namesakes.sort_by_key(|variable| variable.offset);
        }
        found
    }

    /// Returns the type of a variable. Among several of one name (static variables of several files), the first one declared at
    /// that offset counts.
    pub(super) fn type_of(&self, section: &[u8], name: &[u8], offset: u64) -> Option<TypeId> {
        match self.0.get(section)?.get(name)?.as_slice() {
            [one] => Some(one.ty),
            all => {
                let at = all.partition_point(|v| u64::from(v.offset) < offset);
                all.get(at).filter(|v| u64::from(v.offset) == offset).map(|v| v.ty)
            }
        }
    }
}
