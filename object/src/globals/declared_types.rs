//! The declared types of an object's variables, from its BTF.

use crate::{limits, object::Object};
use core_relo::{TypeId, btf::Kind};
use hashbrown::HashMap;

/// The variables of data sections by section and name. Variables of the same name are sorted by offset.
#[derive(Debug, Default)]
pub(super) struct DeclaredTypes<'b>(HashMap<&'b [u8], HashMap<&'b [u8], Vec<Variable>>>);

/// A variable in a DATASEC. The offset is 0 if the compiler left it to the linker.
#[derive(Clone, Copy, Debug)]
struct Variable {
    offset: u32,
    ty: TypeId,
}

impl<'b> DeclaredTypes<'b> {
    /// Collects the variables of an object's data sections.
    pub(super) fn collect(object: &'b Object<'_>) -> Self {
        let mut types = Self::default();
        let Some(btf) = object.btf() else { return types };
        for section in object.data_sections() {
            types.0.entry(section.name).or_default();
        }
        if types.0.is_empty() {
            return types;
        }
        // Symbols have no longer names.
        let is_short = |name: &[u8]| name.len() <= limits::NAME_BYTES;
        for section in btf.types().filter(|t| t.kind() == Kind::Datasec) {
            let name = section.name().as_bytes();
            let Some(variables) = Some(name).filter(|n| is_short(n)).and_then(|n| types.0.get_mut(n)) else {
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
        for variables in types.0.values_mut().flat_map(HashMap::values_mut) {
            variables.sort_by_key(|variable| variable.offset);
        }
        types
    }

    /// Returns the type of a variable. Static variables of several files may have the same name. In that
    /// case, returns the type of the first variable at the offset.
    pub(super) fn type_of(&self, section: &[u8], name: &[u8], offset: u64) -> Option<TypeId> {
        match self.0.get(section)?.get(name)?.as_slice() {
            [variable] => Some(variable.ty),
            variables => {
                let first = variables.partition_point(|v| u64::from(v.offset) < offset);
                variables.get(first).filter(|v| u64::from(v.offset) == offset).map(|v| v.ty)
            }
        }
    }
}
