//! Whether a kernel has a helper, a type of programs or maps, an attach type or a link type.

use super::{answer::Answer, enumeration::Enumeration, facts::KernelFacts, kernel_number::KernelNumber};
use core_relo::insn::Helper;
use core_relo_object::object::{AttachType, MapType, ProgramType};

impl<'k> KernelFacts<'k> {
    /// Answers whether an enum of the kernel has a number.
    ///
    /// For BTF without the enum, the version answers whether it is not older than an observed kernel with the
    /// number: enumerators stay. An older version leaves the question open, because distributions backport
    /// features.
    pub(super) fn answer_number(&self, number: KernelNumber) -> Answer {
        let (enumeration, value, name) = self.look_up(number);
        if !enumeration.is_empty() {
            return enumeration.answer(value, name.as_deref());
        }
        let since = self.inputs.version.zip(number.first_observed());
        let Some((version, first)) = since.filter(|(version, first)| version >= first) else {
            return enumeration.answer(value, name.as_deref());
        };
        let subject = self.number_text(number);
        Answer::Present(self.version_evidence(format!("Linux {version}; Linux {first} has {subject}")))
    }

    /// Returns the name of a number in the kernel's enum, or in newer kernels.
    pub(super) fn number_text(&self, number: KernelNumber) -> String {
        let (enumeration, value, known) = self.look_up(number);
        let own = enumeration.enumerator(value).map(|name| name.shortened().to_string());
        own.or(known).unwrap_or_else(|| format!("number {value} of enum {}", enumeration.name()))
    }

    /// Returns the enum of a number, the number and its name.
    fn look_up(&self, number: KernelNumber) -> (&Enumeration<'k>, u32, Option<String>) {
        match number {
            KernelNumber::Helper(value) => {
                (&self.helpers, value, Helper(value).name().map(|name| format!("BPF_FUNC_{name}")))
            }
            KernelNumber::ProgramType(value) => {
                let known = ProgramType::from_number(value);
                (&self.program_types, value, known.map(|known| known.name().to_owned()))
            }
            KernelNumber::MapType(value) => {
                let known = MapType::from_number(value);
                (&self.map_types, value, known.map(|known| known.name().to_owned()))
            }
            KernelNumber::AttachType(value) => {
                let known = AttachType::from_number(value);
                (&self.attach_types, value, known.map(|known| known.name().to_owned()))
            }
            KernelNumber::LinkType(value) => (&self.link_types, value, None),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::kernel::{KernelInputs, NameQuery};
    use alloc::sync::Arc;
    use core_relo::{
        Endian, Target,
        btf::{Btf, Builder},
    };

    fn text(answer: &Answer) -> (&'static str, &str) {
        match answer {
            Answer::Present(evidence) => ("present", &evidence.text),
            Answer::Absent(evidence) => ("absent", &evidence.text),
            Answer::Unknown(question) => ("unknown", question),
        }
    }

    /// Calls `test` with the facts about a kernel with reduced BTF, which has no enum.
    fn with_reduced_kernel(version: Option<&str>, kconfig: Option<&str>, test: impl Fn(&KernelFacts<'_>)) {
        let bytes = Builder::new(Endian::Little).finish();
        let target = Target::new("vmlinux", Arc::new(Btf::parse(bytes).unwrap()));
        let inputs = KernelInputs {
            version: version.map(|version| version.parse().unwrap()),
            kconfig: kconfig.map(Into::into),
            ..KernelInputs::default()
        };
        test(&KernelFacts::new(&target, &NameQuery::default(), &inputs));
    }

    /// Protects verdicts on reduced BTF, such as that of `bpftool gen min_core_btf`, for a user who names the
    /// kernel's version.
    #[test]
    fn the_version_answers_for_numbers_if_btf_lacks_the_enums() {
        with_reduced_kernel(None, None, |facts| {
            assert_eq!(
                text(&facts.helper(Helper::PROBE_READ_KERNEL)),
                ("unknown", "the kernel's BTF has no enum bpf_func_id")
            );
            assert_eq!(text(&facts.program_type(2)).0, "unknown");
        });
        with_reduced_kernel(Some("6.8"), None, |facts| {
            let expected = "Linux 6.8; Linux 5.10 has BPF_FUNC_probe_read_kernel";
            assert_eq!(text(&facts.helper(Helper::PROBE_READ_KERNEL)), ("present", expected));
            let expected = "Linux 6.8; Linux 5.10 has BPF_MAP_TYPE_ARRAY";
            assert_eq!(text(&facts.map_type(2)), ("present", expected));
            assert_eq!(text(&facts.map_type(33)).0, "unknown", "first observed in 6.12");
            assert_eq!(text(&facts.map_type(7)).0, "unknown", "depends on CONFIG_PERF_EVENTS");
            assert_eq!(text(&facts.program_type(2)).0, "present");
            assert_eq!(text(&facts.program_type(20)).0, "unknown", "depends on the configuration");
            assert_eq!(text(&facts.attach_type(41)).0, "present");
        });
        let without_events = "CONFIG_NET=y\n# CONFIG_BPF_EVENTS is not set\n";
        with_reduced_kernel(Some("6.8"), Some(without_events), |facts| {
            assert_eq!(text(&facts.program_type(2)).0, "absent");
            assert_eq!(text(&facts.program_type(6)).0, "present");
        });
        with_reduced_kernel(Some("5.4"), None, |facts| {
            assert_eq!(
                text(&facts.helper(Helper::PROBE_READ_KERNEL)).0,
                "unknown",
                "distributions backport features"
            );
        });
    }
}
