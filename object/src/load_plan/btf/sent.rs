//! The object's BTF as a loader sends it, without a plan: for checks against the rules of a kernel that is not probed.

use super::{fix_up, hide_functions, sanitize};
use crate::{
    features::{Feature, Features},
    internal::InternalError,
    link::{LinkError, ProgramLinker},
};
use core_relo::btf::{Editor, KernelBtfRules, Kind};

/// The object's BTF, fixed up as for a load.
#[derive(Clone, Debug)]
pub struct SentBtf(Editor);

impl SentBtf {
    /// Fixes up the BTF of the linker's object. Returns `None` for an object without BTF. Fails if a load would fail.
    pub fn new(linker: &ProgramLinker<'_, '_>) -> Result<Option<Self>, LinkError> {
        let object = linker.object();
        let Some(mut edit) = fix_up(object, linker.externs())? else { return Ok(None) };
        hide_functions(object, &mut edit);
        Ok(Some(Self(edit)))
    }

    /// Returns the bytes that a kernel with these rules gets.
    pub fn bytes(&self, rules: &KernelBtfRules) -> Result<Vec<u8>, InternalError> {
        let features = Features::fixed(|feature| match feature {
            Feature::BtfFloat => rules.knows(Kind::Float),
            Feature::BtfDeclTag => rules.knows(Kind::DeclTag),
            Feature::BtfTypeTag => rules.knows(Kind::TypeTag),
            Feature::BtfEnum64 => rules.knows(Kind::Enum64),
            Feature::BtfQmarkDatasec => rules.allows_printable_sections(),
            _ => true,
        });
        let mut edit = self.0.clone();
        sanitize(&mut edit, &features)?;
        Ok(edit.finish())
    }
}
