//! The attach target in a section's name, which libbpf uses for auto-attach.

use super::{
    kernel_enums::MultiKind,
    sec_def::{AutoAttach, SecDef},
};
use core_relo::Text;
use thiserror::Error;

/// Returns the module that the prefix of a target names. `None` for `vmlinux`, which is the kernel itself.
pub fn module_of_prefix(prefix: &str) -> Option<&str> {
    Some(prefix).filter(|prefix| *prefix != "vmlinux")
}

/// An error in the attach target of a section's name.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{section}: {problem}")]
#[non_exhaustive]
pub struct SectionTargetError {
    /// The section's name.
    pub section: Text,
    /// The problem, or what is expected.
    pub problem: &'static str,
}

core_relo::debug_as_message!(SectionTargetError);

/// The attach target in the name of a tracing program's section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum SectionTarget<'a> {
    /// No target: the name has none.
    Nothing,
    /// `kprobe/module:function+offset`, `kretprobe/function`.
    Kprobe {
        /// The module; `vmlinux` for the kernel itself. `None` for a function of the kernel, or of any
        /// module.
        module: Option<&'a str>,
        /// The function, or an address in hexadecimal.
        function: &'a str,
        /// The offset from the function's start, in bytes.
        offset: u64,
        /// Whether the probe is on the function's return.
        retprobe: bool,
    },
    /// `kprobe.multi/pattern`, `kretprobe.multi/pattern`, `kprobe.session/pattern`.
    KprobeMulti {
        /// A glob pattern of functions, with `*` and `?`.
        pattern: &'a str,
        /// The point at which the program runs.
        kind: MultiKind,
    },
    /// `fentry.multi/pattern`, `fexit.multi/pattern`, `fsession.multi/pattern`.
    TraceMulti {
        /// A glob pattern of functions, with `*` and `?`. For the functions of a module, `module:pattern`.
        pattern: &'a str,
    },
    /// `ksyscall/name`, `kretsyscall/name`.
    Ksyscall {
        /// The name of the system call.
        syscall: &'a str,
        /// Whether the probe is on the function's return.
        retprobe: bool,
    },
    /// `uprobe/binary:function+offset`, `uprobe/binary:offset`, `uretprobe/binary:function`.
    Uprobe {
        /// The path or name of the binary.
        binary: &'a str,
        /// The place: `function`, `function+offset`, or an offset from the start of the file
        /// ([`split_offset`], [`parse_file_offset`]).
        place: &'a str,
        /// Whether the probe is on the function's return.
        retprobe: bool,
    },
    /// `uprobe.multi/binary:pattern`, `uretprobe.multi/…`, `uprobe.session/…`.
    UprobeMulti {
        /// The path or name of the binary.
        binary: &'a str,
        /// A glob pattern of functions, with `*` and `?`.
        pattern: &'a str,
        /// The point at which the program runs.
        kind: MultiKind,
    },
    /// `usdt/binary:provider:name`.
    Usdt {
        /// The path or name of the binary.
        binary: &'a str,
        /// The probe's provider.
        provider: &'a str,
        /// The probe's name.
        name: &'a str,
    },
    /// `tp/category/name`.
    Tracepoint {
        /// The tracepoint's category.
        category: &'a str,
        /// The name.
        name: &'a str,
    },
    /// `raw_tp/name`.
    RawTracepoint {
        /// The name.
        name: &'a str,
    },
    /// The target that the program was loaded for: `fentry`, `fexit`, `fmod_ret`, `fsession`, `tp_btf`,
    /// `freplace`, `lsm`.
    AsLoaded,
    /// `iter/…`.
    Iter,
}

