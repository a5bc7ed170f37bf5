//! The programs of one cgroup.

use crate::{
    error::{BadInput, escape_path},
    kernel_objects::error::{hint, with_hint},
};
use core_relo_loader::{
    Errno,
    attach::{AttachedPrograms, QueryTarget, query},
    inventory::ProgramNames,
    object::AttachType,
};
use rustix::fs::{self, Mode, OFlags};
use serde::Serialize;
use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
};

/// `BPF_F_ALLOW_OVERRIDE`, `BPF_F_ALLOW_MULTI` and `BPF_F_PREORDER`.
const FLAGS: [(u32, &str); 3] = [(1, "override"), (2, "multi"), (64, "preorder")];

/// The JSON line of a program of a cgroup. The keys are those of `bpftool cgroup`, except for `prog_id`,
/// which is `id` there.
#[derive(Debug, Serialize)]
pub(super) struct CgroupProgram {
    pub(super) cgroup: String,
    pub(super) prog_id: u32,
    pub(super) attach_type: &'static str,
    /// `None` for effective programs.
    pub(super) attach_flags: Option<String>,
    pub(super) name: Option<String>,
    /// Of an LSM program, the function that it is attached to.
    pub(super) attach_btf_name: Option<String>,
}

/// The attach types of cgroups that the kernel knows, and what is known of programs.
pub(super) struct CgroupQuery {
    is_effective: bool,
    attach_types: Vec<AttachType>,
    names: ProgramNames,
}

/// The reason why the programs of a cgroup are not known.
#[derive(Debug)]
pub(super) enum CgroupError {
    /// The cgroup was removed.
    Gone(BadInput),
    Bad(BadInput),
}

impl CgroupError {
    pub(super) fn into_bad_input(self) -> BadInput {
        match self {
            Self::Gone(bad) | Self::Bad(bad) => bad,
        }
    }
}

impl CgroupQuery {
    pub(super) fn new(is_effective: bool) -> Self {
        let of_cgroups = |attach_type: &AttachType| {
            attach_type.name().starts_with("BPF_CGROUP_") || *attach_type == AttachType::LsmCgroup
        };
        let attach_types = AttachType::ALL.iter().copied().filter(of_cgroups).collect();
        Self { is_effective, attach_types, names: ProgramNames::default() }
    }

    /// Returns the programs of a cgroup, by attach type, in the order in which they run.
    pub(super) fn programs(&mut self, path: &Path) -> Result<Vec<CgroupProgram>, CgroupError> {
        let dir = open_directory(path).map_err(|e| {
            let bad = BadInput::for_path(path, format_args!("cannot open the cgroup: {e}"));
            if e.kind() == io::ErrorKind::NotFound { CgroupError::Gone(bad) } else { CgroupError::Bad(bad) }
        })?;
        let mut found = Vec::new();
        let mut unknown = Vec::new();
        for attach_type in &self.attach_types {
            let target = if self.is_effective {
                QueryTarget::CgroupEffective(dir.as_fd())
            } else {
                QueryTarget::Cgroup(dir.as_fd())
            };
            match query(target, *attach_type) {
                Ok(attached) => found.push((*attach_type, attached)),
                // The kernel does not know the attach type, or was built without it.
                Err(e) if e.errno().is_some_and(is_unknown_type) => unknown.push(*attach_type),
                Err(e) => return Err(refusal(path, &e, e.errno())),
            }
        }
        if found.is_empty() {
            let what = "the kernel knows none of the attach types of cgroups";
            return Err(CgroupError::Bad(BadInput::for_path(path, what)));
        }
        self.attach_types.retain(|attach_type| !unknown.contains(attach_type));
        let name = escape_path(path);
        Ok(found.iter().flat_map(|(ty, attached)| self.lines(&name, *ty, attached)).collect())
    }

    fn lines(
        &mut self,
        cgroup: &str,
        attach_type: AttachType,
        attached: &AttachedPrograms,
    ) -> Vec<CgroupProgram> {
        let mut lines = Vec::new();
        for (index, prog_id) in attached.prog_ids.iter().enumerate() {
            let program = self.names.get(*prog_id);
            let flags = attached.prog_flags.get(index).copied().unwrap_or(attached.flags);
            lines.push(CgroupProgram {
                cgroup: cgroup.to_owned(),
                prog_id: *prog_id,
                attach_type: attach_type.name(),
                attach_flags: (!self.is_effective).then(|| flags_text(flags)),
                name: program.name,
                attach_btf_name: program.attach_btf_name,
            });
        }
        lines
    }
}

/// Opens a directory, as that of a cgroup.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    // Opening a FIFO for reading would wait for its writer.
    Ok(fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Returns whether an error means that the kernel does not know an attach type.
fn is_unknown_type(errno: Errno) -> bool {
    matches!(errno, Errno::EINVAL | Errno::EOPNOTSUPP | Errno::E2BIG)
}

fn refusal(path: &Path, e: &dyn std::fmt::Display, errno: Option<Errno>) -> CgroupError {
    let bad = BadInput::for_path(path, e);
    match errno {
        Some(Errno::EBADF) => CgroupError::Bad(
            BadInput::for_path(path, "is no cgroup of version 2: its programs cannot be queried")
                .help("`mount -t cgroup2` lists where they are"),
        ),
        Some(Errno::ENODEV | Errno::ENOENT) => CgroupError::Gone(bad),
        Some(errno) if hint(errno).is_some() => CgroupError::Bad(with_hint(
            BadInput::for_path(path, format_args!("cannot query its programs: {errno}")),
            errno,
        )),
        _ => CgroupError::Bad(bad),
    }
}

/// Returns the names of flags, as bpftool has them: `multi`, `override`; empty for none.
fn flags_text(flags: u32) -> String {
    let known = FLAGS.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| (*name).to_owned());
    let rest = FLAGS.iter().fold(flags, |rest, (bit, _)| rest & !bit);
    known.chain((rest != 0).then(|| format!("{rest:#x}"))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_names_of_bpftool() {
        assert_eq!(flags_text(0), "");
        assert_eq!(flags_text(2), "multi");
        assert_eq!(flags_text(1), "override");
        assert_eq!(flags_text(2 | 64 | 256), "multi,preorder,0x100");
    }

    #[test]
    fn every_attach_type_of_cgroups_is_asked_for() {
        let query = CgroupQuery::new(false);
        assert_eq!(query.attach_types.len(), 29);
        assert!(query.attach_types.contains(&AttachType::CgroupUnixGetsockname));
    }
}
