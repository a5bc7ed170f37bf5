//! The search for the numbers of a kernel's types.

use super::{
    error::KernelValueError,
    kernel_value::{KernelValue, has_selector},
    named_types::{NamedTypes, ROOT_KINDS, root_name, root_names, value_of},
    path::{self, missing, similar_names},
};
use core_relo::btf::{Btf, Kind, Type};
use core_relo_object::{
    shown_name,
    target::{KernelBtf, KernelBtfError},
};

impl KernelValue {
    /// Finds the number in the types of a kernel: in vmlinux, or in the modules if vmlinux lacks the type.
    pub fn find(&self, kernel: &KernelBtf) -> Result<i128, KernelValueError> {
        self.check_syntax()?;
        let vmlinux = kernel.vmlinux().map_err(KernelBtfError::from)?;
        let found = self.find_with(kernel, &NamedTypes::collect(vmlinux, [self]));
        found.map_err(|error| self.add_similar_names(kernel, error))
    }

    /// Finds the numbers of several values, as [`find`](Self::find), with one pass over the types of vmlinux.
    /// The error of a missing type, or of an enumerator that no enum has, is without similar names, which
    /// take a pass for each error.
    pub fn find_all<'v>(
        kernel: &KernelBtf,
        values: impl IntoIterator<Item = &'v Self>,
    ) -> Vec<Result<i128, KernelValueError>> {
        let values: Vec<_> = values.into_iter().collect();
        let vmlinux = match kernel.vmlinux().map_err(KernelBtfError::from) {
            Ok(vmlinux) => vmlinux,
            Err(cause) => {
                let error = |value: &Self| value.check_syntax().and(Err(cause.clone().into()));
                return values.into_iter().map(error).collect();
            }
        };
        let types = NamedTypes::collect(vmlinux, values.iter().copied());
        values.into_iter().map(|value| value.find_with(kernel, &types)).collect()
    }

    /// Adds the similar names of vmlinux to the error of a missing type, or of an enumerator that no enum
    /// has.
    pub(super) fn add_similar_names(
        &self,
        kernel: &KernelBtf,
        mut error: KernelValueError,
    ) -> KernelValueError {
        if let KernelValueError::Missing { what, place, near, .. } = &mut error
            && place.is_empty()
            && let Ok(vmlinux) = kernel.vmlinux()
        {
            let path = self.unprefixed_path();
            *near = match (self, *what) {
                (Self::EnumValue(_), "type") => {
                    let parent = path.rsplit_once('.').map_or(path, |(parent, _)| parent);
                    similar_names(parent, collect_enums(vmlinux).iter().map(|ty| ty.name().as_bytes()))
                }
                (Self::EnumValue(_), _) => {
                    let enums = collect_enums(vmlinux);
                    let enumerators = enums.iter().copied().flat_map(Type::enumerators);
                    similar_names(path, enumerators.map(|e| e.name.as_bytes()))
                }
                _ => similar_names(root_name(path), root_names(vmlinux)),
            };
        }
        error
    }

    /// Finds the number in vmlinux, whose `types` have the names of the value, or in the modules.
    fn find_with(&self, kernel: &KernelBtf, types: &NamedTypes<'_>) -> Result<i128, KernelValueError> {
        self.check_syntax()?;
        let found = match self.find_in(types) {
            Err(error @ KernelValueError::Missing { what: "type", .. }) => {
                self.find_in_modules(kernel).unwrap_or(Err(error))
            }
            found => found,
        };
        match (self, found) {
            (Self::HasField(_), Err(error)) if error.is_missing_name() => Ok(0),
            (_, found) => found,
        }
    }

    /// Finds the number in the first module that has the type. Returns `None` if no module has the type.
    fn find_in_modules(&self, kernel: &KernelBtf) -> Option<Result<i128, KernelValueError>> {
        if matches!(self, Self::EnumValue(_)) {
            return None;
        }
        let name = root_name(self.unprefixed_path()).as_bytes();
        let module = ROOT_KINDS.into_iter().find_map(|kind| {
            let found = kernel.find_in_modules(name, kind, None).transpose()?;
            Some(found.map(|found| found.module).map_err(KernelBtfError::from))
        });
        let btf = match module? {
            Ok(module) => module?.btf().map_err(KernelBtfError::from),
            Err(error) => Err(error),
        };
        match btf {
            Ok(btf) => btf.map(|btf| self.find_in(&NamedTypes::collect(btf, [self]))),
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Finds the number in a BTF. A field that is missing is an error, also for `HasField`.
    fn find_in(&self, types: &NamedTypes<'_>) -> Result<i128, KernelValueError> {
        let path = self.unprefixed_path();
        match self {
            Self::OffsetOf(shown) => Ok(i128::from(path::find(types, path)?.bytes_from(shown)?.0)),
            Self::SizeOf(_) if !has_selector(path) => path::type_size(types, path),
            Self::SizeOf(shown) => Ok(i128::from(path::find(types, path)?.bytes_from(shown)?.1)),
            Self::EnumValue(_) => find_enumerator(types, path),
            Self::HasField(_) => path::find(types, path).map(|_field| 1),
        }
    }
}

/// Finds an enumerator: `NAME` in any enum, or `enum.NAME`.
fn find_enumerator(types: &NamedTypes<'_>, path: &str) -> Result<i128, KernelValueError> {
    let (values, name) = match path.rsplit_once('.') {
        Some((parent, name)) => {
            let enums = types.enums(parent);
            if enums.is_empty() {
                return Err(missing("type", parent, "", []));
            }
            let all = || enums.iter().copied().flat_map(Type::enumerators);
            let values: Vec<_> =
                all().filter(|e| e.name.as_bytes() == name.as_bytes()).map(value_of).collect();
            if values.is_empty() {
                return Err(missing("enumerator", name, parent, all().map(|e| e.name.as_bytes())));
            }
            (values, name)
        }
        None => (types.enumerators(path).to_vec(), path),
    };
    let Some((first, others)) = values.split_first() else {
        return Err(missing("enumerator", name, "", []));
    };
    match others.iter().find(|other| *other != first) {
        Some(other) => {
            let values = [*first, *other];
            Err(KernelValueError::AmbiguousEnumerator { name: shown_name(name.as_bytes()), values })
        }
        None => Ok(*first),
    }
}

/// Returns all enums of a BTF, for the similar names of an error.
fn collect_enums<'b>(btf: &'b Btf<'_>) -> Vec<Type<'b>> {
    let mut enums = Vec::new();
    for kind in [Kind::Enum, Kind::Enum64] {
        btf.visit_kind(kind, |ty| enums.push(ty));
    }
    enums
}
