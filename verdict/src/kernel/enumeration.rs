//! The enumerators of the kernel's enums of numbers: helpers, map types, program types.

use super::answer::Answer;
use core_relo::{
    Name,
    btf::{Enumerator, Type},
};

/// An enum of the kernel whose enumerators are numbers of bpf(2).
#[derive(Clone, Debug)]
pub(super) struct Enumeration<'k> {
    name: &'static str,
    ty: Option<Type<'k>>,
    /// The values and the indices of their first enumerators, in order of value.
    by_value: Vec<(u32, u32)>,
    /// The name of the highest value; `None` if the BTF lacks the enum.
    last: Option<Name<'k>>,
}

/// The values from here on are flags, such as `BPF_COMMON_ATTRS` in `enum bpf_cmd`.
const FLAGS: u64 = 1 << 16;

impl<'k> Enumeration<'k> {
    pub(super) fn new(name: &'static str, ty: Option<Type<'k>>) -> Self {
        let enumerators = ty.into_iter().flat_map(Type::enumerators);
        let mut by_value: Vec<_> = enumerators
            .filter(|enumerator| enumerator.value < FLAGS && !is_end(enumerator))
            .filter_map(|enumerator| Some((u32::try_from(enumerator.value).ok()?, enumerator.index)))
            .collect();
        by_value.sort_unstable();
        by_value.dedup_by_key(|(value, _)| *value);
        let last = by_value.last().and_then(|(_, index)| ty?.enumerator(*index));
        Self { name, ty, by_value, last: last.map(|enumerator| enumerator.name) }
    }

    /// Returns the enumerator of a value.
    pub(super) fn enumerator(&self, value: u32) -> Option<Name<'k>> {
        let position = self.by_value.binary_search_by_key(&value, |(value, _)| *value).ok()?;
        let (_, index) = self.by_value.get(position)?;
        Some(self.ty?.enumerator(*index)?.name)
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether the BTF lacks the enum.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.by_value.len()
    }

    /// Answers whether the enum has a value. `known_name` is the value's name in newer kernels.
    pub(super) fn answer(&self, value: u32, known_name: Option<&str>) -> Answer {
        let name = self.name;
        let Some(last) = self.last else {
            return Answer::Unknown(format!("the kernel's BTF has no enum {name}"));
        };
        if let Some(enumerator) = self.enumerator(value) {
            return Answer::present_in_btf(format!("enum {name} has {}", enumerator.shortened()));
        }
        let end = last.shortened();
        match known_name {
            Some(known) => Answer::absent_from_btf(format!("enum {name} has no {known}: it ends with {end}")),
            None => Answer::absent_from_btf(format!("enum {name} has no value {value}: it ends with {end}")),
        }
    }
}

/// Returns whether an enumerator is the count of the others: `__BPF_FUNC_MAX_ID`, `__MAX_BPF_CMD`,
/// `MAX_BPF_LINK_TYPE`.
fn is_end(enumerator: &Enumerator<'_>) -> bool {
    let name = enumerator.name.as_bytes();
    name.starts_with(b"__") || name.starts_with(b"MAX_BPF_")
}
