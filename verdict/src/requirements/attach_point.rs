//! The place that a program is attached to after the load.

use super::{hook::Hook, need::Need};
use crate::kernel::NameQuery;
use core_relo::btf::Kind;
use core_relo_object::object::{SectionTarget, module_of_prefix};

/// A place that a loader attaches a program to after the load, from the name of the program's section. The
/// load does not look it up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachPoint {
    /// The kind of place.
    pub kind: AttachPointKind,
    /// The name: `vfs_read+4`, `tcp_*`, `sched/sched_switch`, `provider:probe`.
    pub name: String,
    /// The path or name of the binary of a uprobe or USDT probe.
    pub binary: Option<String>,
    /// Declarations in the kernel's BTF, each of which shows that the kernel has the place. Their absence
    /// shows nothing: functions are static, inlined or closed to probes, and events share structs. Empty for
    /// places outside of the kernel.
    pub declarations: Vec<(Kind, String)>,
}

/// The kind of place that a program is attached to after the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttachPointKind {
    /// The entry of a function, or an instruction in it (kprobe).
    Function,
    /// The return of a function (kretprobe).
    FunctionReturn,
    /// All functions that match a pattern (kprobe.multi, kretprobe.multi, kprobe.session).
    Functions,
    /// The entry of a system call (ksyscall).
    SystemCall,
    /// The return of a system call (kretsyscall).
    SystemCallReturn,
    /// A trace event, by category and name.
    TraceEvent,
    /// A raw tracepoint.
    RawTracepoint,
    /// The entry of a function in a binary, or an instruction in it (uprobe).
    UserFunction,
    /// The return of a function in a binary (uretprobe).
    UserFunctionReturn,
    /// All functions of a binary that match a pattern (uprobe.multi, uretprobe.multi, uprobe.session).
    UserFunctions,
    /// A USDT probe in a binary.
    Usdt,
}

/// The categories of trace events that are no tracepoints: those of system calls, of ftrace itself, and those
/// that users define.
const WITHOUT_TRACEPOINTS: [&str; 9] = [
    "syscalls",
    "ftrace",
    "kprobes",
    "uprobes",
    "fprobes",
    "tracepoints",
    "eprobes",
    "synthetic",
    "user_events",
];

/// The prefixes of the entries of system calls, by architecture.
const SYSCALL_PREFIXES: [&str; 4] = ["__x64_sys_", "__arm64_sys_", "__s390x_sys_", "__riscv_sys_"];

impl AttachPointKind {
    /// Returns a noun for messages, and the word of JSON.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::FunctionReturn => "return of function",
            Self::Functions => "functions",
            Self::SystemCall => "system call",
            Self::SystemCallReturn => "return of system call",
            Self::TraceEvent => "trace event",
            Self::RawTracepoint => "raw tracepoint",
            Self::UserFunction => "user function",
            Self::UserFunctionReturn => "return of user function",
            Self::UserFunctions => "user functions",
            Self::Usdt => "USDT probe",
        }
    }
}

impl AttachPoint {
    /// Returns the place that a section's name implies. Returns `None` if the name implies none, and for
    /// targets that the load resolves. `hook` is that of the program.
    pub(super) fn new(section: &str, hook: &Hook) -> Option<Self> {
        use AttachPointKind as K;
        let function = |name: &str| vec![(Kind::Func, name.to_owned())];
        let at = |name: &str, offset: u64| match offset {
            0 => name.to_owned(),
            _ => format!("{name}+{offset:#x}"),
        };
        let (kind, name, binary, declarations) = match SectionTarget::parse(section).ok()?? {
            SectionTarget::Kprobe { module, function: name, offset, retprobe } => {
                let kind = if retprobe { K::FunctionReturn } else { K::Function };
                let place = at(name, offset);
                let module = module.and_then(module_of_prefix);
                let place = module.map_or(place.clone(), |module| format!("{module}:{place}"));
                (kind, place, None, function(name))
            }
            SectionTarget::KprobeMulti { pattern, .. } | SectionTarget::TraceMulti { pattern } => {
                // Only a pattern for trampolines has a module.
                let functions = pattern.split_once(':').map_or(pattern, |(_module, functions)| functions);
                let is_name = !pattern.contains(['*', '?']);
                let declarations = if is_name { function(functions) } else { Vec::new() };
                (K::Functions, pattern.to_owned(), None, declarations)
            }
            SectionTarget::Ksyscall { syscall, retprobe } => {
                let kind = if retprobe { K::SystemCallReturn } else { K::SystemCall };
                let entries = SYSCALL_PREFIXES.map(|prefix| (Kind::Func, format!("{prefix}{syscall}")));
                (kind, syscall.to_owned(), None, entries.into())
            }
            SectionTarget::Tracepoint { category, name } => {
                let event = hook.kernel_type().map(|(name, kind)| (kind, name.to_owned()));
                let typedef = (Kind::Typedef, format!("btf_trace_{name}"));
                let declarations = event.into_iter().chain([typedef]).collect();
                (K::TraceEvent, format!("{category}/{name}"), None, declarations)
            }
            SectionTarget::RawTracepoint { name } => {
                let typedef = (Kind::Typedef, format!("btf_trace_{name}"));
                (K::RawTracepoint, name.to_owned(), None, vec![typedef])
            }
            SectionTarget::Uprobe { binary, place, retprobe } => {
                let kind = if retprobe { K::UserFunctionReturn } else { K::UserFunction };
                (kind, place.to_owned(), Some(binary), Vec::new())
            }
            SectionTarget::UprobeMulti { binary, pattern, .. } => {
                (K::UserFunctions, pattern.to_owned(), Some(binary), Vec::new())
            }
            SectionTarget::Usdt { binary, provider, name } => {
                (K::Usdt, format!("{provider}:{name}"), Some(binary), Vec::new())
            }
            SectionTarget::Nothing | SectionTarget::AsLoaded | SectionTarget::Iter => return None,
        };
        Some(Self { kind, name, binary: binary.map(str::to_owned), declarations })
    }

