//! The attach target in a section's name, which libbpf uses for auto-attach.

use super::{
    kernel_enums::MultiKind,
    sec_def::{AutoAttach, SecDef},
};
use core_relo::Text;
use thiserror::Error;

/// An error in the attach target of a section's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{section}: {problem}")]
#[non_exhaustive]
pub struct SectionTargetError {
    /// The section's name.
    pub section: Text,
    /// The problem, or what is expected.
    pub problem: &'static str,
}

/// The attach target in the name of a tracing program's section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum SectionTarget<'a> {
    /// No target: the name has none.
    Nothing,
    /// `kprobe/function+offset`, `kretprobe/function`.
    Kprobe {
        /// The function.
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
    /// `uprobe/binary:function+offset`, `uretprobe/binary:function`.
    Uprobe {
        /// The path or name of the binary.
        binary: &'a str,
        /// The function.
        function: &'a str,
        /// The offset from the function's start, in bytes.
        offset: i64,
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
    /// The target that the program was loaded for: `fentry`, `fexit`, `fmod_ret`, `fsession`, `tp_btf`, `freplace`, `lsm`.
    AsLoaded,
    /// `iter/…`.
    Iter,
}

impl<'a> SectionTarget<'a> {
    /// Parses a section's name (libbpf: the `attach_*` functions of `section_defs`). Returns `None` for sections that libbpf does not
    /// attach by name.
    ///
    /// ```
    /// use core_relo_object::object::SectionTarget;
    /// let target = SectionTarget::parse("kprobe/vfs_read+0x4").unwrap();
    /// assert_eq!(target, Some(SectionTarget::Kprobe { function: "vfs_read", offset: 4, retprobe: false }));
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
            (AutoAttach::TraceMulti, Some("")) => Err("expected a function or a glob pattern after the `/`"),
            (AutoAttach::TraceMulti, Some(pattern)) => Ok(Self::TraceMulti { pattern }),
            (AutoAttach::Ksyscall { retprobe }, Some(syscall)) => Ok(Self::Ksyscall { syscall, retprobe }),
            (AutoAttach::Uprobe { retprobe }, Some(target)) => uprobe(target, retprobe),
            (AutoAttach::UprobeMulti(kind), Some(target)) => uprobe_multi(target, kind),
            (AutoAttach::Usdt, Some(target)) => usdt(target),
            (AutoAttach::Tracepoint, Some(target)) => tracepoint(target),
            (AutoAttach::RawTracepoint, Some(name)) => Ok(Self::RawTracepoint { name }),
        };
        parsed.map(Some).map_err(|problem| SectionTargetError { section: section.into(), problem })
    }
}

/// The target, or an error message.
type Parsed<'a> = Result<SectionTarget<'a>, &'static str>;

fn kprobe(target: &str, retprobe: bool) -> Parsed<'_> {
    let (function, rest) = split_word(target, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    // Like libbpf's `sscanf`, ignores text that does not begin with `+`.
    let offset =
        rest.strip_prefix('+').and_then(|n| parse_number(n.trim_start())).map_or(0, |(offset, _)| offset);
    match u64::try_from(offset) {
        _ if function.is_empty() => Err("expected `kprobe/function[+offset]`"),
        Ok(offset) if offset == 0 || !retprobe => Ok(SectionTarget::Kprobe { function, offset, retprobe }),
        Ok(_) => Err("a return probe cannot have an offset"),
        Err(_negative) => Err("negative offset"),
    }
}

fn kprobe_multi(target: &str, kind: MultiKind) -> Parsed<'_> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*' | '?');
    let (pattern, _) = split_word(target, is_part);
    if pattern.is_empty() {
        return Err("expected a function or a glob pattern after the `/`");
    }
    Ok(SectionTarget::KprobeMulti { pattern, kind })
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
    let Some((binary, function)) = split_binary(target)? else { return Ok(SectionTarget::Nothing) };
    let (function, offset) = split_offset(function);
    if retprobe && offset != 0 {
        return Err("a return probe cannot have an offset");
    }
    Ok(SectionTarget::Uprobe { binary, function, offset, retprobe })
}

fn uprobe_multi(target: &str, kind: MultiKind) -> Parsed<'_> {
    let Some((binary, pattern)) = split_binary(target)? else { return Ok(SectionTarget::Nothing) };
    Ok(SectionTarget::UprobeMulti { binary, pattern, kind })
}

fn usdt(target: &str) -> Parsed<'_> {
    let mut parts = target.split(':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(binary), Some(provider), Some(name)) if ![binary, provider, name].contains(&"") => {
            Ok(SectionTarget::Usdt { binary, provider, name })
        }
        _ => Err("expected `usdt/binary:provider:name`"),
    }
}

fn tracepoint(target: &str) -> Parsed<'_> {
    let (category, name) = target.split_once('/').ok_or("expected `tp/category/name`")?;
    Ok(SectionTarget::Tracepoint { category, name })
}

