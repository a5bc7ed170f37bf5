//! The state of a writer of a header.

use super::{CHeader, is_bool, names, scope::Scope};
use crate::{ids::TypeId, view::Type};
use alloc::{string::String, vec::Vec};
use core::fmt::{Formatter, Result};
use hashbrown::HashSet;

/// The parameters and members that are printed in addition to one for each four bytes of the BTF.
///
/// Composites without a name, and functions, are printed wherever they are used, so that a hostile BTF has
/// more text than bytes.
const STEPS: usize = 1 << 16;

/// A writer of one header. Declarations are put together in `text`.
pub(super) struct Printer<'h, 'b, 'g> {
    pub(super) header: &'h CHeader<'b>,
    pub(super) out: &'h mut Formatter<'g>,
    pub(super) text: String,
    /// The typedefs and composites that have been declared.
    pub(super) declared: HashSet<TypeId>,
    /// Parameters and members that may still be printed.
    steps: usize,
    pub(super) scope: Scope<'b>,
    /// The members of members without a name in the current definition. Within it, clang takes their names
    /// for no types.
    pub(super) hiding: HashSet<String>,
    /// The offsets, in bytes, of the members of the current definition that assertions can name.
    pub(super) offsets: Vec<(String, u64)>,
    /// The assertions on the definitions so far.
    pub(super) assertions: String,
}

impl<'h, 'b, 'g> Printer<'h, 'b, 'g> {
    #[expect(clippy::disallowed_methods, reason = "a limit on work, which grows with the BTF")]
    pub(super) fn new(header: &'h CHeader<'b>, out: &'h mut Formatter<'g>) -> Self {
        let mut bytes = header.btf.as_bytes().len();
        if let Some(base) = header.btf.base() {
            bytes = bytes.saturating_add(base.as_bytes().len());
        }
        Self {
            header,
            out,
            text: String::new(),
            declared: HashSet::new(),
            steps: bytes.div_ceil(4).saturating_add(STEPS),
            scope: Scope::default(),
            hiding: HashSet::new(),
            offsets: Vec::new(),
            assertions: String::new(),
        }
    }

    pub(super) fn flush(&mut self) -> Result {
        self.out.write_str(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Uses up one of the steps. Returns false if none is left.
    pub(super) fn take_step(&mut self) -> bool {
        match self.steps.checked_sub(1) {
            Some(left) => {
                self.steps = left;
                true
            }
            None => false,
        }
    }

    /// Returns the name of a type as the header writes it.
    pub(super) fn name(&self, ty: Type<'_>) -> String {
        let name = self.identifier(ty);
        match names::in_all_standards(&name) {
            written if written != name && !self.is_own_bool(ty) => String::from(written),
            _ => name,
        }
    }

    /// Returns whether a type is the `bool` that the language may have.
    pub(super) fn is_own_bool(&self, ty: Type<'_>) -> bool {
        is_bool(ty) && !self.header.renamed.types.contains_key(&ty.id())
    }

    /// Returns the identifier of a type, before C23.
    pub(super) fn identifier(&self, ty: Type<'_>) -> String {
        match self.header.renamed.types.get(&ty.id()) {
            Some(name) => name.clone(),
            None => String::from_utf8_lossy(ty.name().as_bytes()).into_owned(),
        }
    }
}
