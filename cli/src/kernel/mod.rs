//! What the running kernel holds: programs, maps, links, BTF, by their ids; who holds them, and where they are pinned.

pub(crate) mod code;
pub(crate) mod link;
pub(crate) mod owners;
pub(crate) mod pins;
pub(crate) mod select;
pub(crate) mod symbols;
pub(crate) mod types;

use crate::{app::App, error::BadInput};
use core_relo_loader::sys::{self, Errno};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs, io,
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What has an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Prog,
    Map,
    Link,
    Btf,
}

impl Kind {
    /// As messages call it.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Prog => "program",
            Self::Map => "map",
            Self::Link => "link",
            Self::Btf => "BTF",
        }
    }

    /// As the command is called.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Prog => "prog",
            Self::Map => "map",
            Self::Link => "link",
            Self::Btf => "btf",
        }
    }

    fn next_id(self, after: u32) -> Result<Option<u32>, Errno> {
        match self {
            Self::Prog => sys::next_prog_id(after),
            Self::Map => sys::next_map_id(after),
            Self::Link => sys::next_link_id(after),
            Self::Btf => sys::next_btf_id(after),
        }
    }

    /// Opens the one of an id.
    pub(crate) fn open(self, id: u32) -> Result<OwnedFd, Errno> {
        match self {
            Self::Prog => sys::prog_fd_by_id(id),
            Self::Map => sys::map_fd_by_id(id),
            Self::Link => sys::link_fd_by_id(id),
            Self::Btf => sys::btf_fd_by_id(id),
        }
    }

    /// The kind that `/proc/PID/fd` says a descriptor is of.
    fn of_link_text(text: &str) -> Option<Self> {
        Some(match text.strip_prefix("anon_inode:")?.trim_matches(['[', ']']) {
            "bpf-prog" => Self::Prog,
            "bpf-map" => Self::Map,
            "bpf_link" | "bpf-link" => Self::Link,
            "btf" => Self::Btf,
            _ => return None,
        })
    }
}

/// One of the kernel's objects, opened when it is looked at: there may be more of them than a process may have open.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    pub(crate) id: u32,
    /// Open already, for it was found by a pin or is the only one.
    fd: Option<OwnedFd>,
}

impl Found {
    /// Its descriptor; none if it is gone meanwhile.
    pub(crate) fn open(self) -> Result<Option<OwnedFd>, BadInput> {
        match self.fd.map_or_else(|| self.kind.open(self.id), Ok) {
            Ok(fd) => Ok(Some(fd)),
            Err(e) if e.name() == Some("ENOENT") => Ok(None),
            Err(e) => Err(refused(self.kind, &format!("open id {} of", self.id), e)),
        }
    }
}

/// All of a kind, in order of id.
pub(crate) fn all(kind: Kind) -> Result<Vec<Found>, BadInput> {
    let mut found = Vec::new();
    let mut after = 0;
    while let Some(id) = kind.next_id(after).map_err(|e| refused(kind, "list", e))? {
        found.push(Found { kind, id, fd: None });
        after = id;
    }
    Ok(found)
}

/// The facts of each, one after the other; one that cannot be read is reported and left out, one that is gone is not there.
///
/// If one cannot even be opened, none are given: what keeps a process from opening one keeps it from the rest.
pub(crate) fn facts<F>(
    app: &mut App<'_>,
    found: Vec<Found>,
    mut read: impl FnMut(&OwnedFd) -> Result<F, Errno>,
) -> io::Result<Result<Vec<F>, BadInput>> {
    let mut all = Vec::new();
    for one in found {
        let (kind, id) = (one.kind, one.id);
        match one.open() {
            Ok(None) => {}
            Ok(Some(fd)) => match read(&fd) {
                Ok(facts) => all.push(facts),
                Err(e) => app.fail(&unreadable(kind, id, "its info", e))?,
            },
            Err(bad) => return Ok(Err(bad)),
        }
    }
    Ok(Ok(all))
}

/// What the kernel refused, and what helps.
pub(crate) fn refused(kind: Kind, what: &str, errno: Errno) -> BadInput {
    let bad = BadInput::new("running kernel", format_args!("cannot {what} {}s: {errno}", kind.noun()));
    match hint(errno) {
        Some(help) => bad.help(help),
        None => bad,
    }
}

