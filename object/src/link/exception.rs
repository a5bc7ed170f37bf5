//! Exception callbacks: subprograms that run when a program throws, named by declaration tags.

use super::error::LinkError;
use crate::{
    elf::text,
    index::ProgramIndex,
    internal::Invariant as _,
    object::{Linkage, Object, Program, calls::EXCEPTION_CALLBACK},
};
use core_relo::btf::{Btf, Kind, Type};
use hashbrown::HashMap;

/// The exception callbacks of an object, by the function that has the tag.
#[derive(Clone, Debug, Default)]
pub(super) struct ExceptionCallbacks<'o> {
    by_program: HashMap<&'o [u8], Vec<&'o [u8]>>,
    /// The first subprogram of each name; empty if no function has an exception callback.
    subprograms: HashMap<&'o [u8], ProgramIndex>,
    /// A callback named by a tag that is not on a global function.
    misplaced: Option<&'o [u8]>,
}

impl<'o> ExceptionCallbacks<'o> {
    /// Adds the exception callback that a declaration tag names, if it names one.
    pub(super) fn add(&mut self, btf: &'o Btf<'_>, tag: Type<'o>) {
        let name = tag.name().as_bytes().strip_prefix(EXCEPTION_CALLBACK);
        let Some(name) = name.filter(|_| tag.component_index() == Some(-1)) else { return };
        let is_global = |t: &Type<'_>| t.kind() == Kind::Func && t.linkage() == Some(1);
        match tag.target().and_then(|id| btf.ty(id)).filter(is_global) {
            Some(function) => self.by_program.entry(function.name().as_bytes()).or_default().push(name),
            None => self.misplaced = self.misplaced.or(Some(name)),
        }
    }

    /// Indexes the subprograms, after all tags are added.
    pub(super) fn index_subprograms(&mut self, object: &'o Object<'_>) {
        if self.by_program.is_empty() {
            return;
        }
        for (index, p) in ProgramIndex::enumerate(object.programs()).filter(|(_, p)| p.is_subprogram) {
            self.subprograms.entry(p.name()).or_insert(index);
        }
    }

    /// Finds the exception callback of a program (libbpf: `bpf_prog_assign_exc_cb`).
    pub(super) fn find(
        &self,
        object: &Object<'_>,
        program: &Program<'_>,
    ) -> Result<Option<ProgramIndex>, LinkError> {
        let fail = |name: &[u8], what| LinkError::ExceptionCallback {
            program: text(program.name()),
            callback: text(name),
            what,
        };
        if let Some(name) = self.misplaced {
            return Err(fail(name, "is tagged on something other than a global function"));
        }
        // Several tags are left to the verifier, which refuses them.
        let Some([name]) = self.by_program.get(program.name()).map(Vec::as_slice) else { return Ok(None) };
        let index = self.subprograms.get(*name).copied();
        let index = index.ok_or_else(|| fail(name, "is not a subprogram of the object"))?;
        let callback = object.programs().get(index.0).invariant("a subprogram belongs to the object")?;
        if callback.linkage == Linkage::Static || callback.is_hidden {
            return Err(fail(name, "must be global and not hidden"));
        }
        Ok(Some(index))
    }
}
