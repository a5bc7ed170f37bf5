//! The special fields of map values, and the maps that may have them, observed on real kernels.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    observed::Observations,
};
use core_relo_object::object::MapType;

/// A field of map values that the kernel manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum SpecialField {
    /// `struct bpf_spin_lock`.
    SpinLock,
    /// `struct bpf_res_spin_lock`.
    ResilientSpinLock,
    /// `struct bpf_timer`.
    Timer,
    /// `struct bpf_wq`.
    WorkQueue,
    /// `struct bpf_task_work`.
    TaskWork,
    /// `struct bpf_list_head`.
    ListHead,
    /// `struct bpf_rb_root`.
    TreeRoot,
    /// A pointer to a kernel object: one with the type tag `kptr`.
    KernelPointer,
}

impl SpecialField {
    /// All fields.
    pub const ALL: [Self; 8] = [
        Self::SpinLock,
        Self::ResilientSpinLock,
        Self::Timer,
        Self::WorkQueue,
        Self::TaskWork,
        Self::ListHead,
        Self::TreeRoot,
        Self::KernelPointer,
    ];

    /// Returns the name of the struct, or of the type tag.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpinLock => "bpf_spin_lock",
            Self::ResilientSpinLock => "bpf_res_spin_lock",
            Self::Timer => "bpf_timer",
            Self::WorkQueue => "bpf_wq",
            Self::TaskWork => "bpf_task_work",
            Self::ListHead => "bpf_list_head",
            Self::TreeRoot => "bpf_rb_root",
            Self::KernelPointer => "kptr",
        }
    }

    /// Returns the field of a map's value that a helper takes as its first argument (kernel: `process_spin_lock`, `process_timer_func`,
    /// `process_kptr_func`).
    pub(crate) const fn of_helper(helper: u32) -> Option<Self> {
        Some(match helper {
            // bpf_spin_lock and bpf_spin_unlock.
            93 | 94 => Self::SpinLock,
            // bpf_timer_init, bpf_timer_set_callback, bpf_timer_start and bpf_timer_cancel.
            169..=172 => Self::Timer,
            // bpf_kptr_xchg.
            194 => Self::KernelPointer,
            _ => return None,
        })
    }

    /// Returns the size in bytes.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Self::SpinLock | Self::ResilientSpinLock => 4,
            Self::TaskWork | Self::KernelPointer => 8,
            Self::Timer | Self::WorkQueue | Self::ListHead | Self::TreeRoot => 16,
        }
    }

    /// Returns whether every kernel that knows the field creates maps of a type with it. A loader creates other maps without the types
    /// of their values, so that they have no such field.
    pub(crate) const fn fits(self, map_type: MapType) -> bool {
        use MapType as M;
        match self {
            Self::SpinLock | Self::ResilientSpinLock => matches!(
                map_type,
                M::Hash | M::Array | M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage
            ),
            Self::Timer | Self::WorkQueue | Self::TaskWork => {
                matches!(map_type, M::Hash | M::Array | M::LruHash)
            }
            Self::ListHead | Self::TreeRoot => matches!(map_type, M::Hash | M::Array),
            Self::KernelPointer => matches!(map_type, M::Hash | M::Array | M::LruHash | M::PercpuArray),
        }
    }

    /// Returns whether no kernel creates maps of a type with the field. Newer kernels accept lists, trees and kptrs in more types. The type
    /// of the keys decides on locks in cgroup storage (kernel: `cgroup_storage_check_btf`).
    pub(crate) const fn never_fits(self, map_type: MapType) -> bool {
        let is_lock = matches!(self, Self::SpinLock | Self::ResilientSpinLock);
        self.is_single() && !self.fits(map_type) && !(is_lock && matches!(map_type, MapType::CgroupStorage))
    }

    /// Returns whether values have at most one such field.
    pub(crate) const fn is_single(self) -> bool {
        !matches!(self, Self::ListHead | Self::TreeRoot | Self::KernelPointer)
    }

    /// Returns whether all observed kernels accept the field at a place.
    pub(crate) fn always_fits_place(self, place: FieldPlace) -> bool {
        self.place_row(place) == [YES; 4]
    }

    /// Returns whether each observed kernel accepts the field at a place. Older kernels do not know the field.
    const fn place_row(self, place: FieldPlace) -> [Option<bool>; 4] {
        match (place, self) {
            // Lists and trees need a lock.
            (FieldPlace::InnerMap, Self::SpinLock) => [NO, NO, YES, YES],
            (FieldPlace::InnerMap, _)
            | (FieldPlace::LocalStorage, Self::SpinLock | Self::ResilientSpinLock) => [YES; 4],
            (FieldPlace::LocalStorage, Self::Timer) => [YES, NO, NO, NO],
            (FieldPlace::LocalStorage, Self::WorkQueue | Self::ListHead | Self::TreeRoot) => {
                [YES, YES, NO, NO]
            }
            (FieldPlace::LocalStorage, Self::TaskWork) => [YES, YES, YES, NO],
            (FieldPlace::LocalStorage, Self::KernelPointer) => [YES, NO, YES, YES],
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
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

impl KernelFacts<'_> {
    /// Answers whether the kernel creates maps whose values have a special field at a place.
    pub(crate) fn map_field(&self, place: FieldPlace, field: SpecialField) -> Answer {
        let row = field.place_row(place);
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        let text = "kernels like this one create such maps".to_owned();
        let exists = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        self.answer_observed(observations, "create such maps", exists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18 loads a program that takes a lock in cgroup storage.
    #[test]
    fn cgroup_storage_may_have_locks() {
        let never_fits = |field: SpecialField| field.never_fits(MapType::CgroupStorage);
        assert!(!never_fits(SpecialField::SpinLock) && !never_fits(SpecialField::ResilientSpinLock));
        assert!(never_fits(SpecialField::Timer));
        assert!(SpecialField::SpinLock.never_fits(MapType::PercpuCgroupStorage));
    }
}
