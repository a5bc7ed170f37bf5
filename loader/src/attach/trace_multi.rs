//! fentry, fexit and fsession programs on many kernel functions by one kernel link (kernels from 7.2).

use super::{
    error::{AttachError, ENOTSUPP, Hint},
    link::Link,
    traced_functions::{find_matching, find_named},
};
use crate::sys::{self, LinkCreate, LinkExtra, LinkTarget};
use core_relo::TypeId;
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// The functions of a `fentry.multi`, `fexit.multi` or `fsession.multi` link.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TraceSet<'a> {
    /// The functions of the kernel that match a pattern of `*` (any characters) and `?` (one character).
    /// `module:pattern` is for the functions of a module. The program must have been loaded for this module,
    /// as a section name with the module implies.
    Pattern(&'a str),
    /// The functions with these names, of the kernel or of the module that the program was loaded for.
    Functions(&'a [&'a str]),
    /// The functions with these type ids, in the BTF of the kernel or of the module that the program was
    /// loaded for.
    Ids(&'a [TypeId]),
}

/// The options of a link to many functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TraceMultiOptions<'a> {
    /// The value that `bpf_get_attach_cookie` returns for each function, or an empty slice. Not allowed with
    /// a pattern.
    pub cookies: &'a [u64],
}

/// Attaches a program to kernel functions (libbpf: `bpf_program__attach_tracing_multi`). `attach_type` is
/// that of the program: [`AttachType::TraceFentryMulti`], [`AttachType::TraceFexitMulti`] or
/// [`AttachType::TraceFsessionMulti`].
pub(super) fn trace_multi(
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
    functions: TraceSet<'_>,
    options: &TraceMultiOptions<'_>,
) -> Result<Link, AttachError> {
    let label = attachment_label(attach_type, functions);
    let ids = match functions {
        TraceSet::Pattern(_) if !options.cookies.is_empty() => {
            return Err(AttachError::target(label, "a pattern takes no cookies"));
        }
        TraceSet::Pattern(pattern) => find_matching(prog, pattern, &label)?,
        TraceSet::Functions(names) => find_named(prog, names, &label)?,
        TraceSet::Ids(ids) => ids.iter().map(|id| id.0).collect(),
    };
    if ids.is_empty() || !(options.cookies.is_empty() || options.cookies.len() == ids.len()) {
        let problem = "expected at least one function, and a cookie for each function or no cookies";
        return Err(AttachError::target(label, problem));
    }
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: attach_type.number(),
        flags: 0,
        extra: LinkExtra::TracingMulti { ids: &ids, cookies: options.cookies },
    };
    match sys::link_create(&create) {
        Ok(fd) => Ok(Link::from_fd(fd, label)),
        Err(errno) => {
            let hint = match errno.0 {
                libc::EINVAL => Hint(
                    "a function cannot be traced, or the kernel is older than 7.2, or the program was loaded with another attach type",
                ),
                libc::ENOENT | libc::ESRCH => Hint("a function does not exist, or cannot be traced"),
                libc::EOPNOTSUPP | ENOTSUPP => {
                    Hint("this kernel cannot attach to many functions on this architecture")
                }
                _ => Hint::for_errno(errno),
            };
            Err(AttachError::kernel_with_hint(&label, "attach", errno, hint))
        }
    }
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(attach_type: AttachType, functions: TraceSet<'_>) -> String {
    let prefix = match attach_type {
        AttachType::TraceFentryMulti => "fentry.multi",
        AttachType::TraceFexitMulti => "fexit.multi",
        AttachType::TraceFsessionMulti => "fsession.multi",
        other => other.name(),
    };
    match functions {
        TraceSet::Pattern(pattern) => format!("{prefix}/{pattern}"),
        TraceSet::Functions([one]) => format!("{prefix}/{one}"),
        TraceSet::Functions(all) => format!("{prefix} of {} functions", all.len()),
        TraceSet::Ids(all) => format!("{prefix} of {} functions", all.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::trace::{Counter, Program, stops},
        *,
    };
    use crate::sys::{Errno, TestRun};
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    #[test]
    fn one_link_traces_many_functions() {
        let many = TraceSet::Pattern("bpf_fentry_test?");
        let named = TraceSet::Functions(&["bpf_fentry_test1", "bpf_fentry_test2"]);
        let cookies = TraceMultiOptions { cookies: &[7, 8] };
        for (attach_type, functions, options) in [
            (AttachType::TraceFentryMulti, many, TraceMultiOptions::default()),
            (AttachType::TraceFexitMulti, many, TraceMultiOptions::default()),
            (AttachType::TraceFsessionMulti, many, TraceMultiOptions::default()),
            (AttachType::TraceFentryMulti, named, cookies),
        ] {
            let Some(counter) = Counter::new() else { return };
            let prog = Program::with_cookie_all(ProgramType::Tracing, attach_type.number(), &counter);
            let Some(prog) = prog else { return };
            let link = match trace_multi(prog.fd(), attach_type, functions, &options) {
                Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL | libc::EPERM | ENOTSUPP), .. }) => {
                    skip!("{e}");
                    return;
                }
                link => link.unwrap(),
            };
            // The kernel calls its test functions once, and those of fmod_ret not at all.
            let fire = || {
                let _ran = sys::test_run(prog.fd(), &mut TestRun::default());
            };
            fire();
            assert!(counter.count() >= 2, "{}: {}", link.label(), counter.count());
            assert!(options.cookies.is_empty() || options.cookies.contains(&counter.cookie()));
            link.detach().unwrap();
            assert!(stops(&counter, fire));
        }
    }

    #[test]
    fn contradictory_arguments_and_missing_functions_are_named() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let text = |functions, options| {
            trace_multi(fd, AttachType::TraceFentryMulti, functions, &options).unwrap_err().to_string()
        };
        let cookies = TraceMultiOptions { cookies: &[1, 2] };
        assert!(text(TraceSet::Pattern("*"), cookies).ends_with("a pattern takes no cookies"));
        assert!(text(TraceSet::Ids(&[TypeId(1)]), cookies).contains("expected at least one function"));
        assert!(text(TraceSet::Ids(&[]), TraceMultiOptions::default()).contains("at least one function"));
        let no_program = text(TraceSet::Functions(&["no_such_function"]), TraceMultiOptions::default());
        assert!(no_program.starts_with("fentry.multi/no_such_function: cannot read"), "{no_program}");
    }
}
