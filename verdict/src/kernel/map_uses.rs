//! The uses of maps that some kernels refuse, observed on real kernels.
//!
//! The kernel's `check_map_func_compatibility` and `check_map_prog_compatibility` decide, and BTF has no
//! trace of their decisions. The tables record what the kernels of `OBSERVED_KERNELS` did with a program of
//! each type that uses a map of each type or with each special field, and with each helper that takes a map.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    field_places::{FieldForm, FieldHolder, ValueField},
    fixed_names::{Func, Struct},
    mark::{Mark, MarkPresence},
    observed::Observations,
    observed_kernels::OBSERVED_KERNELS,
    special_fields::{FieldFunction, SpecialField},
};
use core_relo::insn::Helper;
use core_relo_object::object::{MapType, ProgramType};

/// A use of a map that some kernels refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum MapUse {
    /// A helper is called with a map of a type.
    Helper {
        /// The helper.
        helper: Helper,
        /// The type of the map.
        map_type: MapType,
    },
    /// A program that may sleep uses a map of a type.
    Sleepable(MapType),
    /// A program that may sleep uses a map that allocates its elements later, `BPF_F_NO_PREALLOC`.
    SleepableAllocation,
    /// A program of perf events uses a map that allocates its elements later.
    PerfEventAllocation,
    /// A program uses a map whose values have a special field.
    Field {
        /// The field.
        field: ValueField,
        /// The program's type. `None` for any program that may sleep.
        program_type: Option<ProgramType>,
        /// What has the field.
        holder: FieldHolder,
    },
    /// A function takes a special field of a map's value, and the kernel finds none in the type of the
    /// values.
    MissingField {
        /// The function.
        function: FieldFunction,
        /// What should have the field.
        holder: FieldHolder,
    },
    /// A function takes a special field of a map's value, and only some kernels find the field in its form.
    FormedField {
        /// The function.
        function: FieldFunction,
        /// The form of the field.
        form: FieldForm,
    },
    /// A program uses a second map of cgroup storage of a type. It has one of each (kernel:
    /// `bpf_cgroup_storage_assign`).
    SecondStorage(MapType),
    /// A program passes the address of a value to a global function, which may read and write the value.
    /// Programs only read values of the map, or only write to them.
    FunctionArgument {
        /// Whether programs only read values.
        is_read_only: bool,
    },
    /// A program passes the address of a value to a kfunc, for memory that the kernel checks for reads and
    /// writes. Programs only read values of the map, or only write to them.
    KfuncArgument {
        /// Whether programs only read values.
        is_read_only: bool,
    },
    /// A program passes the address of a value to a global function that takes the context.
    ContextArgument,
    /// A program has an address behind the end of a data section, which a load makes shorter (kernel:
    /// `array_map_direct_value_addr`).
    OutsideAddress {
        /// The address, from the start of the section.
        offset: u64,
        /// The size of the section.
        value_bytes: u32,
    },
    /// A program accesses bytes behind the end of a data section, which a load makes shorter.
    OutsideAccess {
        /// The end of the access, from the start of the section.
        end: u64,
        /// The size of the section.
        value_bytes: u32,
    },
    /// A program reads a value of a map that programs only write to.
    Read,
    /// A program writes to a map that programs only read.
    Write,
    /// A program that may not put sockets into maps, nor take them out, does so with a map of sockets.
    Sockets {
        /// The helper.
        helper: Helper,
        /// The program's type.
        program_type: ProgramType,
    },
}

/// A mark of kernels whose timers and work queues serve programs in any context (7.0).
const ANY_CONTEXT: Mark = Mark::Member(Struct::bpf_async_cb, "async_cmds");

/// A mark of kernels with `struct bpf_res_spin_lock` in map values (6.15).
const RESILIENT_LOCKS: Mark = Mark::Function(Func::bpf_res_spin_lock);

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// What each observed kernel does; `None` for a kernel without the map type.
type Row = [Option<bool>; OBSERVED_KERNELS.len()];

const NEVER: Row = [NO; 4];

impl MapUse {
    /// Returns whether all observed kernels accept the use.
    pub(crate) fn is_always_accepted(self) -> bool {
        self.row().is_none_or(|row| !row.contains(&NO))
    }

