//! The memory limit behind an `ENOMEM` of the kernel. Memory of maps and programs counts for the cgroup of
//! the process that creates them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Numbers from here on mean "no limit" in cgroup v1, which has no word for that.
const UNLIMITED: u64 = 1 << 62;

/// The version of the cgroup hierarchy that limits memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    V1,
    V2,
}

impl Hierarchy {
    fn mount(self) -> &'static Path {
        Path::new(match self {
            Self::V1 => "/sys/fs/cgroup/memory",
            Self::V2 => "/sys/fs/cgroup",
        })
    }

    const fn limit_file(self) -> &'static str {
        match self {
            Self::V1 => "memory.limit_in_bytes",
            Self::V2 => "memory.max",
        }
    }
}

/// Returns the likely reason for `ENOMEM`, with the lowest limit of this process's cgroup and the cgroups
/// above, if there is one.
#[must_use]
pub fn memory_shortage() -> String {
    // Without /proc or /sys/fs/cgroup the reason stays general.
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok();
    match cgroups.and_then(|cgroups| lowest_limit(&cgroups)) {
        Some((bytes, file)) => format!(
            "the memory limit of this cgroup is probably reached: {} is {bytes} bytes: raise it, or make the maps smaller",
            file.display()
        ),
        None => {
            "the kernel has too little memory, or RLIMIT_MEMLOCK does not allow more (kernels before 5.11)"
                .into()
        }
    }
}

fn lowest_limit(cgroups: &str) -> Option<(u64, PathBuf)> {
    let (hierarchy, cgroup) = memory_cgroup(cgroups)?;
    let ancestors = Path::new(cgroup.strip_prefix('/')?).ancestors();
    let limits = ancestors.filter_map(|path| {
        let file = hierarchy.mount().join(path).join(hierarchy.limit_file());
        let bytes: u64 = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        (bytes < UNLIMITED).then_some((bytes, file))
    });
    limits.min_by_key(|(bytes, _)| *bytes)
}

/// Returns the cgroup that limits the memory of the process with this `/proc/PID/cgroup`.
fn memory_cgroup(cgroups: &str) -> Option<(Hierarchy, &str)> {
    let fields = |line| {
        let mut fields = str::splitn(line, 3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    };
    let mut v2 = None;
    for (controllers, path) in cgroups.lines().filter_map(fields) {
        if controllers.split(',').any(|controller| controller == "memory") {
            return Some((Hierarchy::V1, path));
        }
        if controllers.is_empty() {
            v2 = Some((Hierarchy::V2, path));
        }
    }
    v2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_with_the_memory_controller_limits_memory() {
        assert_eq!(memory_cgroup("0::/a/b:c\n"), Some((Hierarchy::V2, "/a/b:c")));
        let both = "9:name=systemd:/\n4:cpu,memory:/x\n0::/\n";
        assert_eq!(memory_cgroup(both), Some((Hierarchy::V1, "/x")));
        assert_eq!((memory_cgroup(""), memory_cgroup("x\n1:cpu:/\n")), (None, None));
    }

    #[test]
    fn a_cgroup_that_is_not_mounted_here_has_no_limit() {
        assert_eq!(
            lowest_limit("0::/no/such/cgroup/of/the/tests\n").map(|(bytes, _)| bytes < UNLIMITED),
            lowest_limit("0::/\n").map(|_| true)
        );
    }
}