/// What helps against an error of the kernel's.
pub(crate) fn hint(errno: Errno) -> Option<&'static str> {
    match errno.name() {
        Some("EPERM") => {
            Some("needs CAP_SYS_ADMIN in the initial user namespace: run it as root, outside of a container")
        }
        Some("EINVAL") => Some("this kernel may be too old for it"),
        _ => match core_relo_loader::Hint::for_errno(errno).0 {
            "" => None,
            help => Some(help),
        },
    }
}

/// An object in words: `program 5 (handle_exec)`.
pub(crate) fn called(kind: Kind, id: u32, name: &str) -> String {
    if name.is_empty() { format!("{} {id}", kind.noun()) } else { format!("{} {id} ({name})", kind.noun()) }
}

/// What cannot be read of an object.
pub(crate) fn unreadable(kind: Kind, id: u32, what: &str, errno: Errno) -> BadInput {
    let bad = BadInput::new(format!("{} {id}", kind.noun()), format_args!("cannot read {what}: {errno}"));
    match hint(errno) {
        Some(help) => bad.help(help),
        None => bad,
    }
}

/// A process that holds an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) comm: String,
}

/// Who holds what, and what is pinned where; as far as this process may see.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    owners: BTreeMap<(Kind, u32), Vec<Owner>>,
    pins: BTreeMap<(Kind, u32), Vec<PathBuf>>,
}

impl Holders {
    /// Looks through `/proc` and the mounted bpffs.
    pub(crate) fn look() -> Self {
        Self { owners: owners::all(), pins: pins::all() }
    }

    /// Processes, by pid.
    pub(crate) fn owners(&self, kind: Kind, id: u32) -> &[Owner] {
        self.owners.get(&(kind, id)).map_or(&[], Vec::as_slice)
    }

    /// Paths fit to print.
    pub(crate) fn pinned(&self, kind: Kind, id: u32) -> Vec<String> {
        self.pins.get(&(kind, id)).into_iter().flatten().map(|path| crate::error::shown(path)).collect()
    }
}

/// What the kernel says of an own descriptor in `/proc/self/fdinfo`, which its info structs leave out.
pub(crate) fn fdinfo(fd: &impl AsFd, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())).ok()?;
    fdinfo_value(&text, key)
}

/// The value of `key:\tvalue`.
fn fdinfo_value(text: &str, key: &str) -> Option<u64> {
    let of_line = |line: &str| line.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok();
    text.lines().find_map(of_line)
}

/// When something happened, of which the kernel says how long after the boot that was; in seconds since 1970.
pub(crate) fn seconds_of(since_boot: u64) -> Option<u64> {
    let uptime: f64 = fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()?;
    let ago = Duration::try_from_secs_f64(uptime).ok()?.saturating_sub(Duration::from_nanos(since_boot));
    Some(SystemTime::now().checked_sub(ago)?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// Seconds since 1970 as `2026-02-03 04:05:06 UTC`.
pub(crate) fn date(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // A date beyond the year 9999 is no date.
    while year < 9999 && days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert!(date(u64::MAX).starts_with("9999-"));
    }

    #[test]
    fn descriptors_by_their_names() {
        assert_eq!(Kind::of_link_text("anon_inode:bpf-map"), Some(Kind::Map));
        assert_eq!(Kind::of_link_text("anon_inode:bpf_link"), Some(Kind::Link));
        assert_eq!(Kind::of_link_text("anon_inode:[bpf-prog]"), Some(Kind::Prog));
        assert_eq!(Kind::of_link_text("anon_inode:btf"), Some(Kind::Btf));
        assert_eq!(Kind::of_link_text("/tmp/bpf-map"), None);
        assert_eq!(Kind::of_link_text("anon_inode:[eventpoll]"), None);
    }

    #[test]
    fn values_of_fdinfo() {
        let text = "pos:\t0\nmap_type:\t1\nmap_id:\t12\nmemlock:\t4096\n";
        assert_eq!(fdinfo_value(text, "map_id"), Some(12));
        assert_eq!(fdinfo_value(text, "map"), None);
        assert_eq!(fdinfo_value(text, "frozen"), None);
    }
}
