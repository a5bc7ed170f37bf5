//! Declarations as a whole: functions, variables, and the types that a caller names.

use super::needs::Needs;
use crate::{TypeId, btf::Kind};
use alloc::vec::Vec;
use core::mem;
use hashbrown::{HashMap, HashSet};

/// The part of a named type that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// The record, the types of its parameters and those behind its pointers, without members and
    /// enumerators.
    Declaration,
    /// All members and enumerators with their declarations as well.
    Definition,
}

impl Needs<'_> {
    /// Adds every type of this name and kind, in vmlinux and in the modules: attach targets, kfuncs,
    /// variables.
    ///
    /// The types of parameters and those behind pointers are added by name, without their members. Returns
    /// whether there is such a type.
    pub fn add_declaration(&mut self, name: &[u8], kind: Kind) -> bool {
        self.add_all([(name, kind, Detail::Declaration)]) > 0
    }

    /// Adds every type of this name and kind with all its members or enumerators, and their declarations.
    ///
    /// Returns whether there is such a type.
    pub fn add_definition(&mut self, name: &[u8], kind: Kind) -> bool {
        self.add_all([(name, kind, Detail::Definition)]) > 0
    }

    /// Adds all types of these names and kinds, in one pass over the types of each kind. Returns the number
    /// of types.
    pub fn add_all<'n>(&mut self, names: impl IntoIterator<Item = (&'n [u8], Kind, Detail)>) -> usize {
        let mut wanted: HashMap<(&[u8], Kind), Detail> = HashMap::new();
        for (name, kind, detail) in names {
            let known = wanted.entry((name, kind)).or_insert(detail);
            if detail == Detail::Definition {
                *known = detail;
            }
        }
        let kinds: HashSet<Kind> = wanted.keys().map(|(_, kind)| *kind).collect();
        let found = self.find_all(&kinds, |name, kind| wanted.get(&(name, kind)).copied());
        for (detail, btf_index, id) in &found {
            match detail {
                Detail::Declaration => self.add_declaration_of(*btf_index, *id),
                Detail::Definition => self.add_definition_of(*btf_index, *id),
            }
        }
        found.len()
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

    /// Adds the tags of this name on needed types, and the first tag of the name with its type.
    ///
    /// The first tag shows that the kernel has such tags, so that a function without the tag is known not to
    /// be tagged.
    pub fn add_tags(&mut self, name: &[u8]) {
        let tags =
            self.find_all(&HashSet::from_iter([Kind::DeclTag]), |found, _| (found == name).then_some(()));
        for (position, ((), btf_index, tag)) in tags.into_iter().enumerate() {
            let target = self.btf(btf_index).and_then(|btf| btf.ty(tag)?.target());
            let is_needed = target.is_some_and(|target| {
                self.tables
                    .get(self.owner(btf_index, target))
                    .is_some_and(|table| table.get(target).is_some())
            });
            if is_needed || position == 0 {
                self.add_declaration_of(btf_index, tag);
            }
        }
    }

    /// Adds a type with all its members or enumerators. The members of anonymous members count as members of
    /// the type.
    fn add_definition_of(&mut self, btf_index: usize, id: TypeId) {
        let mut unvisited = Vec::from([id]);
        while let Some(id) = unvisited.pop() {
            self.add_declaration_of(btf_index, id);
            let stripped = self.btf(btf_index).and_then(|btf| btf.strip(id).ok());
            let Some(ty) = stripped else { continue };
            let Some(need) = self.add_record(btf_index, ty.id()) else { continue };
            if mem::replace(&mut need.has_definition, true) {
                continue;
            }
            need.add_all_elements();
            for member in ty.members() {
                self.add_declaration_of(btf_index, member.ty);
                unvisited.extend(member.name.is_empty().then_some(member.ty));
            }
        }
    }

    /// Returns what `choose` returns for the name and kind of each type of these kinds, with the index of the
    /// BTF and the id.
    fn find_all<T>(
        &self,
        kinds: &HashSet<Kind>,
        choose: impl Fn(&[u8], Kind) -> Option<T>,
    ) -> Vec<(T, usize, TypeId)> {
        let mut found = Vec::new();
        for btf_index in 0..self.tables.len() {
            let mut next = self.btf(btf_index);
            while let Some(btf) = next {
                for kind in kinds {
                    btf.visit_kind(*kind, |ty| {
                        let chosen = choose(ty.name().as_bytes(), *kind);
                        found.extend(chosen.map(|chosen| (chosen, btf_index, ty.id())));
                    });
                }
                // A module's base is vmlinux.
                next = btf.base().filter(|_| btf_index == 0).map(|base| &**base);
            }
        }
        found
    }
}
