//! The measured commands and their arguments.

use super::input::Written;
use std::ffi::OsString;

/// A command of core-relo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Check,
    Plan,
    Explain,
    Patch,
    Inspect,
    DryRun,
    Link,
    Dump,
    Diff,
}

/// The commands for an object with many elements other than types and CO-RE relocations. `patch` stands for
/// all commands that only relocate, because it does the most work. `check` also links and analyzes the
/// programs.
pub(super) const OBJECT: &[Command] =
    &[Command::Check, Command::Patch, Command::Inspect, Command::DryRun, Command::Link];
/// The same without linking: the linker refuses the object, as libbpf's does, or stops at too many equal
/// types.
pub(super) const UNLINKED: &[Command] = &[Command::Check, Command::Patch, Command::Inspect, Command::DryRun];
/// The command that follows the paths of programs.
pub(super) const CHECK: &[Command] = &[Command::Check];
/// The commands that relocate.
pub(super) const RELOCATING: &[Command] =
    &[Command::Check, Command::Plan, Command::Explain, Command::Patch, Command::DryRun];
/// The commands that read all types.
pub(super) const TYPES: &[Command] =
    &[Command::Explain, Command::DryRun, Command::Link, Command::Dump, Command::Diff];

impl Command {
    /// Returns the name of the command.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Plan => "plan",
            Self::Explain => "explain",
            Self::Patch => "patch",
            Self::Inspect => "inspect",
            Self::DryRun => "load --dry-run",
            Self::Link => "gen object",
            Self::Dump => "btf dump",
            Self::Diff => "btf diff",
        }
    }

    /// Returns whether the exit status may be 1: a generated input can have relocations that do not resolve.
    pub const fn may_be_unresolved(self) -> bool {
        matches!(self, Self::Check | Self::Plan | Self::Explain | Self::Patch | Self::DryRun | Self::Diff)
    }

    /// Returns whether the exit status may be 2 without an error message: a generated kernel can leave a
    /// question open.
    pub const fn may_be_unknown(self) -> bool {
        matches!(self, Self::Check | Self::Explain | Self::DryRun)
    }

    /// Returns whether the JSON output has other parts than the text, so that its work grows in another way.
    pub const fn has_own_json(self) -> bool {
        matches!(self, Self::Check | Self::Plan | Self::Explain | Self::Inspect)
    }

    /// Returns the arguments for an input. `json` selects JSON instead of text.
    pub fn args(self, input: &Written, json: bool) -> Vec<OsString> {
        let first: &[&str] = match self {
            Self::Check => &["check", "--jobs", "1"],
            Self::Plan => &["plan"],
            Self::Explain => &["explain"],
            Self::Patch => &["patch"],
            Self::Inspect => &["inspect"],
            Self::DryRun => &["load", "--dry-run"],
            Self::Link => &["gen", "object"],
            Self::Dump => &["btf", "dump"],
            Self::Diff => &["btf", "diff"],
        };
        let mut args: Vec<OsString> = first.iter().map(OsString::from).collect();
        if json {
            args.extend(["--format".into(), "json".into()]);
        }
        if matches!(self, Self::Check | Self::Plan | Self::Explain | Self::Patch | Self::DryRun) {
            args.extend(["--btf".into(), input.kernel.clone().into()]);
        }
        match self {
            Self::Patch => args.extend(["--output".into(), input.output.clone().into()]),
            Self::Link => args.push(input.output.clone().into()),
            // The types of the kernel and those of the object.
            Self::Diff => args.push(input.kernel.clone().into()),
            _ => {}
        }
        args.extend(input.objects.iter().map(OsString::from));
        args
    }
}
