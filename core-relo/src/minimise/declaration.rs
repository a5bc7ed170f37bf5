//! Declarations as a whole: functions, variables, and the types that a caller names.

use super::needs::Needs;
use crate::{
    btf::{Kind, Type},
    ids::TypeId,
};
use alloc::vec::Vec;
use core::mem;

impl Needs<'_> {
    /// Adds every type of this name and kind, in vmlinux and in the modules: attach targets, kfuncs, variables.
    ///
    /// The types of parameters and those behind pointers are added by name, without their members. Returns whether there is such a
    /// type.
    pub fn add_declaration(&mut self, name: &[u8], kind: Kind) -> bool {
        let found = self.find_all(name, kind);
        for (btf_index, id) in &found {
            self.add_declaration_of(*btf_index, *id);
        }
        !found.is_empty()
    }

    /// Adds every type of this name and kind with all its members or enumerators, and their declarations.
    ///
    /// Returns whether there is such a type.
    pub fn add_definition(&mut self, name: &[u8], kind: Kind) -> bool {
        let found = self.find_all(name, kind);
        for (btf_index, id) in &found {
            self.add_definition_of(*btf_index, *id);
        }
        !found.is_empty()
    }

    /// Adds a type with the types of its parameters and those behind its pointers. Each type is visited once.
    pub(super) fn add_declaration_of(&mut self, btf_index: usize, id: TypeId) {
        let mut unvisited = Vec::from([id]);
        while let Some(id) = unvisited.pop() {
            self.add_extent(btf_index, id);
            let Some(need) = self.add_record(btf_index, id) else { continue };
            if mem::replace(&mut need.has_declaration, true) {
                continue;
            }
            let Some(ty) = self.btf(btf_index).and_then(|btf| btf.ty(id)) else { continue };
            unvisited.extend(ty.target());
            unvisited.extend(ty.array().map(|array| array.element));
            unvisited.extend(ty.params().map(|param| param.ty));
        }
    }

    fn add_definition_of(&mut self, btf_index: usize, id: TypeId) {
        self.add_declaration_of(btf_index, id);
        let stripped = self.btf(btf_index).and_then(|btf| btf.strip(id).ok());
        let Some(ty) = stripped else { return };
        if let Some(need) = self.add_record(btf_index, ty.id()) {
            need.add_all_elements();
        }
        for member in ty.members() {
            self.add_declaration_of(btf_index, member.ty);
        }
    }

    /// Returns the index of the BTF and the id of each type of this name and kind.
    fn find_all(&self, name: &[u8], kind: Kind) -> Vec<(usize, TypeId)> {
        let mut found = Vec::new();
        for btf_index in 0..self.tables.len() {
            let mut next = self.btf(btf_index);
            while let Some(btf) = next {
                let has_name = |ty: &Type<'_>| ty.name().as_bytes() == name;
                btf.visit_kind(kind, |ty| found.extend(has_name(&ty).then_some((btf_index, ty.id()))));
                // A module's base is vmlinux.
                next = btf.base().filter(|_| btf_index == 0).map(|base| &**base);
            }
        }
        found
    }
}