    /// Returns what the observed kernels do. Returns `None` if nothing was observed.
    fn row(self) -> Option<Row> {
        Some(match self {
            Self::Helper { helper, map_type } => {
                let argument = core_relo_object::helper_maps::map_argument(helper)?;
                if argument.accepts(map_type) || !was_observed(map_type) {
                    return None;
                }
                NEVER
            }
            Self::Sleepable(map_type) => sleepable_row(map_type)?,
            Self::SleepableAllocation | Self::PerfEventAllocation => [NO, YES, YES, YES],
            Self::Field { field, program_type, holder } => {
                field.apply(holder.apply(field_row(field.field, program_type)?))
            }
            // Stable kernels have the check of 6.10 for sockets, too, from 2024 on. Kernels before 6.12 were
            // not observed with calls of kfuncs.
            Self::Sockets { helper: Helper::MAP_DELETE_ELEM, .. } | Self::KfuncArgument { .. } => {
                [YES, YES, NO, NO]
            }
            Self::FormedField { form, .. } => form.row(),
            // Linux 5.10 refuses such functions by another rule. From 5.12 to 5.17, the kernel does not ask
            // whether the program may write.
            Self::FunctionArgument { is_read_only: true } => [YES, NO, NO, NO],
            Self::FunctionArgument { is_read_only: false }
            | Self::ContextArgument
            | Self::OutsideAddress { .. }
            | Self::OutsideAccess { .. }
            | Self::MissingField { .. }
            | Self::SecondStorage(_)
            | Self::Read
            | Self::Write
            | Self::Sockets { .. } => NEVER,
        })
    }
}

impl MapUse {
    /// Returns what Linux 6.18 does, where 6.12 and 7.2 differ.
    const fn late(self) -> Option<bool> {
        match self {
            Self::Sleepable(MapType::ProgArray | MapType::LpmTrie)
            | Self::FormedField { form: FieldForm::BesideRefused { .. }, .. } => NO,
            _ => None,
        }
    }
}

/// Returns whether calls of helpers were observed with maps of a type. Programs cannot refer to a struct_ops
/// map.
const fn was_observed(map_type: MapType) -> bool {
    !matches!(map_type, MapType::Unspec | MapType::StructOps | MapType::InsnArray)
}

const fn sleepable_row(map_type: MapType) -> Option<Row> {
    use MapType as M;
    Some(match map_type {
        M::PerfEventArray
        | M::StackTrace
        | M::CgroupArray
        | M::Devmap
        | M::DevmapHash
        | M::Sockmap
        | M::Sockhash
        | M::Cpumap
        | M::Xskmap
        | M::ReuseportSockarray
        | M::CgroupStorage
        | M::PercpuCgroupStorage => NEVER,
        M::BloomFilter => [None, NO, NO, NO],
        M::ProgArray | M::LpmTrie => [NO, NO, NO, YES],
        M::Queue | M::Stack => [NO, NO, YES, YES],
        M::PercpuHash
        | M::PercpuArray
        | M::LruPercpuHash
        | M::ArrayOfMaps
        | M::HashOfMaps
        | M::Ringbuf
        | M::SkStorage
        | M::InodeStorage => [NO, YES, YES, YES],
        _ => return None,
    })
}

const fn field_row(field: SpecialField, program_type: Option<ProgramType>) -> Option<Row> {
    use ProgramType as P;
    use SpecialField as F;
    Some(match (field, program_type) {
        (F::SpinLock, None) => [YES, NO, YES, YES],
        (
            F::SpinLock,
            Some(P::Kprobe | P::Tracepoint | P::PerfEvent | P::RawTracepoint | P::SocketFilter),
        ) => NEVER,
        (F::SpinLock, Some(P::RawTracepointWritable)) => [YES, NO, NO, NO],
        (
            F::ResilientSpinLock,
            Some(
                P::Kprobe
                | P::Tracepoint
                | P::PerfEvent
                | P::RawTracepoint
                | P::RawTracepointWritable
                | P::SocketFilter,
            ),
        ) => [YES, YES, YES, NO],
        (
            F::Timer,
            Some(P::Kprobe | P::Tracepoint | P::PerfEvent | P::RawTracepoint | P::RawTracepointWritable),
        ) => [YES, NO, NO, YES],
        (
            F::WorkQueue,
            Some(P::Kprobe | P::Tracepoint | P::PerfEvent | P::RawTracepoint | P::RawTracepointWritable),
        ) => [YES, YES, NO, YES],
        _ => return None,
    })
}

