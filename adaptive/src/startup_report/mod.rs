//! The start-up report: what is loaded on this kernel, and why.

mod not_loaded;
mod rejection;
mod text;

pub(crate) use rejection::reason_text;
pub use rejection::{Rejection, RejectionStage};

use core_relo_loader::{attach::Link, load_plan::TargetKernel, privileges::Capability, target};
use core_relo_verdict::judge::{NeededFeature, Verdict};
use std::path::Path;

/// What an adaptive load chose on a kernel, and why. `Display` prints the report. With the feature `serde`,
/// it serializes, to JSON for example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StartupReport {
    /// The object's name.
    pub object: String,
    /// Whether the object was planned, loaded or attached.
    pub outcome: Outcome,
    /// The kernel.
    pub kernel: ReportedKernel,
    /// The groups of alternatives, in the table's order.
    pub groups: Vec<GroupReport>,
    /// The programs that belong to no group.
    pub programs: Vec<ProgramReport>,
    /// The maps that are not created.
    pub maps: Vec<MapReport>,
    /// The constants that the load sets.
    pub constants: Vec<ConstantReport>,
    /// The features that the object's programs, maps and externs need, whether or not they are loaded, and
    /// whether the kernel has them. Empty if no verdict was possible.
    pub features: Vec<NeededFeature>,
    /// The attached programs.
    pub links: Vec<LinkReport>,
    /// The capabilities that the loaded programs need. After a failed load, those of the programs that were
    /// tried last.
    pub capabilities: Vec<CapabilityReport>,
    /// The verdict on all that is chosen. `None` if no verdict was possible.
    pub verdict: Option<Verdict>,
    /// The reason why no verdict was possible, so that the alternatives were tried in their order.
    pub unjudged: Option<String>,
    /// The number of loads that were tried.
    pub attempts: usize,
}

/// The kernel that a report is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[expect(clippy::exhaustive_structs, reason = "callers describe kernels")]
pub struct ReportedKernel {
    /// The release, as `uname -r` prints it, or the name of the file.
    pub release: Option<String>,
    /// The architecture, as `uname -m` prints it.
    pub architecture: Option<String>,
    /// The source of the kernel's types. `None` if the kernel has no BTF.
    pub btf_source: Option<String>,
}

/// How far a load came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The load was planned only.
    Planned,
    /// The object is loaded.
    Loaded,
    /// The object is loaded, and its programs are attached.
    Attached,
    /// Nothing is loaded.
    Failed,
}

/// A group of alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GroupReport {
    /// The name.
    pub name: String,
    /// Whether the load goes on without any alternative.
    #[cfg_attr(feature = "serde", serde(rename = "optional"))]
    pub is_optional: bool,
    /// The chosen alternative, by index.
    pub chosen: Option<usize>,
    /// The alternatives, in the table's order.
    pub alternatives: Vec<AlternativeReport>,
}

/// An alternative of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AlternativeReport {
    /// The programs.
    pub programs: Vec<String>,
    /// The state of the alternative.
    pub status: Status,
    /// The reasons why the alternative is not used.
    pub rejections: Vec<Rejection>,
    /// The worst verdict on the programs of the alternative that is used.
    pub verdict: Option<Verdict>,
    /// The reasons why the verdict on the alternative that is used is not `loads`.
    pub doubts: Vec<String>,
}

/// The state of a program or alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Part of the load.
    Used,
    /// Does not work on this kernel.
    Rejected,
    /// Not needed, because a better alternative works.
    NotNeeded,
    /// Left out by the caller's settings, or by the object's section name.
    NotSelected,
}

/// A program that belongs to no group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProgramReport {
    /// The name.
    pub name: String,
    /// Whether the load goes on without the program.
    #[cfg_attr(feature = "serde", serde(rename = "optional"))]
    pub is_optional: bool,
    /// The state of the program.
    pub status: Status,
    /// The reason why an optional program is left out.
    pub rejection: Option<Rejection>,
    /// The verdict on a program that is used.
    pub verdict: Option<Verdict>,
    /// The reasons why the verdict on a program that is used is not `loads`. The load tries the program
    /// anyway, because it has no alternative.
    pub doubts: Vec<String>,
}

