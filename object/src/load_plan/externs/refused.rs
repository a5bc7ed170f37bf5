//! Refused externs, and the programs that use them.

use crate::{
    elf::text,
    link::{ProgramLinker, RefTarget},
    load_plan::error::{KernelFact, LoadPlanError, Refusal},
    object::Program,
    target::KernelBtfError,
};
use core::cell::Cell;
use core_relo::Text;
use std::collections::HashMap;

/// The refused externs. Several errors of one extern count as a single refusal.
#[derive(Debug, Default)]
pub(in crate::load_plan) struct RefusedExterns<'e> {
    list: Vec<Refusal>,
    /// The index of each extern in the list, by name.
    names: HashMap<&'e [u8], usize>,
    /// The reason why the kernel has no types, if an extern needs them.
    no_types: Option<KernelBtfError>,
}

impl<'e> RefusedExterns<'e> {
    pub(super) fn add(&mut self, name: &'e [u8], why: impl Into<Text>) {
        self.add_refusal(name, || Refusal::new(text(name), why));
    }

    fn add_refusal(&mut self, name: &'e [u8], refusal: impl FnOnce() -> Refusal) {
        let next = self.list.len();
        self.names.entry(name).or_insert_with(|| {
            self.list.push(refusal());
            next
        });
    }

    /// Adds the symbol of another kernel, whose symbols are unknown.
    pub(super) fn add_unknown_address(&mut self, name: &'e [u8]) {
        let why = "its address in that kernel is unknown";
        self.add_refusal(name, || Refusal::for_missing(text(name), why, KernelFact::Symbols));
    }

    /// Adds an extern that needs the types of a kernel without types.
    pub(super) fn add_without_types(&mut self, name: &'e [u8], cause: KernelBtfError) {
        self.add(name, format!("the kernel's types are needed for it: {cause}"));
        self.no_types.get_or_insert(cause);
    }

    /// Fails if an extern is refused (libbpf: `bpf_object__resolve_externs`), whether a program uses it or not.
    pub(in crate::load_plan) fn check_none(&self) -> Result<(), LoadPlanError> {
        match &self.no_types {
            Some(cause) => Err(LoadPlanError::Types { what: "externs", cause: cause.clone() }),
            None if self.list.is_empty() => Ok(()),
            None => Err(LoadPlanError::Externs(self.list.clone())),
        }
    }

    /// Fails if a loaded program uses a refused extern. The error names the first such program.
    pub(in crate::load_plan) fn check_unused(
        &self,
        linker: &ProgramLinker<'_, '_>,
        loaded: &[bool],
    ) -> Result<(), LoadPlanError> {
        if self.list.is_empty() {
            return Ok(());
        }
        let used = Cell::new(None);
        let program = linker.find_caller(loaded, |function| {
            let mut targets = linker.references(function);
            let refused = targets.find_map(|target| match target {
                RefTarget::Extern(index) => self.find(linker.externs.get(index.0)?.name),
                _ => None,
            });
            used.set(used.get().or(refused));
            refused.is_some()
        })?;
        let program = program.and_then(|program| linker.object().programs().get(program.0));
        match program.zip(used.get()) {
            Some((program, Refusal { name, reason, .. })) => Err(LoadPlanError::Program {
                program: text(Program::name(program)),
                what: format!("unresolved extern: {name}: {reason}").into(),
            }),
            None => Ok(()),
        }
    }

    fn find(&self, name: &[u8]) -> Option<&Refusal> {
        self.list.get(*self.names.get(name)?)
    }
}
