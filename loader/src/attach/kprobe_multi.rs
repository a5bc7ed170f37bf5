//! kprobes on many kernel functions by one kernel link (kernels from 5.18).

use super::{
    error::{AttachError, Hint},
    function_list::fields,
    link::Link,
    names::{Glob, GlobError, c_string, is_glob},
    tracefs,
};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget};
use alloc::ffi::CString;
use core::ffi::CStr;
use core_relo_object::object::{AttachType, MultiKind};
use std::{collections::HashSet, fs, io, os::fd::BorrowedFd};

/// `BPF_F_KPROBE_MULTI_RETURN` and `BPF_F_UPROBE_MULTI_RETURN`.
pub(super) const RETURN: u32 = 1;

/// The functions of a `kprobe.multi` link.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum KprobeSet<'a> {
    /// The functions that match a pattern of `*` (any characters) and `?` (one character).
    Pattern(&'a str),
    /// The functions with these names.
    Symbols(&'a [&'a str]),
    /// The functions at these addresses.
    Addresses(&'a [u64]),
}

/// The options of a `kprobe.multi` link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct KprobeMultiOptions<'a> {
    /// The moment at which the program runs.
    pub kind: MultiKind,
    /// The value that `bpf_get_attach_cookie` returns for each function, or an empty slice. Not allowed with
    /// a pattern.
    pub cookies: &'a [u64],
    /// Requires that the pattern matches exactly one function; two functions of one name count as two.
    /// Allowed with a pattern only.
    pub unique_match: bool,
}

