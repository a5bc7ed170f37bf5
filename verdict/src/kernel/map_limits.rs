//! The limits of maps that depend on the release, the configuration, the architecture or a setting of the
//! machine.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    fixed_names::{Enum, Struct},
    kconfig::KconfigAnswer,
    mark::{
        Change,
        Mark::{self, Enumerator, Member},
        MarkPresence,
    },
    observed::Observations,
};
use core_relo::btf::Type;
use core_relo_object::{map_limits::MapLimit, memory_nodes::MemoryNodes};

/// The most bytes of a value in cgroup storage (kernel: `BPF_LOCAL_STORAGE_MAX_VALUE_SIZE`): the size of an
/// element has 16 bits.
const STORAGE_BYTES: u32 = 65407;

/// Longer keys of hashes, and no charge for the memory of maps.
const LONG_KEYS: Change = Change::new(5, 11, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_task_storage_get")]);

/// Members of `struct pt_regs` on architectures whose pages have 4 KiB: x86, s390, RISC-V.
const SMALL_PAGES: [Mark; 3] = [
    Member(Struct::pt_regs, "orig_ax"),
    Member(Struct::pt_regs, "orig_gpr2"),
    Member(Struct::pt_regs, "epc"),
];

/// The options of kernels with pages of 64 KiB, and of those with smaller pages.
const LARGE_PAGE_OPTIONS: [&str; 3] =
    ["CONFIG_PAGE_SIZE_64KB", "CONFIG_ARM64_64K_PAGES", "CONFIG_PPC_64K_PAGES"];
const SMALL_PAGE_OPTIONS: [&str; 4] =
    ["CONFIG_PAGE_SIZE_4KB", "CONFIG_ARM64_4K_PAGES", "CONFIG_ARM64_16K_PAGES", "CONFIG_PPC_4K_PAGES"];

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

impl KernelFacts<'_> {
    /// Answers whether a definition that exceeds a limit of some kernels fits this one.
    pub fn map_limit(&self, limit: MapLimit) -> Answer {
        match limit {
            MapLimit::HashKey { .. } => self.answer_change(LONG_KEYS, "longer keys"),
            MapLimit::ChargedEntries { .. } => self.answer_change(LONG_KEYS, "maps of more than 4 GiB"),
            MapLimit::PerCpuValue { .. } => self.large_pages(),
            MapLimit::PerCpuAllocation { .. } => {
                // A late update of 6.1 refuses them, too.
                self.unless_large_pages([YES, None, NO, NO], "allocate such values")
            }
            MapLimit::ArrayValue { .. } => self.unless_large_allocations([NO, YES, YES, YES]),
            MapLimit::Element { .. } => self.unless_large_allocations([NO; 4]),
            MapLimit::CgroupStorage { bytes } if bytes > STORAGE_BYTES => {
                self.unless_large_pages([NO; 4], "store such values")
            }
            MapLimit::CgroupStorage { .. } => {
                self.unless_large_pages([NO, YES, YES, YES], "store such values")
            }
            MapLimit::StackFrames { frames, .. } => self.stack_frames(frames),
            MapLimit::Cpus { entries } => self.cpus(entries),
            MapLimit::MemoryNode { node } => self.memory_node(node),
        }
    }

    /// Answers whether the machine allows a number of frames in a stack trace.
    fn stack_frames(&self, frames: u32) -> Answer {
        let Some(allowed) = self.inputs.perf_event_max_stack else {
            return Answer::Unknown(format!(
                "the value has {frames} frames, and kernel.perf_event_max_stack allows 127 by default"
            ));
        };
        let text = format!("kernel.perf_event_max_stack={allowed}, and the value has {frames} frames");
        let evidence = Evidence { source: EvidenceSource::System, text };
        if frames <= allowed { Answer::Present(evidence) } else { Answer::Absent(evidence) }
    }

    /// Answers whether the machine has a memory node. Machines begin to count them at 0.
    fn memory_node(&self, node: u32) -> Answer {
        let Some(nodes) = &self.inputs.memory_nodes else {
            return match node {
                0 => Answer::Present(Evidence {
                    source: EvidenceSource::Object,
                    text: "machines have memory node 0".to_owned(),
                }),
                _ => Answer::Unknown(format!("only the machine lists them ({})", MemoryNodes::FILE)),
            };
        };
        let text = format!("the memory nodes of the machine are {nodes} ({})", MemoryNodes::FILE);
        let evidence = Evidence { source: EvidenceSource::System, text };
        if nodes.contains(node) { Answer::Present(evidence) } else { Answer::Absent(evidence) }
    }

    /// Returns what kernels with small pages do, which the observed kernels have.
    fn unless_large_pages(&self, row: [Option<bool>; 4], what: &str) -> Answer {
        let pages = self.large_pages();
        match pages {
            Answer::Absent(evidence) => {
                let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
                self.answer_observed(observations, what, Answer::Present(evidence))
            }
            other => other,
        }
    }

    /// Returns what kernels do whose largest allocation has 4 MiB or less (kernel: `KMALLOC_MAX_SIZE`), as
    /// those on x86, s390 and RISC-V.
    fn unless_large_allocations(&self, row: [Option<bool>; 4]) -> Answer {
        let is_small = SMALL_PAGES.iter().any(|mark| self.find_mark(*mark) == MarkPresence::Found);
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        let text = "kernels like this one create such maps".to_owned();
        let created = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        match self.answer_observed(observations, "create such maps", created) {
            Answer::Absent(_) if !is_small => {
                Answer::Unknown("it depends on the largest allocation of the kernel".to_owned())
            }
            answer => answer,
        }
    }

    /// Answers whether the kernel's pages have 64 KiB.
    fn large_pages(&self) -> Answer {
        if let Some(mark) = SMALL_PAGES.iter().find(|mark| self.find_mark(**mark) == MarkPresence::Found) {
            return Answer::absent_from_btf(format!("{mark}: pages have 4096 bytes"));
        }
        let is_set = |option: &&&str| matches!(self.configured(option), KconfigAnswer::Value(value, _) if value == "y");
        let evidence = |option: &str| match self.configured(option) {
            KconfigAnswer::Value(_, evidence) => Some(evidence),
            _ => None,
        };
        if let Some(evidence) = LARGE_PAGE_OPTIONS.iter().find(is_set).and_then(|option| evidence(option)) {
            return Answer::Present(evidence);
        }
        if let Some(evidence) = SMALL_PAGE_OPTIONS.iter().find(is_set).and_then(|option| evidence(option)) {
            return Answer::Absent(evidence);
        }
        Answer::Unknown("it depends on the size of pages: give the kernel's configuration (--kconfig)".into())
    }

    /// Answers whether the kernel is compiled for a number of CPUs.
    ///
    /// Without the configuration, `struct cpumask` has a bit for each CPU, rounded up to words.
    fn cpus(&self, entries: u32) -> Answer {
        if let KconfigAnswer::Value(value, evidence) = self.configured("CONFIG_NR_CPUS")
            && let Ok(cpus) = value.parse::<u32>()
        {
            return if entries <= cpus { Answer::Present(evidence) } else { Answer::Absent(evidence) };
        }
        let question = || {
            Answer::Unknown(
                "it depends on CONFIG_NR_CPUS: give the kernel's configuration (--kconfig)".to_owned(),
            )
        };
        let mask = self.vmlinux.find(Struct::cpumask).and_then(Type::size);
        let Some(bits) = mask.and_then(|bytes| bytes.0.checked_mul(8)).filter(|bits| *bits != 0) else {
            return question();
        };
        let evidence = Evidence {
            source: EvidenceSource::Btf,
            text: format!("struct cpumask has bits for {bits} CPUs"),
        };
        if entries > bits {
            Answer::Absent(evidence)
        } else if entries <= bits.saturating_sub(u64::BITS) {
            Answer::Present(evidence)
        } else {
            question()
        }
    }
}
