//! Refused externs, and the programs that use them.

use crate::{
    elf::text,
    internal::Invariant as _,
    link::{ProgramLinker, RefTarget},
    load_plan::error::{KernelFact, LoadPlanError, Refusal},
    object::Program,
    target::KernelBtfError,
};
use core_relo::Text;
use hashbrown::HashMap;

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

    pub(super) fn add_refusal(&mut self, name: &'e [u8], refusal: impl FnOnce() -> Refusal) {
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

    /// Fails if an extern is refused (libbpf: `bpf_object__resolve_externs`), whether a program uses it or
    /// not.
    pub(in crate::load_plan) fn check_none(&self) -> Result<(), LoadPlanError> {
        match &self.no_types {
            Some(cause) => Err(LoadPlanError::Types { what: "externs", cause: cause.clone() }),
            None if self.list.is_empty() => Ok(()),
            None => Err(LoadPlanError::Externs(self.list.clone())),
        }
    }

    /// Fails if a loaded program uses a refused extern. The error names the first such program. If all that
    /// the loaded programs lack are facts about the kernel, the error names the first fact, and no program is
    /// to blame.
    pub(in crate::load_plan) fn check_unused(
        &self,
        linker: &ProgramLinker<'_, '_>,
        loaded: &[bool],
    ) -> Result<(), LoadPlanError> {
        if self.list.is_empty() {
            return Ok(());
        }
        if let Some((program, Refusal { name, reason, .. })) =
            self.find_use(linker, loaded, |refusal| refusal.missing.is_none())?
        {
            return Err(LoadPlanError::Program {
                program: text(program.name()),
                what: format!("unresolved extern: {name}: {reason}").into(),
            });
        }
        match self.find_use(linker, loaded, |refusal| refusal.missing.is_some())? {
            Some((_, refusal)) => Err(LoadPlanError::Externs(vec![refusal.clone()])),
            None => Ok(()),
        }
    }

    /// Returns the first loaded program that uses a refused extern of a kind, and the refusal.
    fn find_use<'o, 'd>(
        &self,
        linker: &ProgramLinker<'o, 'd>,
        loaded: &[bool],
        is_sought: impl Fn(&Refusal) -> bool,
    ) -> Result<Option<(&'o Program<'d>, &Refusal)>, LoadPlanError> {
        let mut used = None;
        let program = linker.find_caller(loaded, |function| {
            for target in linker.references(function)? {
                let RefTarget::Extern(index) = target else { continue };
                let symbol =
                    linker.externs.get(index.0).invariant("a reference is to an extern of the object")?;
                if let Some(refusal) = self.find(symbol.name).filter(|refusal| is_sought(refusal)) {
                    used.get_or_insert(refusal);
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        let Some(program) = program else { return Ok(None) };
        let program = linker.object().programs().get(program.0);
        let program = program.invariant("a loaded program is one of the object's")?;
        let refusal = used.invariant("a program that was found uses a refused extern")?;
        Ok(Some((program, refusal)))
    }

    fn find(&self, name: &[u8]) -> Option<&Refusal> {
        self.list.get(*self.names.get(name)?)
    }
}
