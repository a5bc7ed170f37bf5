//! The places and forms of special fields that only some kernels find, or accept, observed on real kernels.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    observed::Observations,
    special_fields::SpecialField,
};

/// A special field of a map's values, or of a data section, that has the field once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "callers decide on each part")]
pub struct ValueField {
    /// The field.
    pub field: SpecialField,
    /// Whether the field is in a struct or an array within the value, or within a variable. Kernels find such
    /// fields from 6.11 on.
    pub is_nested: bool,
    /// Whether each kernel that knows the field finds it, whatever else is in the values.
    pub is_found: bool,
}

/// A form of a special field that only some kernels find in the values of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "reasons name each")]
pub enum FieldForm {
    /// A field in a struct, or in an array, within the struct of the values (6.11).
    Nested,
    /// A variable of a data section (5.15).
    Variable,
    /// A variable of a data section whose address the program loads again before it releases the lock.
    /// Kernels before 6.2 take the lock for another one.
    ReloadedVariable,
    /// A pointer with the tag `kptr` (6.4).
    KptrTag,
    /// A pointer with the tag `kptr_ref`, as the tag `kptr` was before 6.4.
    KptrRefTag,
    /// A field beside another that the kernel does not accept in such values.
    BesideRefused {
        /// The other field.
        other: SpecialField,
        /// Whether values have the other field several times. Otherwise, maps of the type may not have it.
        is_repeated: bool,
        /// Whether the other field is in a struct or an array within the value.
        is_nested: bool,
    },
}

/// What has a special field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the tables have rows for each")]
pub enum FieldHolder {
    /// The values of a map.
    Value,
    /// The values of a map that programs only write to. The kernel takes no types of such values from 6.2 on.
    WriteOnlyValue,
    /// A data section. Linux 5.10 does not look for fields among variables.
    Variable,
}

impl FieldHolder {
    /// Returns what the observed kernels do, where `row` is what they do about members of values.
    pub(super) const fn apply(self, [oldest, older, newer, newest]: [Option<bool>; 4]) -> [Option<bool>; 4] {
        match self {
            Self::Value => [oldest, older, newer, newest],
            Self::WriteOnlyValue => [oldest, older, YES, YES],
            Self::Variable => [YES, older, newer, newest],
        }
    }
}

impl FieldForm {
    /// Returns whether each observed kernel finds fields of the form.
    pub(super) fn row(self) -> [Option<bool>; 4] {
        match self {
            // Before 6.2, a kernel looks for fields of each kind apart, and before 6.11 at the members of the
            // value alone.
            Self::BesideRefused { other, is_repeated, is_nested } => {
                let [oldest, older, newer, newest] = other.known_row();
                let is_apart = is_repeated || is_nested;
                let refuses = [oldest && !is_apart, older && !is_apart, newer, newest];
                refuses.map(|refuses| Some(!refuses))
            }
            Self::Nested | Self::ReloadedVariable => [NO, NO, YES, YES],
            Self::Variable => [NO, YES, YES, YES],
            Self::KptrTag => [None, NO, YES, YES],
            Self::KptrRefTag => [None, YES, NO, NO],
        }
    }
}

/// A place of values with a special field where some kernels create no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge has a message for each")]
pub enum FieldPlace {
    /// Local storage, which no loader creates without types.
    LocalStorage,
    /// The inner maps of a map of maps.
    InnerMap,
    /// A data section that a loader maps into memory.
    MappedSection,
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

impl ValueField {
    /// Returns what the observed kernels do, where `row` is what they do about members of values.
    pub(super) const fn apply(self, [oldest, older, newer, newest]: [Option<bool>; 4]) -> [Option<bool>; 4] {
        if self.is_nested { [YES, YES, newer, newest] } else { [oldest, older, newer, newest] }
    }

    /// Returns whether all observed kernels accept the field at a place.
    pub(crate) fn always_fits_place(self, place: FieldPlace) -> bool {
        self.place_row(place) == [YES; 4]
    }

    /// Returns whether each observed kernel accepts the field at a place. Older kernels do not know the
    /// field.
    const fn place_row(self, place: FieldPlace) -> [Option<bool>; 4] {
        use SpecialField as F;
        self.apply(match (place, self.field) {
            // Lists and trees need a lock.
            (FieldPlace::InnerMap, F::SpinLock) => [NO, NO, YES, YES],
            (FieldPlace::InnerMap, _) | (FieldPlace::LocalStorage, F::SpinLock | F::ResilientSpinLock) => {
                [YES; 4]
            }
            // Variables are searched for fields since 5.15. Kernels without the field map the section.
            (FieldPlace::LocalStorage, F::Timer)
            | (FieldPlace::MappedSection, F::SpinLock | F::Timer | F::KernelPointer) => [YES, NO, NO, NO],
            (
                FieldPlace::LocalStorage | FieldPlace::MappedSection,
                F::WorkQueue | F::ListHead | F::TreeRoot,
            ) => [YES, YES, NO, NO],
            (FieldPlace::LocalStorage, F::TaskWork)
            | (FieldPlace::MappedSection, F::ResilientSpinLock | F::TaskWork) => [YES, YES, YES, NO],
            (FieldPlace::LocalStorage, F::KernelPointer) => [YES, NO, YES, YES],
        })
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel creates maps whose values have a special field at a place.
    pub(crate) fn map_field(&self, place: FieldPlace, field: ValueField) -> Answer {
        let row = field.place_row(place);
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        // What Linux 6.18 does, where 6.12 and 7.2 differ.
        let is_late = match place {
            FieldPlace::MappedSection => true,
            FieldPlace::LocalStorage => field.field == SpecialField::TaskWork,
            FieldPlace::InnerMap => false,
        };
        let observations = observations.with_late(is_late.then_some(false));
        let what = match place {
            FieldPlace::MappedSection => "map such sections into memory",
            FieldPlace::LocalStorage | FieldPlace::InnerMap => "create such maps",
        };
        let text = format!("kernels like this one {what}");
        let exists = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        let answer = self.answer_observed(observations, what, exists);
        self.if_found(answer, field, place == FieldPlace::MappedSection)
    }

    /// Returns the answer about a special field, if other parts of the values decide on whether the kernel
    /// finds the field. Data sections are arrays, whose values may have each field.
    pub(super) fn if_found(&self, answer: Answer, field: ValueField, is_variable: bool) -> Answer {
        let is_found = || field.is_found || (is_variable && self.finds_apart(field));
        match answer {
            Answer::Absent(_) if !is_found() => Answer::Unknown(match field.field {
                SpecialField::KernelPointer => {
                    "a kernel that lacks the pointer's type, or a way to release it, finds no field".into()
                }
                _ => "a kernel that refuses another part of the value does not find the field".into(),
            }),
            answer => answer,
        }
    }

    /// Returns whether the kernel looks for fields of each kind apart, as kernels before 6.2 do, and finds a
    /// variable of this kind. Kptrs are found by their types.
    fn finds_apart(&self, field: ValueField) -> bool {
        let row = [YES, YES, NO, NO];
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        let exists = Answer::Present(Evidence { source: EvidenceSource::Version, text: String::new() });
        field.field != SpecialField::KernelPointer
            && self.answer_observed(observations, "look for fields apart", exists).is_present()
    }
}
