//! The minimal BTF of the needed types.

use super::{error::MinimiseError, marker::MinimalBtf, needs::Needs};
use crate::{
    TypeId,
    btf::{Btf, Builder, ImportError, Importer, Kind},
};
use alloc::{string::String, vec::Vec};
use hashbrown::HashMap;

/// The minimal BTF of a target: that of vmlinux, and those of the modules.
#[derive(Clone, Debug)]
pub struct MinimisedTarget {
    vmlinux: MinimisedBtf,
    modules: Vec<MinimisedBtf>,
}

/// The minimal BTF of vmlinux or of a module.
#[derive(Clone, Debug)]
pub struct MinimisedBtf {
    name: String,
    bytes: Vec<u8>,
    type_count: usize,
    new_ids: HashMap<TypeId, TypeId>,
}

impl MinimisedTarget {
    /// Returns the minimal BTF of vmlinux.
    pub fn vmlinux(&self) -> &MinimisedBtf {
        &self.vmlinux
    }

    /// Returns the minimal BTFs of the modules, in the order of the target. They are split from the minimal
    /// BTF of vmlinux.
    pub fn modules(&self) -> &[MinimisedBtf] {
        &self.modules
    }

    /// Returns a minimal BTF by the index in a [`Candidate`](crate::resolve::Candidate).
    pub fn btf(&self, btf_index: usize) -> Option<&MinimisedBtf> {
        match btf_index.checked_sub(1) {
            None => Some(&self.vmlinux),
            Some(module) => self.modules.get(module),
        }
    }
}

impl MinimisedBtf {
    /// Returns the name: that of the target's BTF.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes of the BTF.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of own types that are needed.
    pub fn type_count(&self) -> usize {
        self.type_count
    }

    /// Returns the new id of an own type of the full BTF, or `None` for a type that is not needed.
    pub fn new_id(&self, old: TypeId) -> Option<TypeId> {
        self.new_ids.get(&old).copied()
    }
}

impl Needs<'_> {
    /// Writes the minimal BTF of vmlinux and of each module.
    pub fn minimise(&self) -> Result<MinimisedTarget, MinimiseError> {
        let vmlinux = self.minimise_btf(0, None)?;
        let mut modules = Vec::new();
        if self.tables.len() > 1 {
            let base = Btf::parse(vmlinux.bytes.as_slice()).map_err(MinimiseError::Base)?;
            for btf_index in 1..self.tables.len() {
                modules.push(self.minimise_btf(btf_index, Some((&vmlinux, &base)))?);
            }
        }
        Ok(MinimisedTarget { vmlinux, modules })
    }

    /// Writes the minimal BTF of one BTF. A split BTF of a module needs the minimal BTF of vmlinux.
    ///
    /// A vmlinux BTF that is split itself is written with the types of its bases.
    fn minimise_btf(
        &self,
        btf_index: usize,
        base: Option<(&MinimisedBtf, &Btf<'_>)>,
    ) -> Result<MinimisedBtf, MinimiseError> {
        let (Some(target), Some(table)) = (self.target.btf(btf_index), self.tables.get(btf_index)) else {
            return Err(MinimiseError::Internal {
                invariant: "each BTF of the target has a table of its needed types",
            });
        };
        let (name, from) = (target.name.clone(), &*target.btf);
        let base = base.filter(|_| from.base().is_some());
        let mut builder = base.map_or_else(|| Builder::new(from.endian()), |(_, base)| Builder::split(base));
        let needed = table.sorted_ids();
        let first_old = if base.is_some() { from.first_id() } else { TypeId(1) };
        let mut new_ids = HashMap::with_capacity(needed.len());
        let mut next_id = builder.next_id();
        for old in &needed {
            let new = if self.has_original_ids { *old } else { next_id };
            new_ids.insert(*old, new);
            next_id = next_id.next();
        }
        let map_id = |old: TypeId| {
            let in_base = || base.and_then(|(base, _)| base.new_id(old)).filter(|_| old < first_old);
            new_ids.get(&old).copied().or_else(in_base).unwrap_or(TypeId::VOID)
        };
        // Modules continue the ids of vmlinux. A further type would change them.
        let has_own_ids = self.has_original_ids && self.tables.len() > 1;
        let mark = self.mark.filter(|_| btf_index == 0);
        let mark_place = mark.filter(|_| has_own_ids).and_then(|_| MinimalBtf::place(from.end_id(), &needed));
        let fill_to = |builder: &mut Builder, end: TypeId| {
            while self.has_original_ids && builder.next_id() < end {
                match mark.filter(|_| Some(builder.next_id()) == mark_place) {
                    Some(mark) => mark.add_marker(builder),
                    None => _ = builder.pointer(TypeId::VOID),
                }
            }
        };
        let mut importer = Importer::new(from);
        let import_error = |error| MinimiseError::Import { btf: name.clone(), error };
        for old in &needed {
            let no_type = MinimiseError::Internal { invariant: "each needed type is a type of its BTF" };
            let ty = from.ty(*old).ok_or(no_type)?;
            fill_to(&mut builder, *old);
            let need = table.get(*old);
            let is_kept =
                |index| !has_optional_elements(ty.kind()) || need.is_some_and(|need| need.has_element(index));
            let copied: Result<_, ImportError> = importer.copy_elements(&mut builder, ty, is_kept, map_id);
            copied.map_err(import_error)?;
        }
        fill_to(&mut builder, from.end_id());
        if let Some(mark) = mark.filter(|_| !has_own_ids) {
            mark.add_marker(&mut builder);
        }
        Ok(MinimisedBtf { bytes: builder.finish(), type_count: needed.len(), new_ids, name })
    }
}

/// Returns whether a record of this kind may lose elements. A function prototype needs all its parameters.
const fn has_optional_elements(kind: Kind) -> bool {
    matches!(kind, Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Datasec)
}