impl<'a> SectionTarget<'a> {
    /// Parses a section's name (libbpf: the `attach_*` functions of `section_defs`). Returns `None` for
    /// sections that libbpf does not attach by name.
    ///
    /// The whole name is understood, or the error has the whole name. libbpf ignores the end of a name that
    /// it does not understand, and attaches the program to another place.
    ///
    /// ```
    /// use core_relo_object::object::SectionTarget;
    /// let target = SectionTarget::parse("kprobe/vfs_read+0x4").unwrap();
    /// let (module, function) = (None, "vfs_read");
    /// let expected = SectionTarget::Kprobe { module, function, offset: 4, retprobe: false };
    /// assert_eq!(target, Some(expected));
    /// assert!(SectionTarget::parse("kprobe/vfs_read something").is_err());
    /// assert_eq!(SectionTarget::parse("kprobe").unwrap(), Some(SectionTarget::Nothing));
    /// assert_eq!(SectionTarget::parse("xdp").unwrap(), None);
    /// ```
    pub fn parse(section: &'a str) -> Result<Option<Self>, SectionTargetError> {
        let section = section.strip_prefix('?').unwrap_or(section);
        let Some(method) = SecDef::find(section.as_bytes()).and_then(|def| def.auto_attach) else {
            return Ok(None);
        };
        let target = section.split_once('/').map(|(_, target)| target);
        let parsed = match (method, target) {
            (AutoAttach::AsLoaded, _) => Ok(Self::AsLoaded),
            (AutoAttach::Iter, _) => Ok(Self::Iter),
            // A program in a section without a target is loaded, but not attached.
            (_, None) => Ok(Self::Nothing),
            (AutoAttach::Kprobe { retprobe }, Some(target)) => kprobe(target, retprobe),
            (AutoAttach::KprobeMulti(kind), Some(target)) => kprobe_multi(target, kind),
            (AutoAttach::TraceMulti, Some(target)) => trace_multi(target),
            (AutoAttach::Ksyscall { retprobe }, Some(syscall)) if is_word(syscall, is_identifier) => {
                Ok(Self::Ksyscall { syscall, retprobe })
            }
            (AutoAttach::Ksyscall { .. }, _) => {
                Err("expected `ksyscall/name` with the name of a system call")
            }
            (AutoAttach::Uprobe { retprobe }, Some(target)) => uprobe(target, retprobe),
            (AutoAttach::UprobeMulti(kind), Some(target)) => uprobe_multi(target, kind),
            (AutoAttach::Usdt, Some(target)) => usdt(target),
            (AutoAttach::Tracepoint, Some(target)) => tracepoint(target),
            (AutoAttach::RawTracepoint, Some(name)) if is_word(name, is_identifier) => {
                Ok(Self::RawTracepoint { name })
            }
            (AutoAttach::RawTracepoint, _) => Err("expected `raw_tp/name` with the name of a tracepoint"),
        };
        parsed.map(Some).map_err(|problem| SectionTargetError { section: section.into(), problem })
    }
}

/// The target, or an error message.
type Parsed<'a> = Result<SectionTarget<'a>, &'static str>;

fn kprobe(target: &str, retprobe: bool) -> Parsed<'_> {
    const EXPECTED: &str = "expected `kprobe/[module:]function[+offset]`";
    if target.contains(['*', '?']) {
        return Err("expected one function; kprobe.multi and kretprobe.multi take a pattern");
    }
    let (place, offset) = match target.split_once('+') {
        Some((place, offset)) => (place, Some(offset)),
        None => (target, None),
    };
    let (module, function) = match place.split_once(':') {
        Some((module, function)) => (Some(module), function),
        None => (None, place),
    };
    if !is_word(function, is_symbol) || module.is_some_and(|module| !is_word(module, is_module)) {
        return Err(EXPECTED);
    }
    let offset = match offset {
        Some(offset) => parse_whole_number(offset).ok_or(EXPECTED)?,
        None => 0,
    };
    let offset = u64::try_from(offset).map_err(|_negative| "expected an offset of 0 or more")?;
    if offset != 0 && retprobe {
        return Err("a return probe cannot have an offset");
    }
    Ok(SectionTarget::Kprobe { module, function, offset, retprobe })
}

fn kprobe_multi(pattern: &str, kind: MultiKind) -> Parsed<'_> {
    if !is_word(pattern, is_pattern) {
        return Err("expected a function or a glob pattern with `*` and `?` after the `/`");
    }
    Ok(SectionTarget::KprobeMulti { pattern, kind })
}

