//! Probes in many functions of the kernel at once, by one link (kernels from 5.18).

use super::{
    error::{AttachError, Hint},
    link::Link,
    text::{c_string, is_pattern, matches},
    tracefs,
};
use crate::{
    object::{AttachType, MultiKind},
    sys::{self, LinkCreate, LinkExtra, LinkTarget},
};
use alloc::ffi::CString;
use core::ffi::CStr;
use std::{collections::HashSet, fs, os::fd::BorrowedFd};

/// `BPF_F_KPROBE_MULTI_RETURN` and `BPF_F_UPROBE_MULTI_RETURN`.
pub(super) const RETURN: u32 = 1;

/// Which functions.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum KprobeSet<'a> {
    /// Those of a pattern, in which `*` stands for any characters and `?` for one.
    Pattern(&'a str),
    /// These.
    Symbols(&'a [&'a str]),
    /// Those at these addresses.
    Addresses(&'a [u64]),
}

/// How many kprobes are attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct KprobeMultiOptions<'a> {
    /// When the program runs.
    pub kind: MultiKind,
    /// What `bpf_get_attach_cookie` gives in each function, or nothing. Not with a pattern.
    pub cookies: &'a [u64],
    /// A pattern must match one function only, and no function of the same name may exist. Of patterns alone.
    pub unique_match: bool,
}

/// Attaches to functions of the kernel (libbpf: `bpf_program__attach_kprobe_multi_opts`).
pub fn kprobe_multi(
    prog: BorrowedFd<'_>,
    functions: KprobeSet<'_>,
    options: &KprobeMultiOptions<'_>,
) -> Result<Link, AttachError> {
    let what = words(functions, options.kind);
    let wrong = |problem: &str| Err(AttachError::target(what.as_str(), problem));
    if options.unique_match && !matches!(functions, KprobeSet::Pattern(_)) {
        return wrong("a unique match is of a pattern alone");
    }
    let (symbols, addresses) = match functions {
        KprobeSet::Pattern(_) if !options.cookies.is_empty() => return wrong("a pattern takes no cookies"),
        KprobeSet::Pattern(name) if !is_pattern(name) && !options.unique_match => {
            (vec![c_string(name, &what)?], Vec::new())
        }
        KprobeSet::Pattern(pattern) => {
            let found = addresses_of(pattern, &what)?;
            if options.unique_match && found.len() != 1 {
                return wrong(&format!("{} functions match, not one", found.len()));
            }
            (Vec::new(), found)
        }
        KprobeSet::Symbols(names) => {
            let names: Result<Vec<CString>, _> = names.iter().map(|name| c_string(*name, &what)).collect();
            (names?, Vec::new())
        }
        KprobeSet::Addresses(addresses) => (Vec::new(), addresses.to_vec()),
    };
    let count = symbols.len().max(addresses.len());
    if count == 0 || !(options.cookies.is_empty() || options.cookies.len() == count) {
        return wrong("expected one function or more, and a cookie for each or none");
    }
    let symbols: Vec<&CStr> = symbols.iter().map(CString::as_c_str).collect();
    let session = options.kind == MultiKind::Session;
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: if session { AttachType::TraceKprobeSession } else { AttachType::TraceKprobeMulti }
            .number(),
        flags: 0,
        extra: LinkExtra::KprobeMulti {
            flags: if options.kind == MultiKind::Return { RETURN } else { 0 },
            symbols: &symbols,
            addresses: &addresses,
            cookies: options.cookies,
        },
    };
    match sys::link_create(&create) {
        Ok(fd) => Ok(Link::from_fd(fd, what)),
        Err(errno) => {
            let hint = match errno.0 {
                libc::ENOENT | libc::ESRCH => Hint(
                    "a function does not exist, or cannot be traced: see available_filter_functions in tracefs",
                ),
                libc::EOPNOTSUPP => Hint("this kernel was built without CONFIG_FPROBE"),
                libc::EINVAL => Hint(
                    "kprobe.multi needs a kernel from 5.18 (sessions: 6.10), and a program loaded with that attach type",
                ),
                _ => Hint::of(errno),
            };
            Err(AttachError::hinted(&what, "attach", errno, hint))
        }
    }
}

fn words(functions: KprobeSet<'_>, kind: MultiKind) -> String {
    let family = match kind {
        MultiKind::Entry => "kprobe.multi",
        MultiKind::Return => "kretprobe.multi",
        MultiKind::Session => "kprobe.session",
    };
    match functions {
        KprobeSet::Pattern(pattern) => format!("{family}/{pattern}"),
        KprobeSet::Symbols([one]) => format!("{family}/{one}"),
        KprobeSet::Symbols(all) => format!("{family} of {} functions", all.len()),
        KprobeSet::Addresses(all) => format!("{family} of {} addresses", all.len()),
    }
}

/// Where the functions of a pattern are: those that can be traced, or (without tracefs) those that are.
fn addresses_of(pattern: &str, what: &str) -> Result<Vec<u64>, AttachError> {
    let tracefs = tracefs::root();
    let read = |name: &str| {
        let path = tracefs.as_ref().ok().map(|root| root.join(name))?;
        fs::read(path).ok().filter(|text| !text.is_empty())
    };
    let found = if let Some(text) = read("available_filter_functions_addrs") {
        with_addresses(&text, pattern)
    } else {
        let kallsyms = fs::read("/proc/kallsyms").unwrap_or_default();
        match read("available_filter_functions") {
            Some(text) => from_kallsyms(&kallsyms, pattern, Some(&traceable(&text, pattern))),
            None => from_kallsyms(&kallsyms, pattern, None),
        }
    };
    if found.is_empty() {
        let problem =
            "no function that can be traced matches (or /proc/kallsyms hides addresses from this user)";
        return Err(AttachError::target(what, problem));
    }
    Ok(found)
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

fn address(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?;
    u64::from_str_radix(text, 16).ok().filter(|at| *at != 0)
}

/// Lines of `ffffffff81000000 name [module]`.
fn with_addresses(text: &[u8], pattern: &str) -> Vec<u64> {
    let of_line = |line| {
        let mut fields = fields(line);
        let at = address(fields.next()?)?;
        matches(fields.next()?, pattern.as_bytes()).then_some(at)
    };
    text.split(|b| *b == b'\n').filter_map(of_line).collect()
}

/// Lines of `name [module]`.
fn traceable<'t>(text: &'t [u8], pattern: &str) -> HashSet<&'t [u8]> {
    let names = text.split(|b| *b == b'\n').filter_map(|line| fields(line).next());
    names.filter(|name| matches(name, pattern.as_bytes())).collect()
}

