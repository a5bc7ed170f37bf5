//! The attach target in a section's name: what libbpf attaches the program to by itself.

use super::{
    kinds::MultiKind,
    sec_def::{AutoAttach, SecDef},
};
use core_relo::Text;
use thiserror::Error;

/// A section's name that does not name its target as its family does.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{section}: {problem}")]
#[non_exhaustive]
pub struct SectionTargetError {
    /// The section's name.
    pub section: Text,
    /// What is wrong, or what is expected.
    pub problem: &'static str,
}

/// What a section's name tells to attach a tracing program to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum SectionTarget<'a> {
    /// Nothing: the name names no target, or of its family libbpf attaches nothing by itself.
    Nothing,
    /// `kprobe/function+offset`, `kretprobe/function`.
    Kprobe {
        /// The function.
        function: &'a str,
        /// Bytes behind its start.
        offset: u64,
        /// When it returns.
        retprobe: bool,
    },
    /// `kprobe.multi/pattern`, `kretprobe.multi/pattern`, `kprobe.session/pattern`.
    KprobeMulti {
        /// Functions, with `*` and `?`.
        pattern: &'a str,
        /// On entry, return or both.
        kind: MultiKind,
    },
    /// `ksyscall/name`, `kretsyscall/name`.
    Ksyscall {
        /// The system call.
        syscall: &'a str,
        /// When it returns.
        retprobe: bool,
    },
    /// `uprobe/binary:function+offset`, `uretprobe/binary:function`.
    Uprobe {
        /// A path or a name.
        binary: &'a str,
        /// The function.
        function: &'a str,
        /// Bytes behind its start.
        offset: i64,
        /// When it returns.
        retprobe: bool,
    },
    /// `uprobe.multi/binary:pattern`, `uretprobe.multi/…`, `uprobe.session/…`.
    UprobeMulti {
        /// A path or a name.
        binary: &'a str,
        /// Functions, with `*` and `?`.
        pattern: &'a str,
        /// On entry, return or both.
        kind: MultiKind,
    },
    /// `usdt/binary:provider:name`.
    Usdt {
        /// A path or a name.
        binary: &'a str,
        /// The probe's provider.
        provider: &'a str,
        /// The probe's name.
        name: &'a str,
    },
    /// `tp/category/name`.
    Tracepoint {
        /// Its category.
        category: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// `raw_tp/name`.
    RawTracepoint {
        /// Its name.
        name: &'a str,
    },
    /// What the program was loaded for: `fentry`, `fexit`, `fmod_ret`, `fsession`, `tp_btf`, `freplace`, `lsm`.
    AsLoaded,
    /// `iter/…`.
    Iter,
}

impl<'a> SectionTarget<'a> {
    /// Reads a section's name (libbpf: the `attach_*` functions of its table). A section that libbpf does not attach by its name
    /// gives `None`.
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
        let Some(family) = SecDef::find(section.as_bytes()).and_then(|def| def.auto_attach) else {
            return Ok(None);
        };
        let target = section.split_once('/').map(|(_, target)| target);
        let parsed = match (family, target) {
            (AutoAttach::AsLoaded, _) => Ok(Self::AsLoaded),
            (AutoAttach::Iter, _) => Ok(Self::Iter),
            // A program in a section that names no target is loaded all the same.
            (_, None) => Ok(Self::Nothing),
            (AutoAttach::Kprobe { retprobe }, Some(target)) => kprobe(target, retprobe),
            (AutoAttach::KprobeMulti(kind), Some(target)) => kprobe_multi(target, kind),
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

/// The target, or what is wrong with it.
type Parsed<'a> = Result<SectionTarget<'a>, &'static str>;

fn kprobe(target: &str, retprobe: bool) -> Parsed<'_> {
    let (function, rest) = split_word(target, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    // Text that does not begin with a `+` is skipped, as by libbpf's `sscanf`.
    let offset = rest.strip_prefix('+').and_then(|n| number(n.trim_start())).map_or(0, |(offset, _)| offset);
    match u64::try_from(offset) {
        _ if function.is_empty() => Err("expected `kprobe/function[+offset]`"),
        Ok(offset) if offset == 0 || !retprobe => Ok(SectionTarget::Kprobe { function, offset, retprobe }),
        Ok(_) => Err("a function's return has no offset"),
        Err(_negative) => Err("an offset cannot be negative"),
    }
}

fn kprobe_multi(target: &str, kind: MultiKind) -> Parsed<'_> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*' | '?');
    let (pattern, _) = split_word(target, is_part);
    if pattern.is_empty() {
        return Err("expected a function or a pattern of `*` and `?` behind the `/`");
    }
    Ok(SectionTarget::KprobeMulti { pattern, kind })
}