fn trace_multi(target: &str) -> Parsed<'_> {
    let (module, pattern) = match target.split_once(':') {
        Some((module, pattern)) => (Some(module), pattern),
        None => (None, target),
    };
    if !is_word(pattern, is_pattern) || module.is_some_and(|module| !is_word(module, is_module)) {
        return Err("expected `[module:]` and a function or a glob pattern with `*` and `?` after the `/`");
    }
    Ok(SectionTarget::TraceMulti { pattern: target })
}

/// Splits `binary:function`. Like in libbpf, a target without a binary counts as no target.
fn split_binary(target: &str) -> Result<Option<(&str, &str)>, &'static str> {
    match target.split_once(':') {
        Some(("", _)) => Ok(None),
        None if target.is_empty() => Ok(None),
        Some((binary, function)) if !function.is_empty() => Ok(Some((binary, function))),
        _ => Err("expected a function after the binary: `…/binary:function[+offset]`"),
    }
}

fn uprobe(target: &str, retprobe: bool) -> Parsed<'_> {
    let Some((binary, place)) = split_binary(target)? else { return Ok(SectionTarget::Nothing) };
    // An offset from the start of the file may be the entry of a function.
    if retprobe && parse_file_offset(place).is_none() && split_offset(place).1 != 0 {
        return Err("a return probe cannot have an offset");
    }
    Ok(SectionTarget::Uprobe { binary, place, retprobe })
}

fn uprobe_multi(target: &str, kind: MultiKind) -> Parsed<'_> {
    let Some((binary, pattern)) = split_binary(target)? else { return Ok(SectionTarget::Nothing) };
    Ok(SectionTarget::UprobeMulti { binary, pattern, kind })
}

fn usdt(target: &str) -> Parsed<'_> {
    let parts: Vec<_> = target.split(':').collect();
    match *parts {
        [binary, provider, name] if ![binary, provider, name].contains(&"") => {
            Ok(SectionTarget::Usdt { binary, provider, name })
        }
        _ => Err("expected `usdt/binary:provider:name`"),
    }
}

fn tracepoint(target: &str) -> Parsed<'_> {
    match target.split_once('/') {
        Some((category, name)) if [category, name].iter().all(|part| is_word(part, is_event)) => {
            Ok(SectionTarget::Tracepoint { category, name })
        }
        _ => Err("expected `tp/category/name`"),
    }
}

/// Returns whether a text is not empty and has only such characters.
fn is_word(text: &str, is_part: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(is_part)
}

/// Returns whether names of system calls and tracepoints have a character.
const fn is_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns whether names of kernel functions have a character. Compilers add suffixes such as `.isra.0`, and
/// names of Rust have `$`.
const fn is_symbol(c: char) -> bool {
    is_identifier(c) || matches!(c, '.' | '$')
}

/// Returns whether patterns of kernel functions have a character.
const fn is_pattern(c: char) -> bool {
    is_symbol(c) || matches!(c, '*' | '?')
}

/// Returns whether names of modules have a character.
const fn is_module(c: char) -> bool {
    is_identifier(c) || c == '-'
}

/// Returns whether names of trace events and their categories have a character.
const fn is_event(c: char) -> bool {
    is_identifier(c) || matches!(c, '.' | '-' | ':')
}

/// Parses an offset from the start of a file: `0x1115`, `4373` or `+0x1115`. No function has such a name.
pub fn parse_file_offset(place: &str) -> Option<i64> {
    let digits = place.strip_prefix('+').unwrap_or(place);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    parse_whole_number(digits).filter(|_| is_number)
}

/// Splits `function+0x10` into name and offset. A `+` without a number after it belongs to the name.
pub fn split_offset(function: &str) -> (&str, i64) {
    let split = function.rfind('+').and_then(|plus| function.split_at_checked(plus));
    match split.map(|(name, offset)| (name, offset.strip_prefix('+').and_then(parse_whole_number))) {
        Some((name, Some(offset))) => (name, offset),
        _ => (function, 0),
    }
}