/// Attaches a program to kernel functions (libbpf: `bpf_program__attach_kprobe_multi_opts`).
pub(super) fn kprobe_multi(
    prog: BorrowedFd<'_>,
    functions: KprobeSet<'_>,
    options: &KprobeMultiOptions<'_>,
) -> Result<Link, AttachError> {
    let label = attachment_label(functions, options.kind);
    let invalid = |problem: &str| Err(AttachError::target(label.as_str(), problem));
    if options.unique_match && !matches!(functions, KprobeSet::Pattern(_)) {
        return invalid("`unique_match` needs a pattern");
    }
    let (symbols, addresses) = match functions {
        KprobeSet::Pattern(_) if !options.cookies.is_empty() => return invalid("a pattern takes no cookies"),
        KprobeSet::Pattern(name) if !is_glob(name) && !options.unique_match => {
            (vec![c_string(name, &label)?], Vec::new())
        }
        KprobeSet::Pattern(pattern) => {
            let found = find_addresses(pattern, &label)?;
            if options.unique_match && found.len() != 1 {
                return invalid(&format!("{} functions match, expected 1", found.len()));
            }
            (Vec::new(), found)
        }
        KprobeSet::Symbols(names) => {
            let names: Result<Vec<CString>, _> = names.iter().map(|name| c_string(*name, &label)).collect();
            (names?, Vec::new())
        }
        KprobeSet::Addresses(addresses) => (Vec::new(), addresses.to_vec()),
    };
    let count = symbols.len().max(addresses.len());
    if count == 0 || !(options.cookies.is_empty() || options.cookies.len() == count) {
        return invalid("expected at least one function, and a cookie for each function or no cookies");
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
        Ok(fd) => Ok(Link::from_fd(fd, label)),
        Err(errno) => {
            let hint = match errno.0 {
                libc::ENOENT | libc::ESRCH => Hint(
                    "a function does not exist, or cannot be traced: see available_filter_functions in tracefs",
                ),
                libc::EOPNOTSUPP => Hint("this kernel was built without CONFIG_FPROBE"),
                libc::EINVAL => Hint(
                    "kprobe.multi needs a kernel from 5.18 (sessions: 6.10), and a program loaded with that attach type",
                ),
                _ => Hint::for_errno(errno),
            };
            Err(AttachError::kernel_with_hint(&label, "attach", errno, hint))
        }
    }
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(functions: KprobeSet<'_>, kind: MultiKind) -> String {
    let prefix = match kind {
        MultiKind::Entry => "kprobe.multi",
        MultiKind::Return => "kretprobe.multi",
        MultiKind::Session => "kprobe.session",
    };
    match functions {
        KprobeSet::Pattern(pattern) => format!("{prefix}/{pattern}"),
        KprobeSet::Symbols([one]) => format!("{prefix}/{one}"),
        KprobeSet::Symbols(all) => format!("{prefix} of {} functions", all.len()),
        KprobeSet::Addresses(all) => format!("{prefix} of {} addresses", all.len()),
    }
}

/// Returns the addresses of the traceable functions that match a pattern. Without tracefs, all functions
/// count as traceable.
fn find_addresses(pattern: &str, label: &str) -> Result<Vec<u64>, AttachError> {
    let tracefs = tracefs::root();
    let read = |name: &str| {
        let path = tracefs.as_ref().ok().map(|root| root.join(name))?;
        fs::read(path).ok().filter(|text| !text.is_empty())
    };
    let unmatchable = |e: GlobError| AttachError::target(label, e.to_string());
    let mut glob = Glob::new(pattern).map_err(unmatchable)?;
    let found = if let Some(text) = read("available_filter_functions_addrs") {
        parse_addresses(&text, &mut glob)
    } else {
        const KALLSYMS: &str = "/proc/kallsyms";
        let failed = |e: io::Error| AttachError::unreadable(KALLSYMS.as_ref(), Errno::from_io_error(&e));
        let kallsyms = fs::read(KALLSYMS).map_err(failed)?;
        match read("available_filter_functions") {
            Some(text) => parse_names(&text, &mut glob)
                .and_then(|traceable| parse_kallsyms(&kallsyms, &mut glob, Some(&traceable))),
            None => parse_kallsyms(&kallsyms, &mut glob, None),
        }
    };
    let found = found.map_err(unmatchable)?;
    if found.is_empty() {
        let problem =
            "no function that can be traced matches (or /proc/kallsyms hides addresses from this user)";
        return Err(AttachError::target(label, problem));
    }
    Ok(found)
}

fn parse_address(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?;
    u64::from_str_radix(text, 16).ok().filter(|address| *address != 0)
}

/// Parses lines of `ffffffff81000000 name [module]`.
fn parse_addresses(text: &[u8], glob: &mut Glob<'_>) -> Result<Vec<u64>, GlobError> {
    parse_lines(text, |fields| {
        let Some((address, name)) = fields.next().and_then(parse_address).zip(fields.next()) else {
            return Ok(None);
        };
        Ok(glob.matches(name)?.then_some(address))
    })
}

/// Parses lines of `name [module]`.
fn parse_names<'t>(text: &'t [u8], glob: &mut Glob<'_>) -> Result<HashSet<&'t [u8]>, GlobError> {
    parse_lines(text, |fields| {
        let Some(name) = fields.next() else { return Ok(None) };
        Ok(glob.matches(name)?.then_some(name))
    })
}

/// Parses lines of `ffffffff81000000 t name [module]`.
fn parse_kallsyms(
    text: &[u8],
    glob: &mut Glob<'_>,
    traceable: Option<&HashSet<&[u8]>>,
) -> Result<Vec<u64>, GlobError> {
    parse_lines(text, |fields| {
        let address = fields.next().and_then(parse_address);
        let (Some(address), Some(kind), Some(name)) = (address, fields.next(), fields.next()) else {
            return Ok(None);
        };
        if !glob.matches(name)? {
            return Ok(None);
        }
        let is_traceable = match traceable {
            // Some kernels strip `.llvm.<hash>` in tracefs but not in kallsyms (libbpf: `avail_kallsyms_cb`).
            Some(names) => names.contains(name) || names.contains(strip_llvm_suffix(name)),
            None => matches!(kind, b"t" | b"T"),
        };
        Ok(is_traceable.then_some(address))
    })
}

/// Collects the results of the lines that have one. `parse_line` receives the fields of a line.
fn parse_lines<'t, T, C: FromIterator<T>>(
    text: &'t [u8],
    mut parse_line: impl FnMut(&mut dyn Iterator<Item = &'t [u8]>) -> Result<Option<T>, GlobError>,
) -> Result<C, GlobError> {
    text.split(|b| *b == b'\n').filter_map(|line| parse_line(&mut fields(line)).transpose()).collect()
}

fn strip_llvm_suffix(name: &[u8]) -> &[u8] {
    const SUFFIX: &[u8] = b".llvm.";
    let suffix = name.windows(SUFFIX.len()).position(|w| w == SUFFIX);
    suffix.and_then(|start| name.get(..start)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::trace::{Counter, Program, getppid, stops},
        *,
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    #[test]
    fn matching_functions_are_found_in_each_list() {
        let addrs =
            b"ffffffff81000010 vfs_read\nffffffff81000020 vfs_write [mod]\nffffffff81000030 do_exit\n";
        let glob = |pattern| Glob::new(pattern).unwrap();
        let addresses = parse_addresses(addrs, &mut glob("vfs_*"));
        assert_eq!(addresses, Ok(vec![0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]));
        let names = parse_names(b"vfs_read\nvfs_write [mod]\nvfs_x\n", &mut glob("vfs_?????")).unwrap();
        assert_eq!(names.len(), 1);
        let names = parse_names(b"vfs_read\nvfs_write [mod]\nodd\n", &mut glob("*")).unwrap();
        let kallsyms =
            b"0000000000000010 T vfs_read\n0000000000000020 t vfs_write\n0000000000000030 t vfs_other\n\
            0000000000000040 t odd.llvm.123\n0000000000000050 d vfs_data\n0000000000000000 T vfs_read\n";
        assert_eq!(parse_kallsyms(kallsyms, &mut glob("vfs_*"), Some(&names)), Ok(vec![0x10, 0x20]));
        assert_eq!(parse_kallsyms(kallsyms, &mut glob("odd*"), Some(&names)), Ok(vec![0x40]));
        assert_eq!(parse_kallsyms(kallsyms, &mut glob("vfs_*"), None), Ok(vec![0x10, 0x20, 0x30]));
    }

    #[test]
    fn contradictory_arguments_are_refused() {
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
    fn one_link_probes_many_functions() {
        let Some(counter) = Counter::new() else { return };
        for (set, kind) in [
            (KprobeSet::Pattern("*_sys_getppid"), MultiKind::Entry),
            (KprobeSet::Pattern("__x64_sys_getppid"), MultiKind::Return),
            (KprobeSet::Symbols(&["__x64_sys_getppid", "__x64_sys_getpgid"]), MultiKind::Entry),
            (KprobeSet::Pattern("*_sys_getppi?"), MultiKind::Session),
        ] {
            if !cfg!(target_arch = "x86_64") {
                return skip!("names of x86-64");
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
                    return skip!("{e}");
                }
                // Without tracefs, the list may contain functions that cannot be traced.
                Err(e) if tracefs::root().is_err() => return skip!("{e}"),
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