/// Splits `binary:function`. A target without a binary counts as none, as for libbpf.
fn split_binary(target: &str) -> Result<Option<(&str, &str)>, &'static str> {
    match target.split_once(':') {
        Some(("", _)) => Ok(None),
        None if target.is_empty() => Ok(None),
        Some((binary, function)) if !function.is_empty() => Ok(Some((binary, function))),
        _ => Err("expected a function behind the binary: `…/binary:function[+offset]`"),
    }
}

fn uprobe(target: &str, retprobe: bool) -> Parsed<'_> {
    let Some((binary, function)) = split_binary(target)? else { return Ok(SectionTarget::Nothing) };
    let (function, offset) = split_offset(function);
    if retprobe && offset != 0 {
        return Err("a function's return has no offset");
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

/// Splits `function+0x10`. A `+` that no number follows belongs to the name.
pub fn split_offset(function: &str) -> (&str, i64) {
    let split = function.rfind('+').and_then(|at| function.split_at_checked(at));
    match split.map(|(name, offset)| (name, offset.strip_prefix('+').and_then(number))) {
        Some((name, Some((offset, "")))) => (name, offset),
        _ => (function, 0),
    }
}

fn split_word(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Parses a number with its sign as `scanf` does for `%li` (decimal, `0x` or octal), and returns the rest of the text.
fn number(text: &str) -> Option<(i64, &str)> {
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

    fn of(section: &str) -> SectionTarget<'_> {
        SectionTarget::parse(section).unwrap().unwrap()
    }

    #[test]
    fn kprobes() {
        let entry = |function, offset| SectionTarget::Kprobe { function, offset, retprobe: false };
        assert_eq!(of("kprobe/do_exit"), entry("do_exit", 0));
        assert_eq!(of("kprobe/a.isra.0+16"), entry("a.isra.0", 16));
        assert_eq!(of("?kprobe/a+0x1f"), entry("a", 31));
        assert_eq!(of("kprobe/a+010"), entry("a", 8));
        assert_eq!(of("kretprobe/a"), SectionTarget::Kprobe { function: "a", offset: 0, retprobe: true });
        assert_eq!(of("kprobe"), SectionTarget::Nothing);
        assert_eq!(of("kprobe/a-4"), entry("a", 0));
        assert_eq!(of("kprobe/a+ 4"), entry("a", 4));
        assert_eq!(of("kprobe/a+b"), entry("a", 0));
        assert_eq!(of("kretprobe/a-4"), SectionTarget::Kprobe { function: "a", offset: 0, retprobe: true });
        for wrong in ["kprobe/", "kprobe/+4", "kretprobe/a+4", "kprobe/a+-4"] {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn many_kprobes_and_system_calls() {
        let multi = |pattern, kind| SectionTarget::KprobeMulti { pattern, kind };
        assert_eq!(of("kprobe.multi/vfs_*"), multi("vfs_*", MultiKind::Entry));
        assert_eq!(of("kretprobe.multi/vfs_?"), multi("vfs_?", MultiKind::Return));
        assert_eq!(of("kprobe.session/x"), multi("x", MultiKind::Session));
        assert_eq!(of("kprobe.multi"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("kprobe.multi/").is_err());
        assert_eq!(of("ksyscall/open"), SectionTarget::Ksyscall { syscall: "open", retprobe: false });
        assert_eq!(of("kretsyscall/open"), SectionTarget::Ksyscall { syscall: "open", retprobe: true });
        assert_eq!(of("ksyscall"), SectionTarget::Nothing);
    }

    #[test]
    fn uprobes() {
        let at =
            |binary, function, offset| SectionTarget::Uprobe { binary, function, offset, retprobe: false };
        assert_eq!(of("uprobe//bin/sh:main"), at("/bin/sh", "main", 0));
        assert_eq!(of("uprobe.s/libc.so.6:malloc+0x10"), at("libc.so.6", "malloc", 16));
        assert_eq!(of("uprobe//x:f@@V_1.0+8"), at("/x", "f@@V_1.0", 8));
        assert_eq!(of("uprobe//x:operator+"), at("/x", "operator+", 0));
        assert_eq!(of("uprobe//x:a:b"), at("/x", "a:b", 0));
        let back = SectionTarget::Uprobe { binary: "/x", function: "f", offset: 0, retprobe: true };
        assert_eq!(of("uretprobe.s//x:f"), back);
        for nothing in ["uprobe", "uretprobe", "uprobe.s", "uprobe/", "uprobe/:x"] {
            assert_eq!(of(nothing), SectionTarget::Nothing, "{nothing}");
        }
        for wrong in ["uprobe//bin/sh", "uprobe//bin/sh:", "uretprobe//x:f+4"] {
            assert!(SectionTarget::parse(wrong).is_err(), "{wrong}");
        }
        let multi = |kind| SectionTarget::UprobeMulti { binary: "/x", pattern: "f*", kind };
        assert_eq!(of("uprobe.multi//x:f*"), multi(MultiKind::Entry));
        assert_eq!(of("uretprobe.multi.s//x:f*"), multi(MultiKind::Return));
        assert_eq!(of("uprobe.session//x:f*"), multi(MultiKind::Session));
        assert_eq!(of("uprobe.multi"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("uprobe.multi//x").is_err());
    }

    #[test]
    fn the_rest_of_the_families() {
        assert_eq!(of("usdt//x:p:n"), SectionTarget::Usdt { binary: "/x", provider: "p", name: "n" });
        assert_eq!(of("usdt"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("usdt//x:p").is_err() && SectionTarget::parse("usdt//x:p:").is_err());
        assert_eq!(
            of("tp/sched/sched_switch"),
            SectionTarget::Tracepoint { category: "sched", name: "sched_switch" }
        );
        assert_eq!(of("tracepoint/a/b"), SectionTarget::Tracepoint { category: "a", name: "b" });
        assert_eq!(of("tp"), SectionTarget::Nothing);
        assert!(SectionTarget::parse("tp/sched").is_err());
        for raw in ["raw_tp/x", "raw_tracepoint/x", "raw_tp.w/x", "raw_tracepoint.w/x"] {
            assert_eq!(of(raw), SectionTarget::RawTracepoint { name: "x" });
        }
        assert_eq!(of("raw_tp.w"), SectionTarget::Nothing);
        for loaded in
            ["fentry/x", "fexit.s/x", "fmod_ret/x", "tp_btf/x", "lsm/x", "lsm.s/x", "freplace/x", "fentry"]
        {
            assert_eq!(of(loaded), SectionTarget::AsLoaded, "{loaded}");
        }
        assert_eq!(of("iter.s/task"), SectionTarget::Iter);
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
    fn numbers_are_as_scanf_reads_them() {
        assert_eq!(number("+16 x"), Some((16, " x")));
        assert_eq!(number("-0x10"), Some((-16, "")));
        assert_eq!(number("0"), Some((0, "")));
        assert_eq!(number("+"), None);
        assert_eq!(number("99999999999999999999"), None);
    }
}
