//! The existence checks of a program: what the program can do without.

use super::program::ProgramNeeds;
use core_relo::{
    Relocs, TypeId,
    ext::RelocKind,
    spec::{Accessor, Spec},
};
use hashbrown::HashMap;

/// The existence checks of a program, such as `bpf_core_field_exists()`, with those of its subprograms.
#[derive(Clone, Debug)]
pub struct ExistenceChecks<'r> {
    /// The kind of check, by root type and access. A check of the type itself has no accessors.
    kinds: HashMap<(TypeId, &'r [Accessor]), RelocKind>,
}

impl<'r> ExistenceChecks<'r> {
    /// Collects the checks of a program. `relocs` are those of the program's object.
    pub fn collect(program: &ProgramNeeds, relocs: &'r Relocs<'_>) -> Self {
        let mut kinds = HashMap::new();
        for (_, record) in &program.records {
            let spec = relocs.records().get(*record).and_then(|record| record.spec.as_ref().ok());
            if let Some(spec) = spec.filter(|spec| is_existence_check(spec.kind)) {
                kinds.entry((spec.root, &*spec.accessors)).or_insert(spec.kind);
            }
        }
        Self { kinds }
    }

    /// Returns the kind of the check that a program has for an access, or for the type that the access begins
    /// with. The program may use the access elsewhere without a check.
    pub fn find(&self, access: &Spec) -> Option<RelocKind> {
        let find = |accessors| self.kinds.get(&(access.root, accessors)).copied();
        find(&*access.accessors).or_else(|| find(&[]))
    }
}

/// Returns whether a relocation's value tells a program if the kernel has a field, type or enumerator.
pub const fn is_existence_check(kind: RelocKind) -> bool {
    use RelocKind as K;
    matches!(kind, K::FieldExists | K::TypeExists | K::TypeMatches | K::EnumvalExists)
}
