//! The special fields of map values, and the maps that may have them, observed on real kernels.

use core_relo::insn::Helper;
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

    /// Returns the size in bytes.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Self::SpinLock | Self::ResilientSpinLock => 4,
            Self::TaskWork | Self::KernelPointer => 8,
            Self::Timer | Self::WorkQueue | Self::ListHead | Self::TreeRoot => 16,
        }
    }

    /// Returns whether every kernel that knows the field creates maps of a type with it. A loader creates
    /// other maps without the types of their values, so that they have no such field.
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

    /// Returns whether no kernel finds the field in the values of maps of a type. The type of the keys
    /// decides on locks in cgroup storage (kernel: `map_check_btf`, `cgroup_storage_check_btf`).
    pub(crate) const fn never_fits(self, map_type: MapType) -> bool {
        use MapType as M;
        let is_storage = matches!(map_type, M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage);
        let is_shared = matches!(map_type, M::Hash | M::LruHash | M::Array | M::Rhash);
        let is_lru_hash = matches!(map_type, M::LruHash);
        match self {
            Self::SpinLock | Self::ResilientSpinLock => {
                is_lru_hash || !(is_shared || is_storage || matches!(map_type, M::CgroupStorage))
            }
            Self::Timer | Self::WorkQueue | Self::TaskWork => !is_shared,
            Self::ListHead | Self::TreeRoot => matches!(map_type, M::Rhash) || !(is_shared || is_storage),
            Self::KernelPointer => {
                let is_per_cpu = matches!(map_type, M::PercpuHash | M::PercpuArray | M::LruPercpuHash);
                !(is_shared || is_storage || is_per_cpu)
            }
        }
    }

    /// Returns whether the kernel creates no maps whose values have such a field twice.
    pub(crate) const fn is_single(self) -> bool {
        !matches!(self, Self::ListHead | Self::TreeRoot | Self::KernelPointer)
    }

    /// Returns whether each observed kernel knows the field. Linux 6.18 knows all.
    pub(super) const fn known_row(self) -> [bool; 4] {
        match self {
            Self::SpinLock => [true; 4],
            Self::Timer | Self::KernelPointer => [false, true, true, true],
            Self::WorkQueue | Self::ListHead | Self::TreeRoot => [false, false, true, true],
            Self::ResilientSpinLock | Self::TaskWork => [false, false, false, true],
        }
    }
}

/// A function that takes the address of a special field in a map's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a function and its field")]
pub struct FieldFunction {
    /// The function.
    pub callee: FieldCallee,
    /// The field.
    pub field: SpecialField,
}

/// A helper or kfunc that takes the address of a special field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "reasons name each")]
pub enum FieldCallee {
    /// A helper, by number.
    Helper(Helper),
    /// A kfunc, by name.
    Kfunc(&'static str),
}

/// The kfuncs that take the address of a special field, each with the field. Other kfuncs for objects take
/// objects of the program's own.
const FIELD_KFUNCS: [(&str, SpecialField); 25] = {
    use SpecialField as F;
    [
        ("bpf_wq_init", F::WorkQueue),
        ("bpf_wq_set_callback", F::WorkQueue),
        ("bpf_wq_set_callback_impl", F::WorkQueue),
        ("bpf_wq_start", F::WorkQueue),
        ("bpf_res_spin_lock", F::ResilientSpinLock),
        ("bpf_res_spin_unlock", F::ResilientSpinLock),
        ("bpf_res_spin_lock_irqsave", F::ResilientSpinLock),
        ("bpf_res_spin_unlock_irqrestore", F::ResilientSpinLock),
        ("bpf_task_work_schedule_signal", F::TaskWork),
        ("bpf_task_work_schedule_signal_impl", F::TaskWork),
        ("bpf_task_work_schedule_resume", F::TaskWork),
        ("bpf_task_work_schedule_resume_impl", F::TaskWork),
        ("bpf_list_push_front", F::ListHead),
        ("bpf_list_push_front_impl", F::ListHead),
        ("bpf_list_push_back", F::ListHead),
        ("bpf_list_push_back_impl", F::ListHead),
        ("bpf_list_pop_front", F::ListHead),
        ("bpf_list_pop_back", F::ListHead),
        ("bpf_list_front", F::ListHead),
        ("bpf_list_back", F::ListHead),
        ("bpf_rbtree_add", F::TreeRoot),
        ("bpf_rbtree_add_impl", F::TreeRoot),
        ("bpf_rbtree_first", F::TreeRoot),
        ("bpf_rbtree_remove", F::TreeRoot),
        ("bpf_rbtree_root", F::TreeRoot),
    ]
};

impl FieldFunction {
    /// Returns the field that a helper takes (kernel: `process_spin_lock`, `process_timer_func`,
    /// `process_kptr_func`).
    pub(crate) const fn of_helper(helper: Helper) -> Option<Self> {
        let field = match helper {
            Helper::SPIN_LOCK | Helper::SPIN_UNLOCK => SpecialField::SpinLock,
            Helper::TIMER_INIT | Helper::TIMER_SET_CALLBACK | Helper::TIMER_START | Helper::TIMER_CANCEL => {
                SpecialField::Timer
            }
            Helper::KPTR_XCHG => SpecialField::KernelPointer,
            _ => return None,
        };
        Some(Self { callee: FieldCallee::Helper(helper), field })
    }

    /// Returns the field that a kfunc takes.
    pub(crate) fn of_kfunc(name: &[u8]) -> Option<Self> {
        let (kfunc, field) = FIELD_KFUNCS.iter().find(|(kfunc, _)| kfunc.as_bytes() == name)?;
        Some(Self { callee: FieldCallee::Kfunc(kfunc), field: *field })
    }

    /// Returns the register with the address of the field. The first argument of the kfuncs for task work is
    /// the task.
    pub(crate) const fn register(self) -> u8 {
        match self.field {
            SpecialField::TaskWork => 2,
            _ => 1,
        }
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

    /// No field fits maps of a type on every kernel and on none.
    #[test]
    fn a_map_type_with_a_field_has_the_field_on_some_kernel() {
        for field in SpecialField::ALL {
            for map_type in MapType::ALL {
                assert!(!(field.fits(*map_type) && field.never_fits(*map_type)), "{field:?} {map_type}");
            }
        }
    }

    /// Protects the register of each function.
    #[test]
    fn functions_take_the_field_in_one_register() {
        let task_work = FieldFunction::of_kfunc(b"bpf_task_work_schedule_signal").unwrap();
        assert_eq!((task_work.field, task_work.register()), (SpecialField::TaskWork, 2));
        let lock = FieldFunction::of_helper(Helper::SPIN_LOCK).unwrap();
        assert_eq!((lock.field, lock.register()), (SpecialField::SpinLock, 1));
        assert_eq!(FieldFunction::of_kfunc(b"bpf_obj_new"), None);
        assert_eq!(FieldFunction::of_helper(Helper::MAP_LOOKUP_ELEM), None);
    }
}