/// Lines of `ffffffff81000000 t name [module]`.
fn from_kallsyms(text: &[u8], pattern: &str, among: Option<&HashSet<&[u8]>>) -> Vec<u64> {
    let of_line = |line| {
        let mut fields = fields(line);
        let (at, kind, name) = (address(fields.next()?)?, fields.next()?, fields.next()?);
        if !matches(name, pattern.as_bytes()) {
            return None;
        }
        let is_there = match among {
            // Some kernels strip `.llvm.<hash>` in the one list only (libbpf: `avail_kallsyms_cb`).
            Some(names) => names.contains(name) || names.contains(without_llvm(name)),
            None => matches!(kind, b"t" | b"T"),
        };
        is_there.then_some(at)
    };
    text.split(|b| *b == b'\n').filter_map(of_line).collect()
}

fn without_llvm(name: &[u8]) -> &[u8] {
    const SUFFIX: &[u8] = b".llvm.";
    let at = name.windows(SUFFIX.len()).position(|w| w == SUFFIX);
    at.and_then(|at| name.get(..at)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing_trace::{Counter, Program, getppid, stops},
        *,
    };
    use crate::{object::ProgramType, sys::Errno};

    #[test]
    fn functions_of_a_pattern_are_found_in_each_list() {
        let addrs =
            b"ffffffff81000010 vfs_read\nffffffff81000020 vfs_write [mod]\nffffffff81000030 do_exit\n";
        assert_eq!(with_addresses(addrs, "vfs_*"), [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]);
        let names = traceable(b"vfs_read\nvfs_write [mod]\nvfs_x\n", "vfs_?????");
        assert_eq!(names.len(), 1);
        let names = traceable(b"vfs_read\nvfs_write [mod]\nodd\n", "*");
        let kallsyms =
            b"0000000000000010 T vfs_read\n0000000000000020 t vfs_write\n0000000000000030 t vfs_other\n\
            0000000000000040 t odd.llvm.123\n0000000000000050 d vfs_data\n0000000000000000 T vfs_read\n";
        assert_eq!(from_kallsyms(kallsyms, "vfs_*", Some(&names)), [0x10, 0x20]);
        assert_eq!(from_kallsyms(kallsyms, "odd*", Some(&names)), [0x40]);
        assert_eq!(from_kallsyms(kallsyms, "vfs_*", None), [0x10, 0x20, 0x30]);
    }

    #[test]
    fn what_contradicts_itself_is_refused_before_the_kernel_is_asked() {
        let file = fs::File::open("/proc/self/status").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let options =
            |cookies, unique_match| KprobeMultiOptions { cookies, unique_match, kind: MultiKind::Entry };
        for (set, options) in [
            (KprobeSet::Pattern("vfs_*"), options(&[1][..], false)),
            (KprobeSet::Symbols(&[]), options(&[], false)),
            (KprobeSet::Addresses(&[1, 2]), options(&[1], false)),
            (KprobeSet::Symbols(&["a\0b"]), options(&[], false)),
            (KprobeSet::Symbols(&["vfs_read"]), options(&[], true)),
            (KprobeSet::Addresses(&[1]), options(&[], true)),
        ] {
            assert!(matches!(kprobe_multi(fd, set, &options), Err(AttachError::Target { .. })), "{set:?}");
        }
    }

    #[test]
    fn many_functions_are_probed_by_one_link() {
        let Some(counter) = Counter::new() else { return };
        for (set, kind) in [
            (KprobeSet::Pattern("*_sys_getppid"), MultiKind::Entry),
            (KprobeSet::Pattern("__x64_sys_getppid"), MultiKind::Return),
            (KprobeSet::Symbols(&["__x64_sys_getppid", "__x64_sys_getpgid"]), MultiKind::Entry),
            (KprobeSet::Pattern("*_sys_getppi?"), MultiKind::Session),
        ] {
            if !cfg!(target_arch = "x86_64") {
                return println!("SKIP: names of x86-64");
            }
            let expected = match kind {
                MultiKind::Session => AttachType::TraceKprobeSession,
                _ => AttachType::TraceKprobeMulti,
            };
            let Some(prog) = Program::counting(ProgramType::Kprobe, expected.number(), &counter) else {
                return;
            };
            let options = KprobeMultiOptions { kind, ..KprobeMultiOptions::default() };
            let link = match kprobe_multi(prog.fd(), set, &options) {
                Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL | libc::EOPNOTSUPP), .. }) => {
                    return println!("SKIP: {e}");
                }
                // Without tracefs the list may hold functions that cannot be traced.
                Err(e) if tracefs::root().is_err() => return println!("SKIP: {e}"),
                link => link.unwrap(),
            };
            let before = counter.count();
            getppid();
            assert!(counter.count() > before, "{set:?}");
            drop(link);
            assert!(stops(&counter, getppid));
        }
    }
}
