//! The types and enumerators that a set of names needs, found in one pass over a BTF.

use super::{error::KernelValueError, kernel_value::KernelValue};
use core_relo::btf::{Btf, Enumerator, Kind, Type};
use core_relo_object::shown_name;
use hashbrown::HashMap;

/// The kinds of types that a path begins with.
pub(super) const ROOT_KINDS: [Kind; 3] = [Kind::Struct, Kind::Union, Kind::Typedef];

/// The types and enumerators of a BTF that a set of values names.
pub(super) struct NamedTypes<'b> {
    btf: &'b Btf<'b>,
    /// The types that paths begin with, in the order of their kinds. The entry of a name that the BTF lacks
    /// is empty.
    roots: HashMap<Vec<u8>, Vec<Type<'b>>>,
    enums: HashMap<Vec<u8>, Vec<Type<'b>>>,
    /// The values of enumerators that are wanted from any enum, in the order of the enums.
    enumerators: HashMap<Vec<u8>, Vec<i128>>,
}

impl<'b> NamedTypes<'b> {
    /// Finds the types and enumerators of some values.
    pub(super) fn collect<'v>(btf: &'b Btf<'b>, values: impl IntoIterator<Item = &'v KernelValue>) -> Self {
        let mut types =
            Self { btf, roots: HashMap::new(), enums: HashMap::new(), enumerators: HashMap::new() };
        for value in values {
            types.add_names(value);
        }
        if !types.roots.is_empty() {
            let mut add = |ty: Type<'b>| {
                types.roots.get_mut(ty.name().as_bytes()).into_iter().for_each(|found| found.push(ty));
            };
            for kind in ROOT_KINDS {
                btf.visit_kind(kind, &mut add);
            }
        }
        if !types.enums.is_empty() || !types.enumerators.is_empty() {
            // Enumerations of 64 bits come after all others, which decides about the first of several values.
            btf.visit_kind(Kind::Enum, |ty| types.add_enum(ty));
            btf.visit_kind(Kind::Enum64, |ty| types.add_enum(ty));
        }
        types
    }

    /// Returns the BTF.
    pub(super) const fn btf(&self) -> &'b Btf<'b> {
        self.btf
    }

    /// Returns the type that a path begins with: the first struct, else the first union, else the first
    /// typedef of the name.
    pub(super) fn root(&self, name: &str) -> Option<Type<'b>> {
        let types = self.roots.get(name.as_bytes())?;
        ROOT_KINDS.into_iter().find_map(|kind| types.iter().find(|ty| ty.kind() == kind)).copied()
    }

    /// Checks that the kernel has one type of a name. Some kernels have several structs of one name with
    /// different layouts.
    pub(super) fn check_unique(&self, name: &str) -> Result<(), KernelValueError> {
        let kind = self.root(name).map(Type::kind);
        let types = self.roots.get(name.as_bytes()).into_iter().flatten();
        let count = types.filter(|ty| Some(ty.kind()) == kind).count();
        if count > 1 {
            return Err(KernelValueError::AmbiguousType { name: shown_name(name.as_bytes()), count });
        }
        Ok(())
    }

    /// Returns the enums of a name.
    pub(super) fn enums(&self, name: &str) -> &[Type<'b>] {
        self.enums.get(name.as_bytes()).map_or(&[], Vec::as_slice)
    }

    /// Returns the values of the enumerators of a name in all enums.
    pub(super) fn enumerators(&self, name: &str) -> &[i128] {
        self.enumerators.get(name.as_bytes()).map_or(&[], Vec::as_slice)
    }

    /// Adds the names that a value needs.
    fn add_names(&mut self, value: &KernelValue) {
        let path = value.unprefixed_path();
        match (value, path.rsplit_once('.')) {
            (KernelValue::EnumValue(_), Some((parent, _))) => {
                self.enums.entry(parent.as_bytes().to_vec()).or_default();
            }
            (KernelValue::EnumValue(_), None) => {
                self.enumerators.entry(path.as_bytes().to_vec()).or_default();
            }
            _ => drop(self.roots.entry(root_name(path).as_bytes().to_vec()).or_default()),
        }
    }

    fn add_enum(&mut self, ty: Type<'b>) {
        if let Some(enums) = self.enums.get_mut(ty.name().as_bytes()) {
            enums.push(ty);
        }
        if self.enumerators.is_empty() {
            return;
        }
        for enumerator in ty.enumerators() {
            if let Some(values) = self.enumerators.get_mut(enumerator.name.as_bytes()) {
                values.push(value_of(enumerator));
            }
        }
    }
}

/// Returns the name of the type that a path begins with.
pub(super) fn root_name(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// Returns the names of all types that a path can begin with.
pub(super) fn root_names<'b>(btf: &'b Btf<'_>) -> impl Iterator<Item = &'b [u8]> {
    btf.types().filter(|ty| ROOT_KINDS.contains(&ty.kind())).map(|ty| ty.name().as_bytes())
}

/// Returns the value of an enumerator in C.
pub(super) fn value_of(enumerator: Enumerator<'_>) -> i128 {
    match (enumerator.signed, enumerator.wide) {
        (true, _) => i128::from(enumerator.value.cast_signed()),
        (false, true) => i128::from(enumerator.value),
        (false, false) => i128::from(enumerator.value & u64::from(u32::MAX)),
    }
}
