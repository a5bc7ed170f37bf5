//! What libbpf would attach a program to by its section's name.

use super::{error::AttachError, kprobe_multi::MultiKind};

/// What a section's name says to attach to, for the tracing families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auto<'a> {
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

impl<'a> Auto<'a> {
    /// Reads a section's name (libbpf: the `attach_*` functions of its table). Families that are not of tracing give `None`.
    ///
    /// ```
    /// use core_relo_loader::attach::Auto;
    /// let auto = Auto::of("kprobe/vfs_read+0x4").unwrap();
    /// assert_eq!(auto, Some(Auto::Kprobe { function: "vfs_read", offset: 4, retprobe: false }));
    /// assert_eq!(Auto::of("kprobe").unwrap(), Some(Auto::Nothing));
    /// assert_eq!(Auto::of("xdp").unwrap(), None);
    /// ```
    pub fn of(section: &'a str) -> Result<Option<Self>, AttachError> {
        let section = section.strip_prefix('?').unwrap_or(section);
        let (family, target) = match section.split_once('/') {
            Some((family, target)) => (family, Some(target)),
            None => (section, None),
        };
        let family = family.strip_suffix(".s").unwrap_or(family);
        // A program in a section that names no target is loaded all the same.
        let named = |read: fn(&'a str, &'a str, &'a str) -> Result<Self, AttachError>| match target {
            Some(target) => read(section, family, target),
            None => Ok(Self::Nothing),
        };
        let auto = match family {
            "kprobe" | "kretprobe" => named(kprobe),
            "kprobe.multi" | "kretprobe.multi" | "kprobe.session" => named(kprobe_multi),
            "ksyscall" | "kretsyscall" => {
                named(|_, family, syscall| Ok(Self::Ksyscall { syscall, retprobe: family == "kretsyscall" }))
            }
            "uprobe" | "uretprobe" => named(uprobe),
            "uprobe.multi" | "uretprobe.multi" | "uprobe.session" => named(uprobe_multi),
            "usdt" => named(usdt),
            "tp" | "tracepoint" => named(tracepoint),
            "raw_tp" | "raw_tracepoint" | "raw_tp.w" | "raw_tracepoint.w" => {
                named(|_, _, name| Ok(Self::RawTracepoint { name }))
            }
            "fentry" | "fexit" | "fmod_ret" | "fsession" | "tp_btf" | "freplace" | "lsm" => {
                Ok(Self::AsLoaded)
            }
            "iter" => Ok(Self::Iter),
            "perf_event" => Ok(Self::Nothing),
            _ => return Ok(None),
        };
        auto.map(Some)
    }
}

fn kprobe<'a>(section: &'a str, family: &str, target: &'a str) -> Result<Auto<'a>, AttachError> {
    let (function, rest) = split_word(target, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    let retprobe = family == "kretprobe";
    // What is not behind a `+` is passed over, as by libbpf's `sscanf`.
    let offset = rest.strip_prefix('+').and_then(|n| number(n.trim_start())).map_or(0, |(offset, _)| offset);
    match u64::try_from(offset) {
        _ if function.is_empty() => Err(AttachError::target(section, "expected `kprobe/function[+offset]`")),
        Ok(offset) if offset == 0 || !retprobe => Ok(Auto::Kprobe { function, offset, retprobe }),
        Ok(_) => Err(AttachError::target(section, "a function's return has no offset")),
        Err(_negative) => Err(AttachError::target(section, "an offset cannot be negative")),
    }
}

fn kprobe_multi<'a>(section: &'a str, family: &str, target: &'a str) -> Result<Auto<'a>, AttachError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '*' | '?');
    let (pattern, _) = split_word(target, is_part);
    if pattern.is_empty() {
        return Err(AttachError::target(
            section,
            "expected a function or a pattern of `*` and `?` behind the `/`",
        ));
    }
    Ok(Auto::KprobeMulti { pattern, kind: multi_kind(family) })
}

