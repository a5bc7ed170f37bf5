//! The types of all files in one BTF, its DATASECs made anew.

use super::{
    LinkError, State, SymbolFault, TypeFault,
    globals::GlobalTypes,
    input::{InSection, Input},
    names::is_non_static,
    sections::Variable,
};
use core_relo::{
    TypeId,
    btf::{Btf, Importer, Kind, SecInfo, Type},
};

impl State<'_> {
    /// The new id of each of the input's types, `void` for those left out (libbpf: `linker_append_btf`).
    pub(super) fn add_types(&mut self, input: &Input<'_>) -> Result<Vec<TypeId>, LinkError> {
        let Some(btf) = &input.btf else { return Ok(Vec::new()) };
        let fault = |cause| LinkError::Types { file: input.file.clone(), cause };
        let (ids, added) = self.choose_types(btf);
        let mut import = Importer::new(btf);
        for ty in added {
            let mut missing = None;
            let moved = |old: TypeId| match new_id(&ids, old) {
                TypeId::VOID if old != TypeId::VOID => {
                    missing = missing.or(Some(old));
                    TypeId::VOID
                }
                new => new,
            };
            import.copy_type(&mut self.types, ty, moved).map_err(|cause| fault(cause.into()))?;
            if let Some(to) = missing {
                return Err(fault(TypeFault::NotLinked { from: ty.id(), to }));
            }
        }
        self.renew_globals(btf, &ids);
        for section in &input.sections {
            self.add_variables(input, btf, section, &ids)?;
        }
        Ok(ids)
    }

    /// The types to take over, and what each type becomes: a global that a file before had is taken for that.
    fn choose_types<'b>(&mut self, btf: &'b Btf<'b>) -> (Vec<TypeId>, Vec<Type<'b>>) {
        let mut ids = vec![TypeId::VOID; btf.end_id().index()];
        let mut added = Vec::new();
        let (this, mut next) = (self.inputs.len(), self.types.next_id());
        for ty in btf.types().filter(|ty| ty.kind() != Kind::Datasec) {
            let mut id = next;
            if is_non_static(ty) {
                // One without a symbol is of a section that another file has, too: `license`.
                let Some(at) = self.globals.find(ty.name().as_bytes()) else { continue };
                let Some(global) = self.globals.at_mut(at) else { continue };
                let known = global.types.map(|types| types.id);
                let counts = known.is_none() || global.is_renewed;
                id = known.unwrap_or(next);
                if counts {
                    global.types = Some(GlobalTypes { id, source: ty.id(), underlying: TypeId::VOID });
                    global.input = this;
                    self.globals.renew(at);
                }
            }
            if id == next {
                added.push(ty);
                next = next.next();
            }
            if let Some(place) = ids.get_mut(ty.id().index()) {
                *place = id;
            }
        }
        (ids, added)
    }

    /// Globals that this input describes first, or better, refer to its types from now on.
    fn renew_globals(&mut self, btf: &Btf<'_>, ids: &[TypeId]) {
        let types = &mut self.types;
        self.globals.settle_renewed(|global| {
            let Some(own) = &mut global.types else { return };
            let target = btf.ty(own.source).and_then(Type::target).unwrap_or_default();
            own.underlying = new_id(ids, target);
            types.set_target(own.id, own.underlying);
        });
    }

    /// The variables and functions of a DATASEC.
    fn add_variables(
        &mut self,
        input: &Input<'_>,
        btf: &Btf<'_>,
        section: &InSection<'_>,
        ids: &[TypeId],
    ) -> Result<(), LinkError> {
        let Some(datasec) = section.datasec.and_then(|id| btf.ty(id)) else { return Ok(()) };
        let Some(out) = section.out.filter(|_| !section.skipped) else { return Ok(()) };
        // A section is described even if nothing in it is.
        let _described = self.variables(out);
        for (at, info) in datasec.secinfos().enumerate() {
            let offset = input.variable_offset(datasec.id(), at, info.offset);
            // An offset that the BTF says and no section has stays at the end of all numbers.
            let offset = u64::from(offset).saturating_add(section.offset);
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            self.add_variable(input, btf, out, SecInfoAt { info, offset }, ids)?;
        }
        Ok(())
    }

    fn add_variable(
        &mut self,
        input: &Input<'_>,
        btf: &Btf<'_>,
        out: usize,
        SecInfoAt { info, offset }: SecInfoAt,
        ids: &[TypeId],
    ) -> Result<(), LinkError> {
        let Some(ty) = btf.ty(info.ty) else { return Ok(()) };
        let id = new_id(ids, info.ty);
        if id == TypeId::VOID {
            // An extern that nothing uses has no symbol; anything else of the BTF has to.
            return match ty.linkage() {
                Some(2) => Ok(()),
                _ => Err(self.no_symbol(input, ty, out)),
            };
        }
        let at = is_non_static(ty).then(|| self.globals.find(ty.name().as_bytes())).flatten();
        let global = at.and_then(|at| self.globals.at(at));
        if let Some(global) = global {
            let is_ours = global.input == self.inputs.len();
            if global.section != Some(out) && ty.linkage() == Some(1) && !global.is_extern && !is_ours {
                // A weak definition, in another section than the one that was preferred to it.
                return Ok(());
            }
            if global.section != Some(out) {
                let name = self.sections.at(out).map(|s| &*s.name).unwrap_or_default();
                let cause = SymbolFault::Section {
                    found: crate::elf::text(name),
                    other: self.inputs.get(global.input).unwrap_or(input).file.clone(),
                };
                return Err(input.symbol_fault(ty.name().as_bytes(), cause));
            }
            match global.variable {
                Some((section, place)) if section == out => {
                    // A definition says where it is and how long. (libbpf leaves the place as it was, and takes the type's size,
                    // in which what a map's `values` hold is missing.)
                    let is_defined = is_ours && !global.is_extern;
                    let known = self.variables(out).and_then(|v| v.get_mut(place));
                    if let Some(known) = known.filter(|_| is_defined) {
                        (known.offset, known.size) = (offset, info.size);
                    }
                    return Ok(());
                }
                Some(elsewhere) => self.forget_variable(elsewhere),
                None => {}
            }
        }
        let Some(variables) = self.variables(out) else { return Ok(()) };
        let place = variables.len();
        variables.push(Variable { ty: id, offset, size: info.size });
        if let Some(global) = at.and_then(|at| self.globals.at_mut(at)) {
            global.variable = Some((out, place));
        }
        Ok(())
    }

    fn variables(&mut self, out: usize) -> Option<&mut Vec<Variable>> {
        Some(self.sections.at_mut(out)?.variables.get_or_insert_default())
    }

    /// The weak definition lay in another section than the one that counts: libbpf would write over another variable there.
    fn forget_variable(&mut self, (section, place): (usize, usize)) {
        if let Some(known) = self.variables(section).and_then(|v| v.get_mut(place)) {
            known.ty = TypeId::VOID;
        }
    }

    #[cold]
    fn no_symbol(&self, input: &Input<'_>, ty: Type<'_>, out: usize) -> LinkError {
        let section = self.sections.at(out).map(|s| &*s.name).unwrap_or_default();
        let section = crate::elf::text(section);
        input.symbol_fault(ty.name().as_bytes(), SymbolFault::NoSymbol { section })
    }
}

/// An entry of a DATASEC, and where it lies in the linked section.
struct SecInfoAt {
    info: SecInfo,
    offset: u32,
}

/// Returns the merged type of an input's type, `void` for a type that is left out or does not exist.
pub(super) fn new_id(ids: &[TypeId], old: TypeId) -> TypeId {
    ids.get(old.index()).copied().unwrap_or_default()
}
