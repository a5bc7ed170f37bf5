//! What an object uses of a kernel's types.

use super::items::ItemKind;
use crate::requirements::{AttachPoint, AttachPointKind, Need, NeedTable, ObjectNeeds, TargetKind};
use core_relo::{
    Name, Relocs, TypeId,
    btf::{Btf, Kind},
    spec::Spec,
};
use hashbrown::{HashMap, HashSet};

/// The declarations, members and enumerators that objects use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectUses {
    types: HashMap<Box<[u8]>, Elements>,
    functions: HashSet<Box<[u8]>>,
    variables: HashSet<Box<[u8]>>,
}

/// The members or enumerators that objects use of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Elements {
    has_all: bool,
    names: HashSet<Box<[u8]>>,
}

impl ObjectUses {
    /// Adds what an object uses: CO-RE accesses, attach targets, helpers, kfuncs, variables, and contexts of
    /// tracepoints.
    pub fn add_object(
        &mut self,
        needs: &ObjectNeeds<'_, '_>,
        table: &NeedTable,
        relocs: Option<&Relocs<'_>>,
    ) {
        if let Some(relocs) = relocs {
            for spec in relocs.records().iter().filter_map(|record| record.spec.as_ref().ok()) {
                self.add_access(relocs.btf(), spec);
            }
        }
        for need in needs.programs.iter().flat_map(|program| &program.sites) {
            table.get(need.need).into_iter().for_each(|need| self.add_need(need));
        }
        for need in needs.externs.iter().filter_map(|needed| table.get(needed.id)) {
            self.add_need(need);
        }
        for program in &needs.programs {
            for need in program.attach.needs().iter().filter_map(|id| table.get(*id)) {
                self.add_need(need);
            }
            self.add_attach_point(program.attach_point.as_ref());
        }
    }

    /// Returns whether objects use a declaration.
    pub(super) fn has_item(&self, kind: ItemKind, name: &[u8]) -> bool {
        match kind {
            ItemKind::Function | ItemKind::Kfunc => self.functions.contains(name),
            ItemKind::Variable => self.variables.contains(name),
            _ => self.types.contains_key(Name::new(name).essential().as_bytes()),
        }
    }

    /// Returns whether objects use a member or enumerator. `element` is a path: a use of a member counts for
    /// its members, too.
    pub(super) fn has_element(&self, ty: &[u8], element: &[u8]) -> bool {
        let Some(used) = self.types.get(Name::new(ty).essential().as_bytes()) else { return false };
        if used.has_all || used.names.contains(element) {
            return true;
        }
        let dots = element.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        let mut prefixes = dots.filter_map(|(end, _)| element.get(..end));
        prefixes.any(|prefix| used.names.contains(prefix))
    }

    fn add_whole_type(&mut self, name: &[u8]) {
        self.types.entry(Name::new(name).essential().as_bytes().into()).or_default().has_all = true;
    }

    fn add_attach_point(&mut self, point: Option<&AttachPoint>) {
        for (kind, name) in point.iter().flat_map(|point| &point.declarations) {
            match (kind, point.map(|point| point.kind)) {
                (Kind::Func, _) => {
                    self.functions.insert(name.as_bytes().into());
                }
                // The arguments of the raw tracepoint are not those of the event.
                (Kind::Typedef, Some(AttachPointKind::TraceEvent)) => {}
                _ => self.add_whole_type(name.as_bytes()),
            }
        }
    }

    fn add_element(&mut self, ty: &[u8], element: &[u8]) {
        let elements = self.types.entry(Name::new(ty).essential().as_bytes().into()).or_default();
        elements.names.insert(element.into());
    }

    fn add_need(&mut self, need: &Need) {
        match need {
            Need::Helper { helper, .. } => {
                if let Some(name) = helper.name() {
                    self.add_element(b"bpf_func_id", format!("BPF_FUNC_{name}").as_bytes());
                }
            }
            Need::AttachTarget { kind: TargetKind::Tracepoint, declaration, .. } => {
                self.add_whole_type(declaration);
            }
            Need::Kfunc(name) | Need::AttachTarget { declaration: name, .. } => {
                self.functions.insert((**name).into());
            }
            Need::Symbol(name) => {
                self.functions.insert(name.as_bytes().into());
                self.variables.insert(name.as_bytes().into());
            }
            Need::Variable(name) => {
                self.variables.insert((**name).into());
            }
            Need::StructOps(name) => self.add_whole_type(name.as_bytes()),
            _ => {}
        }
    }

    /// Adds the members or the enumerator of an access.
    fn add_access(&mut self, btf: &Btf<'_>, spec: &Spec) {
        let mut container = type_name(btf, spec.root);
        if spec.accessors.is_empty() {
            return container.iter().for_each(|name| self.add_whole_type(name.as_bytes()));
        }
        let mut path = Vec::new();
        for accessor in &spec.accessors {
            let Some(name) = accessor.name(btf) else {
                container = type_name(btf, accessor.ty);
                continue;
            };
            let Some(ty) = container else { return };
            if !path.is_empty() {
                path.push(b'.');
            }
            path.extend(name.as_bytes());
            self.add_element(ty.as_bytes(), &path);
            let Some(member) = btf.ty(accessor.ty).and_then(|ty| ty.member(accessor.index)) else { return };
            let next = type_name(btf, member.ty);
            if next.is_some() {
                container = next;
                path.clear();
            }
        }
    }
}

/// Returns the name of the struct, union or enum under modifiers and typedefs. An anonymous one has the name
/// of its typedef, or none.
fn type_name<'b>(btf: &'b Btf<'b>, id: TypeId) -> Option<Name<'b>> {
    let stripped = btf.strip(id).ok()?;
    if !stripped.name().is_empty() {
        return Some(stripped.name());
    }
    // The chain ends, because `strip` has followed it.
    let (mut ty, mut name) = (btf.ty(id)?, None);
    while ty.id() != stripped.id() {
        if ty.kind() == Kind::Typedef {
            name = Some(ty.name());
        }
        ty = btf.ty(ty.target()?)?;
    }
    name
}