/// A map that is not created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MapReport {
    /// The name.
    pub name: String,
    /// The reason why an optional map cannot be created. `None` if no loaded program uses the map.
    pub rejection: Option<Rejection>,
}

/// A constant that the load sets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ConstantReport {
    /// The variable.
    pub global: String,
    /// What the constant stands for: `loaded(map:events)`, `offset_of(task_struct.tgid)`.
    pub meaning: String,
    /// The value. `None` if an optional constant keeps its initial value.
    pub value: Option<i128>,
    /// The reason why the constant keeps its initial value.
    pub absence: Option<String>,
}

/// An attached program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LinkReport {
    /// The attachment, such as `kprobe/do_exit`.
    pub label: String,
    /// Whether the attachment is a kernel link, which can be pinned. Older kernels attach in other ways.
    #[cfg_attr(feature = "serde", serde(rename = "kernel_link"))]
    pub is_kernel_link: bool,
}

/// A capability that the loaded programs need.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CapabilityReport {
    /// The capability.
    #[cfg_attr(feature = "serde", serde(rename = "name"))]
    pub capability: Capability,
    /// The number of programs that need the capability.
    #[cfg_attr(feature = "serde", serde(rename = "programs"))]
    pub program_count: usize,
    /// Whether this process has the capability where it counts. `None` for another kernel than the running
    /// one, or if `/proc` does not tell.
    #[cfg_attr(feature = "serde", serde(rename = "held"))]
    pub is_held: Option<bool>,
    /// Whether the process is in a user namespace, where the capability counts only with a BPF token.
    pub needs_token: bool,
}

#[cfg(feature = "serde")]
core_relo_verdict::serialize_as_word!(Outcome, RejectionStage, Status);

impl LinkReport {
    /// Describes a link.
    pub fn new(link: &Link) -> Self {
        Self { label: link.label().to_owned(), is_kernel_link: link.fd().is_some() }
    }
}

impl Outcome {
    /// Returns the word for text and JSON: `planned`, `loaded`, `attached`, `failed`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Loaded => "loaded",
            Self::Attached => "attached",
            Self::Failed => "failed",
        }
    }
}

impl Status {
    /// Returns the word for JSON: `used`, `rejected`, `not_needed`, `not_selected`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Rejected => "rejected",
            Self::NotNeeded => "not_needed",
            Self::NotSelected => "not_selected",
        }
    }
}

impl ReportedKernel {
    /// Describes the kernel of a loader.
    pub(crate) fn describe(kernel: &TargetKernel) -> Self {
        let own_source = match kernel.btf.vmlinux() {
            Err(_) => None,
            Ok(_) if kernel.btf.is_live() => Some(running_btf_source()),
            Ok(_) => Some("BTF of the caller".to_owned()),
        };
        let btf_source = match (own_source, &kernel.relocation_btf) {
            (Some(source), Some(_)) => Some(format!("{source}, relocations against other BTF")),
            (None, Some(_)) => Some("other BTF, for relocations and constants only".to_owned()),
            (source, None) => source,
        };
        if !kernel.btf.is_live() {
            let architecture = kernel.btf.vmlinux().ok().and_then(|btf| target::find_architecture(btf));
            return Self { release: None, architecture: architecture.map(str::to_owned), btf_source };
        }
        let architecture = Some(std::env::consts::ARCH.to_owned());
        Self { release: target::release().ok(), architecture, btf_source }
    }
}

fn running_btf_source() -> String {
    let sysfs = "/sys/kernel/btf/vmlinux";
    if Path::new(sysfs).exists() { sysfs.to_owned() } else { "an image of the running kernel".to_owned() }
}
