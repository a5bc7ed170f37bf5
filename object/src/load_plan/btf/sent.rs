//! The object's BTF as a loader sends it.
//!
//! [`adapt`] makes the BTF of a load plan. [`SentBtf`] calls it without a plan, for checks against the rules
//! of a kernel that is not probed. The check and the load therefore agree about what core-relo repairs.

use super::{fix_up, hide_functions, names::name_rules, repair::repair, sanitize::MissingFeatures};
use crate::{
    features::Feature,
    internal::InternalError,
    link::{LinkError, ProgramLinker},
    load_plan::{repair::Repairs, target_kernel::TargetKernel},
};
use alloc::borrow::Cow;
use core_relo::btf::{Editor, KernelBtfRules, Kind};

/// The object's BTF, fixed up as for a load.
#[derive(Clone, Debug)]
pub struct SentBtf {
    edit: Editor,
    /// The bytes that a kernel gets if it knows all kinds of the BTF.
    bytes: Vec<u8>,
}

impl SentBtf {
    /// Fixes up the BTF of the linker's object. Returns `None` for an object without BTF. Fails if a load
    /// would fail.
    pub fn new(linker: &ProgramLinker<'_, '_>) -> Result<Option<Self>, LinkError> {
        let Some(mut edit) = fix_up(linker)? else { return Ok(None) };
        hide_functions(linker.object(), &mut edit);
        let bytes = edit.finish();
        Ok(Some(Self { edit, bytes }))
    }

    /// Returns whether a kernel with these rules gets the same bytes as a kernel that knows all kinds of the
    /// BTF.
    pub fn is_unchanged(&self, rules: &KernelBtfRules) -> bool {
        missing_features(*rules).affect_none(&self.edit)
    }

    /// Returns the bytes of the strings that a kernel gets.
    pub fn string_bytes(&self) -> u32 {
        self.edit.string_bytes()
    }

    /// Returns the bytes that a kernel with these rules gets.
    pub fn bytes(&self, rules: &KernelBtfRules) -> Result<Cow<'_, [u8]>, InternalError> {
        if self.is_unchanged(rules) {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        let mut edit = self.edit.clone();
        missing_features(*rules).sanitize(&mut edit)?;
        Ok(Cow::Owned(edit.finish()))
    }

    /// Returns the bytes that a kernel with these rules gets from a load plan, which repairs the BTF. Loaders
    /// other than core-relo send [`bytes`](Self::bytes).
    pub fn repaired_bytes(&self, rules: &KernelBtfRules) -> Result<Vec<u8>, InternalError> {
        let mut edit = self.edit.clone();
        let adaptation = Adaptation { missing: missing_features(*rules), rules: *rules };
        adapt(&mut edit, &adaptation, &mut Repairs::default())?;
        Ok(edit.finish())
    }
}

/// The differences between kernels to which a BTF is adapted.
pub(in crate::load_plan) struct Adaptation {
    missing: MissingFeatures,
    rules: KernelBtfRules,
}

impl Adaptation {
    pub(in crate::load_plan) fn to_kernel(kernel: &TargetKernel) -> Self {
        Self {
            missing: MissingFeatures::new(|feature| kernel.features.has(feature)),
            rules: name_rules(kernel),
        }
    }
}

/// Adapts the object's BTF to a kernel: replaces the kinds that the kernel lacks, and repairs what it would
/// refuse.
pub(in crate::load_plan) fn adapt(
    edit: &mut Editor,
    adaptation: &Adaptation,
    repairs: &mut Repairs,
) -> Result<(), InternalError> {
    adaptation.missing.sanitize(edit)?;
    repair(edit, adaptation.rules, repairs)
}

/// Returns the features that a kernel with these rules lacks.
fn missing_features(rules: KernelBtfRules) -> MissingFeatures {
    MissingFeatures::new(|feature| match feature {
        Feature::BtfFloat => rules.knows(Kind::Float),
        Feature::BtfDeclTag => rules.knows(Kind::DeclTag),
        Feature::BtfTypeTag => rules.knows(Kind::TypeTag),
        Feature::BtfEnum64 => rules.knows(Kind::Enum64),
        Feature::BtfQmarkDatasec => rules.allows_printable_sections(),
        _ => true,
    })
}