/// Splits `function+0x10` into name and offset. A `+` without a number after it belongs to the name.
pub fn split_offset(function: &str) -> (&str, i64) {
    let split = function.rfind('+').and_then(|plus| function.split_at_checked(plus));
    match split.map(|(name, offset)| (name, offset.strip_prefix('+').and_then(parse_number))) {
        Some((name, Some((offset, "")))) => (name, offset),
        _ => (function, 0),
    }
}

/// Splits text after its longest prefix of characters that `is_part` accepts.
fn split_word(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let split = text.find(|c| !is_part(c)).and_then(|end| text.split_at_checked(end));
    // Without another character, the prefix is the whole text.
    split.unwrap_or((text, ""))
}

/// Parses a signed number like `%li` of `scanf` (decimal, `0x` or octal). Returns the number and the rest of the text.
fn parse_number(text: &str) -> Option<(i64, &str)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (radix, digits) = match hex {
        Some(digits) => (16, digits),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let (digits, rest) = split_word(digits, |c| c.is_digit(radix));
    let value = i64::from_str_radix(digits, radix).ok()?;
    Some((value.checked_mul(sign)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(section: &str) -> SectionTarget<'_> {
        SectionTarget::parse(section).unwrap().unwrap()
    }

    #[test]
    fn kprobes() {
        let entry = |function, offset| SectionTarget::Kprobe { function, offset, retprobe: false };
        assert_eq!(parse("kprobe/do_exit"), entry("do_exit", 0));
        assert_eq!(parse("kprobe/a.isra.0+16"), entry("a.isra.0", 16));
        assert_eq!(parse("?kprobe/a+0x1f"), entry("a", 31));
        assert_eq!(parse("kprobe/a+010"), entry("a", 8));
        assert_eq!(parse("kretprobe/a"), SectionTarget::Kprobe { function: "a", offset: 0, retprobe: true });
        assert_eq!(parse("kprobe"), SectionTarget::Nothing);
        assert_eq!(parse("kprobe/a-4"), entry("a", 0));
        assert_eq!(parse("kprobe/a+ 4"), entry("a", 4));
        assert_eq!(parse("kprobe/a+b"), entry("a", 0));
        assert_eq!(
            parse("kretprobe/a-4"),
            SectionTarget::Kprobe { function: "a", offset: 0, retprobe: true }
        );
        for wrong in ["kprobe/", "kprobe/+4", "kretprobe/a+4", "kprobe/a+-4"] {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn multi_kprobes_and_system_calls() {
        let multi = |pattern, kind| SectionTarget::KprobeMulti { pattern, kind };
        assert_eq!(parse("kprobe.multi/vfs_*"), multi("vfs_*", MultiKind::Entry));
        assert_eq!(parse("kretprobe.multi/vfs_?"), multi("vfs_?", MultiKind::Return));
        assert_eq!(parse("kprobe.session/x"), multi("x", MultiKind::Session));
        assert_eq!(parse("kprobe.multi"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("kprobe.multi/").is_err());
        assert_eq!(parse("ksyscall/open"), SectionTarget::Ksyscall { syscall: "open", retprobe: false });
        assert_eq!(parse("kretsyscall/open"), SectionTarget::Ksyscall { syscall: "open", retprobe: true });
        assert_eq!(parse("ksyscall"), SectionTarget::Nothing);
    }

    #[test]
    fn uprobes() {
        let at =
            |binary, function, offset| SectionTarget::Uprobe { binary, function, offset, retprobe: false };
        assert_eq!(parse("uprobe//bin/sh:main"), at("/bin/sh", "main", 0));
        assert_eq!(parse("uprobe.s/libc.so.6:malloc+0x10"), at("libc.so.6", "malloc", 16));
        assert_eq!(parse("uprobe//x:f@@V_1.0+8"), at("/x", "f@@V_1.0", 8));
        assert_eq!(parse("uprobe//x:operator+"), at("/x", "operator+", 0));
        assert_eq!(parse("uprobe//x:a:b"), at("/x", "a:b", 0));
        let back = SectionTarget::Uprobe { binary: "/x", function: "f", offset: 0, retprobe: true };
        assert_eq!(parse("uretprobe.s//x:f"), back);
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
        assert!(SectionTarget::parse("usdt//x:p").is_err() && SectionTarget::parse("usdt//x:p:").is_err());
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
    fn numbers_are_parsed_like_scanf() {
        assert_eq!(parse_number("+16 x"), Some((16, " x")));
        assert_eq!(parse_number("-0x10"), Some((-16, "")));
        assert_eq!(parse_number("0"), Some((0, "")));
        assert_eq!(parse_number("+"), None);
        assert_eq!(parse_number("99999999999999999999"), None);
    }
}