/// Parses a signed number as `strtol` does (decimal, `0x` or octal), if it is the whole text.
fn parse_whole_number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (radix, digits) = match hex {
        Some(digits) => (16, digits),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    // `from_str_radix` takes a sign of its own.
    if !is_word(digits, |c| c.is_digit(radix)) {
        return None;
    }
    i64::from_str_radix(digits, radix).ok()?.checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(section: &str) -> SectionTarget<'_> {
        SectionTarget::parse(section).unwrap().unwrap()
    }

    /// libbpf attaches most of the wrong names to the function before the first character that it does not
    /// understand.
    #[test]
    fn kprobes() {
        let probe =
            |module, function, offset| SectionTarget::Kprobe { module, function, offset, retprobe: false };
        let entry = |function, offset| probe(None, function, offset);
        assert_eq!(parse("kprobe/do_exit"), entry("do_exit", 0));
        assert_eq!(parse("kprobe/a.isra.0+16"), entry("a.isra.0", 16));
        assert_eq!(parse("?kprobe/a+0x1f"), entry("a", 31));
        assert_eq!(parse("kprobe/a+010"), entry("a", 8));
        assert_eq!(parse("kprobe/0xffffffff81000000"), entry("0xffffffff81000000", 0));
        assert_eq!(parse("kprobe/veth:veth_open+4"), probe(Some("veth"), "veth_open", 4));
        assert_eq!(parse("kprobe/vmlinux:vfs_read"), probe(Some("vmlinux"), "vfs_read", 0));
        let back = SectionTarget::Kprobe { module: None, function: "a", offset: 0, retprobe: true };
        assert_eq!((parse("kretprobe/a"), parse("kretprobe/a+0")), (back, back));
        assert_eq!(parse("kprobe"), SectionTarget::Nothing);
        for wrong in [
            "", "+4", "a+", "a+b", "a+4x", "a+ 4", "a+-4", "a-4", "a b", "a:b:c", "a:", ":a", "a/b", "a\n",
            "a+4+4", "a+0x+4", "ä",
        ] {
            let error = SectionTarget::parse(&format!("kprobe/{wrong}")).unwrap_err();
            assert_eq!(&*error.section, format!("kprobe/{wrong}"));
        }
        assert!(SectionTarget::parse("kretprobe/a+4").is_err());
        let error = SectionTarget::parse("kprobe/vfs_rea*").unwrap_err().to_string();
        assert!(error.contains("kprobe/vfs_rea*") && error.contains("kprobe.multi"), "{error}");
    }

    #[test]
    fn multi_kprobes_and_system_calls() {
        let multi = |pattern, kind| SectionTarget::KprobeMulti { pattern, kind };
        assert_eq!(parse("kprobe.multi/vfs_*"), multi("vfs_*", MultiKind::Entry));
        assert_eq!(parse("kretprobe.multi/vfs_?"), multi("vfs_?", MultiKind::Return));
        assert_eq!(parse("kprobe.session/x"), multi("x", MultiKind::Session));
        assert_eq!(parse("kprobe.multi"), SectionTarget::Nothing);
        for wrong in [
            "kprobe.multi/",
            "kprobe.multi/a b",
            "kprobe.multi/a:b",
            "kprobe.session/a[bc]",
            "ksyscall/",
            "ksyscall/a b",
        ] {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("fentry.multi/veth:v*"), SectionTarget::TraceMulti { pattern: "veth:v*" });
        for wrong in
            ["fentry.multi/", "fentry.multi/a:", "fentry.multi/:a", "fentry.multi/a:b:c", "fexit.multi/a b"]
        {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("ksyscall/open"), SectionTarget::Ksyscall { syscall: "open", retprobe: false });
        assert_eq!(parse("kretsyscall/open"), SectionTarget::Ksyscall { syscall: "open", retprobe: true });
        assert_eq!(parse("ksyscall"), SectionTarget::Nothing);
    }

    #[test]
    fn uprobes() {
        let at = |binary, place| SectionTarget::Uprobe { binary, place, retprobe: false };
        for (binary, place) in [
            ("/bin/sh", "main"),
            ("libc.so.6", "malloc+0x10"),
            ("/x", "f@@V_1.0+8"),
            ("/x", "operator+"),
            ("/x", "a:b"),
            ("libc.so.6", "0x1115"),
        ] {
            assert_eq!(parse(&format!("uprobe/{binary}:{place}")), at(binary, place));
            assert_eq!(parse(&format!("uprobe.s/{binary}:{place}")), at(binary, place));
        }
        for (place, function, offset) in [
            ("malloc+0x10", "malloc", 16),
            ("f@@V_1.0+8", "f@@V_1.0", 8),
            ("f+-3", "f", -3),
            ("operator+", "operator+", 0),
            ("f+4+", "f+4+", 0),
        ] {
            assert_eq!(
                (split_offset(place), parse_file_offset(place)),
                ((function, offset), None),
                "{place}"
            );
        }
        assert_eq!(["0x1115", "4373", "+0x1115", "010425"].map(parse_file_offset), [Some(0x1115); 4]);
        assert_eq!(["0x11z", "-4", "", "+", "1 "].map(parse_file_offset), [None; 5]);
        let back = |place| SectionTarget::Uprobe { binary: "/x", place, retprobe: true };
        assert_eq!((parse("uretprobe.s//x:f"), parse("uretprobe//x:0x40")), (back("f"), back("0x40")));
        for nothing in ["uprobe", "uretprobe", "uprobe.s", "uprobe/", "uprobe/:x"] {
            assert_eq!(parse(nothing), SectionTarget::Nothing, "{nothing}");
        }
        for wrong in ["uprobe//bin/sh", "uprobe//bin/sh:", "uretprobe//x:f+4"] {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
        let multi = |kind| SectionTarget::UprobeMulti { binary: "/x", pattern: "f*", kind };
        assert_eq!(parse("uprobe.multi//x:f*"), multi(MultiKind::Entry));
        assert_eq!(parse("uretprobe.multi.s//x:f*"), multi(MultiKind::Return));
        assert_eq!(parse("uprobe.session//x:f*"), multi(MultiKind::Session));
        assert_eq!(parse("uprobe.multi"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("uprobe.multi//x").is_err());
    }

    #[test]
    fn other_targets() {
        assert_eq!(parse("usdt//x:p:n"), SectionTarget::Usdt { binary: "/x", provider: "p", name: "n" });
        assert_eq!(parse("usdt"), SectionTarget::Nothing);
        for wrong in [
            "usdt//x:p",
            "usdt//x:p:",
            "usdt//x:p:n:zz",
            "usdt//x:p:n:",
            "raw_tp/",
            "raw_tp/a b",
            "tp/sched/a b",
            "tp//a",
            "tp/a/b/c",
        ] {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            parse("tp/sched/sched_switch"),
            SectionTarget::Tracepoint { category: "sched", name: "sched_switch" }
        );
        assert_eq!(parse("tracepoint/a/b"), SectionTarget::Tracepoint { category: "a", name: "b" });
        assert_eq!(parse("tp"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("tp/sched").is_err());
        for raw in ["raw_tp/x", "raw_tracepoint/x", "raw_tp.w/x", "raw_tracepoint.w/x"] {
            assert_eq!(parse(raw), SectionTarget::RawTracepoint { name: "x" });
        }
        assert_eq!(parse("raw_tp.w"), SectionTarget::Nothing);
        for loaded in
            ["fentry/x", "fexit.s/x", "fmod_ret/x", "tp_btf/x", "lsm/x", "lsm.s/x", "freplace/x", "fentry"]
        {
            assert_eq!(parse(loaded), SectionTarget::AsLoaded, "{loaded}");
        }
        assert_eq!(parse("iter.s/task"), SectionTarget::Iter);
        for other in [
            "perf_event",
            "kprobe.s/x",
            "xdp",
            "tc",
            "cgroup/dev",
            "lsm_cgroup/x",
            "struct_ops/x",
            "kprobes/x",
            "",
        ] {
            assert_eq!(SectionTarget::parse(other), Ok(None), "{other}");
        }
    }

    #[test]
    fn numbers_are_whole_texts() {
        assert_eq!(parse_whole_number("16"), Some(16));
        assert_eq!(parse_whole_number("-0x10"), Some(-16));
        assert_eq!(parse_whole_number("0"), Some(0));
        for wrong in ["", "+16", "-", "0x", "0x+1", "--1", "16 ", "08", "99999999999999999999"] {
            assert_eq!(parse_whole_number(wrong), None, "{wrong}");
        }
    }
}