    /// Returns the requirement that attaches the program, if the kernel's types or symbols can tell whether
    /// it is met.
    pub(super) fn need(&self, names: &mut NameQuery) -> Option<Need> {
        use AttachPointKind as K;
        match self.kind {
            K::RawTracepoint => Some(Need::Tracepoint(names.tracepoint(&self.name))),
            K::TraceEvent => {
                let (category, name) = self.name.split_once('/')?;
                (!WITHOUT_TRACEPOINTS.contains(&category)).then(|| Need::Tracepoint(names.tracepoint(name)))
            }
            K::Function | K::FunctionReturn => {
                let function = self.name.split_once('+').map_or(&*self.name, |(function, _offset)| function);
                // core-relo takes an address in place of a name, which no symbol has. A module may be loaded
                // later.
                let is_known = !function.starts_with("0x") && !function.contains(':');
                is_known.then(|| Need::ProbedFunction(names.symbol(function.as_bytes())))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(section: &str) -> Option<(AttachPointKind, String, Option<String>, Vec<String>)> {
        let point = AttachPoint::new(section, &Hook::None)?;
        let declarations = point.declarations.into_iter().map(|(_, name)| name).collect();
        Some((point.kind, point.name, point.binary, declarations))
    }

    #[test]
    fn sections_of_programs_that_are_attached_after_the_load() {
        use AttachPointKind as K;
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (section, kind, name, binary, declarations) in [
            ("kprobe/vfs_read+4", K::Function, "vfs_read+0x4", None, names(&["vfs_read"])),
            ("?kretprobe/vfs_read", K::FunctionReturn, "vfs_read", None, names(&["vfs_read"])),
            ("kprobe/veth:veth_open", K::Function, "veth:veth_open", None, names(&["veth_open"])),
            ("uprobe/libc.so.6:0x1115", K::UserFunction, "0x1115", Some("libc.so.6"), names(&[])),
            ("kprobe.multi/tcp_*", K::Functions, "tcp_*", None, names(&[])),
            ("fentry.multi/veth:veth_*", K::Functions, "veth:veth_*", None, names(&[])),
            ("fentry.multi/veth:veth_open", K::Functions, "veth:veth_open", None, names(&["veth_open"])),
            ("kprobe.session/tcp_ack", K::Functions, "tcp_ack", None, names(&["tcp_ack"])),
            (
                "ksyscall/bpf",
                K::SystemCall,
                "bpf",
                None,
                names(&["__x64_sys_bpf", "__arm64_sys_bpf", "__s390x_sys_bpf", "__riscv_sys_bpf"]),
            ),
            (
                "tp/sched/sched_switch",
                K::TraceEvent,
                "sched/sched_switch",
                None,
                names(&["btf_trace_sched_switch"]),
            ),
            ("raw_tp/sys_enter", K::RawTracepoint, "sys_enter", None, names(&["btf_trace_sys_enter"])),
            ("uprobe/libc.so.6:malloc", K::UserFunction, "malloc", Some("libc.so.6"), names(&[])),
            ("uretprobe/a:f", K::UserFunctionReturn, "f", Some("a"), names(&[])),
            ("usdt/a:b:c", K::Usdt, "b:c", Some("a"), names(&[])),
        ] {
            let expected = (kind, name.to_owned(), binary.map(str::to_owned), declarations);
            assert_eq!(point(section), Some(expected), "{section}");
        }
        for section in ["kprobe", "fentry/vfs_read", "lsm/file_open", "iter/task", "xdp", "kprobe/"] {
            assert_eq!(point(section), None, "{section}");
        }
    }
}