fn multi_kind(family: &str) -> MultiKind {
    match family {
        "kretprobe.multi" | "uretprobe.multi" => MultiKind::Return,
        "kprobe.session" | "uprobe.session" => MultiKind::Session,
        _ => MultiKind::Entry,
    }
}

/// The binary and what is behind its `:`; nothing if no binary is named, which libbpf takes for a section without a target.
fn in_binary<'a>(section: &str, target: &'a str) -> Result<Option<(&'a str, &'a str)>, AttachError> {
    match target.split_once(':') {
        Some(("", _)) => Ok(None),
        None if target.is_empty() => Ok(None),
        Some((binary, function)) if !function.is_empty() => Ok(Some((binary, function))),
        _ => Err(AttachError::target(
            section,
            "expected a function behind the binary: `…/binary:function[+offset]`",
        )),
    }
}

fn uprobe<'a>(section: &'a str, family: &str, target: &'a str) -> Result<Auto<'a>, AttachError> {
    let Some((binary, function)) = in_binary(section, target)? else { return Ok(Auto::Nothing) };
    let (function, offset) = split_offset(function);
    let retprobe = family == "uretprobe";
    if retprobe && offset != 0 {
        return Err(AttachError::target(section, "a function's return has no offset"));
    }
    Ok(Auto::Uprobe { binary, function, offset, retprobe })
}

fn uprobe_multi<'a>(section: &'a str, family: &str, target: &'a str) -> Result<Auto<'a>, AttachError> {
    let Some((binary, pattern)) = in_binary(section, target)? else { return Ok(Auto::Nothing) };
    Ok(Auto::UprobeMulti { binary, pattern, kind: multi_kind(family) })
}

fn usdt<'a>(section: &'a str, _: &str, target: &'a str) -> Result<Auto<'a>, AttachError> {
    let mut parts = target.split(':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(binary), Some(provider), Some(name)) if ![binary, provider, name].contains(&"") => {
            Ok(Auto::Usdt { binary, provider, name })
        }
        _ => Err(AttachError::target(section, "expected `usdt/binary:provider:name`")),
    }
}

fn tracepoint<'a>(section: &'a str, _: &str, target: &'a str) -> Result<Auto<'a>, AttachError> {
    let parts = target.split_once('/');
    let (category, name) =
        parts.ok_or_else(|| AttachError::target(section, "expected `tp/category/name`"))?;
    Ok(Auto::Tracepoint { category, name })
}