impl KernelFacts<'_> {
    /// Answers whether the kernel accepts the use of a map.
    pub fn map_use(&self, map_use: MapUse) -> Answer {
        let accepted = || {
            let text = "no known kernel refuses it".to_owned();
            Answer::Present(Evidence { source: EvidenceSource::Object, text })
        };
        let what = match map_use {
            MapUse::Helper { map_type, .. } => format!("accept {map_type}"),
            MapUse::Sleepable(map_type) => format!("let programs that may sleep use {map_type}"),
            MapUse::SleepableAllocation => {
                "let programs that may sleep use maps with BPF_F_NO_PREALLOC".to_owned()
            }
            MapUse::PerfEventAllocation => {
                "let programs of perf events use maps with BPF_F_NO_PREALLOC".to_owned()
            }
            MapUse::Field { field, program_type: Some(program_type), .. } => {
                format!("let programs of type {program_type} use maps with {}", field.field.name())
            }
            MapUse::Field { field, program_type: None, .. } => {
                format!("let programs that may sleep use maps with {}", field.field.name())
            }
            MapUse::Sockets { helper: Helper::MAP_DELETE_ELEM, program_type } => {
                format!("let programs of type {program_type} take sockets out of maps")
            }
            MapUse::Sockets { program_type, .. } => {
                format!("let programs of type {program_type} put sockets into maps")
            }
            MapUse::FormedField { function, form: FieldForm::Nested } => {
                format!("find {} in a struct or an array within values", function.field.name())
            }
            MapUse::FormedField { function, form: FieldForm::BesideRefused { other, .. } } => {
                format!("find {} beside {}", function.field.name(), other.name())
            }
            MapUse::FormedField { function, form: FieldForm::Variable } => {
                format!("find {} among variables", function.field.name())
            }
            MapUse::FormedField { form: FieldForm::ReloadedVariable, .. } => {
                "know the lock by another load of its address".to_owned()
            }
            MapUse::FormedField { form: FieldForm::KptrTag, .. } => "know the tag kptr for it".to_owned(),
            MapUse::FormedField { form: FieldForm::KptrRefTag, .. } => {
                "know the tag kptr_ref for it".to_owned()
            }
            MapUse::FunctionArgument { .. } | MapUse::KfuncArgument { .. } => {
                "accept the argument".to_owned()
            }
            MapUse::MissingField { function, .. } => {
                let text = format!("every kernel finds {} by the types of the map", function.field.name());
                return Answer::Absent(Evidence { source: EvidenceSource::Object, text });
            }
            MapUse::SecondStorage(_)
            | MapUse::ContextArgument
            | MapUse::OutsideAddress { .. }
            | MapUse::OutsideAccess { .. }
            | MapUse::Read
            | MapUse::Write => {
                let text = "every kernel refuses such programs".to_owned();
                return Answer::Absent(Evidence { source: EvidenceSource::Object, text });
            }
        };
        match map_use.row() {
            Some(mut row) => {
                let used = match map_use {
                    MapUse::Field { field, .. } => Some(field.field),
                    _ => None,
                };
                if used == Some(SpecialField::ResilientSpinLock)
                    && self.find_mark(RESILIENT_LOCKS) == MarkPresence::Found
                {
                    row = NEVER;
                }
                if let Some(SpecialField::Timer | SpecialField::WorkQueue) = used {
                    match self.find_mark(ANY_CONTEXT) {
                        MarkPresence::Found => {
                            return Answer::present_in_btf(ANY_CONTEXT.to_string());
                        }
                        // Kernels after 6.12 and before the change.
                        MarkPresence::Missing => {
                            let [oldest, older, before, _] = row;
                            row = [oldest, older, before, before];
                        }
                        MarkPresence::NotDecided => {}
                    }
                }
                let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
                let observations = observations.with_late(map_use.late());
                match self.answer_observed(observations, &what, accepted()) {
                    Answer::Present(_) if matches!(map_use, MapUse::Sockets { .. }) => {
                        Answer::Unknown(format!(
                            "only kernels before 6.10 {what}, and of these only point releases before June 2024"
                        ))
                    }
                    answer => match map_use {
                        MapUse::Field { field, holder, .. } => {
                            self.if_found(answer, field, holder == FieldHolder::Variable)
                        }
                        _ => answer,
                    },
                }
            }
            None => accepted(),
        }
    }
}
