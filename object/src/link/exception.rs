//! The subprogram that runs when a program throws, named by a tag on the program.

use super::LinkError;
use crate::{
    elf::text,
    object::{Linkage, Object, Program, calls::EXCEPTION_CALLBACK},
};
use core_relo::btf::{Kind, Type};
use std::collections::HashMap;

/// The tags of exception callbacks: by function, what they name.
#[derive(Clone, Debug, Default)]
pub(super) struct Callbacks<'o> {
    of: HashMap<&'o [u8], Vec<&'o [u8]>>,
    /// The first subprogram of each name, among the object's programs; none if nobody has a callback.
    subprograms: HashMap<&'o [u8], usize>,
    /// What a tag names that is on no global function.
    misplaced: Option<&'o [u8]>,
}

impl<'o> Callbacks<'o> {
    pub(super) fn collect(object: &'o Object<'_>) -> Self {
        let mut found = Self::default();
        let Some(btf) = object.btf() else { return found };
        for tag in btf.types().filter(|t| t.kind() == Kind::DeclTag && t.component_index() == Some(-1)) {
            let Some(name) = tag.name().as_bytes().strip_prefix(EXCEPTION_CALLBACK) else { continue };
            let is_global = |t: &Type<'_>| t.kind() == Kind::Func && t.linkage() == Some(1);
            match tag.target().and_then(|id| btf.ty(id)).filter(is_global) {
                Some(on) => found.of.entry(on.name().as_bytes()).or_default().push(name),
                None => found.misplaced = found.misplaced.or(Some(name)),
            }
        }
        if !found.of.is_empty() {
            for (at, p) in object.programs().iter().enumerate().filter(|(_, p)| p.is_subprogram) {
                found.subprograms.entry(p.name).or_insert(at);
            }
        }
        found
    }

    /// The callback of a program: its number among the object's programs (libbpf: `bpf_prog_assign_exc_cb`).
    pub(super) fn of(&self, object: &Object<'_>, program: &Program<'_>) -> Result<Option<usize>, LinkError> {
        let fail = |name: &[u8], what| LinkError::ExceptionCallback {
            program: text(program.name),
            callback: text(name),
            what,
        };
        if let Some(name) = self.misplaced {
            return Err(fail(name, "is not a tag of a global function"));
        }
        // The verifier refuses two.
        let Some([name]) = self.of.get(program.name).map(Vec::as_slice) else { return Ok(None) };
        let at = self.subprograms.get(*name).copied();
        let found = at.and_then(|at| Some((at, object.programs().get(at)?)));
        let (at, callback) = found.ok_or_else(|| fail(name, "is not a function of the object"))?;
        if callback.linkage == Linkage::Static || callback.hidden {
            return Err(fail(name, "has to be global and not hidden"));
        }
        Ok(Some(at))
    }
}