/// `function+0x10` to its parts; a `+` that no number follows belongs to the name.
pub(super) fn split_offset(function: &str) -> (&str, i64) {
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

/// A number with its sign, as `scanf` reads `%li`: decimal, `0x` or octal. And what is behind it.
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

    fn of(section: &str) -> Auto<'_> {
        Auto::of(section).unwrap().unwrap()
    }

    #[test]
    fn kprobes() {
        let entry = |function, offset| Auto::Kprobe { function, offset, retprobe: false };
        assert_eq!(of("kprobe/do_exit"), entry("do_exit", 0));
        assert_eq!(of("kprobe/a.isra.0+16"), entry("a.isra.0", 16));
        assert_eq!(of("?kprobe/a+0x1f"), entry("a", 31));
        assert_eq!(of("kprobe/a+010"), entry("a", 8));
        assert_eq!(of("kretprobe/a"), Auto::Kprobe { function: "a", offset: 0, retprobe: true });
        assert_eq!(of("kprobe"), Auto::Nothing);
        assert_eq!(of("kprobe/a-4"), entry("a", 0));
        assert_eq!(of("kprobe/a+ 4"), entry("a", 4));
        assert_eq!(of("kprobe/a+b"), entry("a", 0));
        assert_eq!(of("kretprobe/a-4"), Auto::Kprobe { function: "a", offset: 0, retprobe: true });
        for wrong in ["kprobe/", "kprobe/+4", "kretprobe/a+4", "kprobe/a+-4"] {
            assert!(Auto::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn many_kprobes_and_system_calls() {
        let multi = |pattern, kind| Auto::KprobeMulti { pattern, kind };
        assert_eq!(of("kprobe.multi/vfs_*"), multi("vfs_*", MultiKind::Entry));
        assert_eq!(of("kretprobe.multi/vfs_?"), multi("vfs_?", MultiKind::Return));
        assert_eq!(of("kprobe.session/x"), multi("x", MultiKind::Session));
        assert_eq!(of("kprobe.multi"), Auto::Nothing);
        assert!(Auto::of("kprobe.multi/").is_err());
        assert_eq!(of("ksyscall/open"), Auto::Ksyscall { syscall: "open", retprobe: false });
        assert_eq!(of("kretsyscall/open"), Auto::Ksyscall { syscall: "open", retprobe: true });
        assert_eq!(of("ksyscall"), Auto::Nothing);
    }

    #[test]
    fn uprobes() {
        let at = |binary, function, offset| Auto::Uprobe { binary, function, offset, retprobe: false };
        assert_eq!(of("uprobe//bin/sh:main"), at("/bin/sh", "main", 0));
        assert_eq!(of("uprobe.s/libc.so.6:malloc+0x10"), at("libc.so.6", "malloc", 16));
        assert_eq!(of("uprobe//x:f@@V_1.0+8"), at("/x", "f@@V_1.0", 8));
        assert_eq!(of("uprobe//x:operator+"), at("/x", "operator+", 0));
        assert_eq!(of("uprobe//x:a:b"), at("/x", "a:b", 0));
        let back = Auto::Uprobe { binary: "/x", function: "f", offset: 0, retprobe: true };
        assert_eq!(of("uretprobe.s//x:f"), back);
        for nothing in ["uprobe", "uretprobe", "uprobe.s", "uprobe/", "uprobe/:x"] {
            assert_eq!(of(nothing), Auto::Nothing, "{nothing}");
        }
        for wrong in ["uprobe//bin/sh", "uprobe//bin/sh:", "uretprobe//x:f+4"] {
            assert!(Auto::of(wrong).is_err(), "{wrong}");
        }
        let multi = |kind| Auto::UprobeMulti { binary: "/x", pattern: "f*", kind };
        assert_eq!(of("uprobe.multi//x:f*"), multi(MultiKind::Entry));
        assert_eq!(of("uretprobe.multi.s//x:f*"), multi(MultiKind::Return));
        assert_eq!(of("uprobe.session//x:f*"), multi(MultiKind::Session));
        assert_eq!(of("uprobe.multi"), Auto::Nothing);
        assert!(Auto::of("uprobe.multi//x").is_err());
    }

    #[test]
    fn the_rest_of_the_families() {
        assert_eq!(of("usdt//x:p:n"), Auto::Usdt { binary: "/x", provider: "p", name: "n" });
        assert_eq!(of("usdt"), Auto::Nothing);
        assert!(Auto::of("usdt//x:p").is_err() && Auto::of("usdt//x:p:").is_err());
        assert_eq!(of("tp/sched/sched_switch"), Auto::Tracepoint { category: "sched", name: "sched_switch" });
        assert_eq!(of("tracepoint/a/b"), Auto::Tracepoint { category: "a", name: "b" });
        assert_eq!(of("tp"), Auto::Nothing);
        assert!(Auto::of("tp/sched").is_err());
        for raw in ["raw_tp/x", "raw_tracepoint/x", "raw_tp.w/x", "raw_tracepoint.w/x"] {
            assert_eq!(of(raw), Auto::RawTracepoint { name: "x" });
        }
        assert_eq!(of("raw_tp.w"), Auto::Nothing);
        for loaded in
            ["fentry/x", "fexit.s/x", "fmod_ret/x", "tp_btf/x", "lsm/x", "lsm.s/x", "freplace/x", "fentry"]
        {
            assert_eq!(of(loaded), Auto::AsLoaded, "{loaded}");
        }
        assert_eq!(of("iter.s/task"), Auto::Iter);
        assert_eq!(of("perf_event"), Auto::Nothing);
        for other in ["xdp", "tc", "cgroup/dev", "lsm_cgroup/x", "struct_ops/x", "kprobes/x", ""] {
            assert_eq!(Auto::of(other), Ok(None), "{other}");
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
