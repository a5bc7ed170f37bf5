//! What this machine has of the parts that tests need.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use core_relo_test_support::{Requirement, find_clangs};
use core_relo_vm::Arch;

use crate::kernels::boot;
use crate::platform::Platform;
use crate::system::output;

/// Returns the names of the requirements that this machine meets, for `CORE_RELO_REQUIRE`.
pub fn names(has_kernels: bool, has_libbpf: bool) -> String {
    let is_met = |requirement: &Requirement| match requirement {
        Requirement::Root => may_load(),
        Requirement::Btf => File::open("/sys/kernel/btf/vmlinux").is_ok(),
        Requirement::Kernels => has_kernels,
        Requirement::Clang => !find_clangs().is_empty(),
        Requirement::Libbpf => has_libbpf,
        Requirement::Qemu => can_boot(),
        Requirement::Openssl => runs("openssl", "version"),
        Requirement::Valgrind => runs("valgrind", "--version"),
        Requirement::Dpkg => runs("dpkg-deb", "--version"),
        Requirement::Rpmbuild => runs("rpmbuild", "--version"),
        Requirement::Browser => runs("chromium", "--version") && runs("chromedriver", "--version"),
    };
    Requirement::ALL.into_iter().filter(is_met).map(Requirement::name).collect::<Vec<_>>().join(",")
}

/// Returns whether nothing keeps this process from loading programs: it has all capabilities in the first
/// user namespace, and no seccomp filter.
fn may_load() -> bool {
    let (Ok(status), Ok(users)) =
        (fs::read_to_string("/proc/self/status"), fs::read_to_string("/proc/self/uid_map"))
    else {
        return false;
    };
    may_load_with(&status, &users)
}

fn may_load_with(status: &str, users: &str) -> bool {
    const ADMIN: u64 = 1 << 21; // CAP_SYS_ADMIN
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let has_admin = field("CapEff:")
        .and_then(|set| u64::from_str_radix(set, 16).ok())
        .is_some_and(|set| set & ADMIN != 0);
    let is_filtered = field("Seccomp:").is_some_and(|mode| mode != "0");
    let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
    has_admin && !is_filtered && is_first
}

/// Returns whether QEMU runs a machine of this one's architecture, and a kernel is there for it.
fn can_boot() -> bool {
    let has_kernel =
        fs::read_dir(boot::dir()).into_iter().flatten().flatten().any(|entry| has_image(&entry.path()));
    Arch::host().and_then(Platform::of_arch).is_some_and(|platform| platform.debian == "amd64")
        && has_kernel
        && runs("qemu-system-x86_64", "--version")
}

fn has_image(dir: &Path) -> bool {
    dir.join("vmlinux").is_file()
}

fn runs(program: &str, argument: &str) -> bool {
    output(Command::new(program).arg(argument)).is_some()
}

#[cfg(test)]
mod tests {
    use super::may_load_with;

    /// A test that needs root must not fail where root may not load programs, as in a container.
    #[test]
    fn containers_and_ordinary_users_are_no_root() {
        let first = "         0          0 4294967295\n";
        let status = |capabilities: &str, seccomp: &str| {
            format!("Name:\tx\nCapEff:\t{capabilities}\nSeccomp:\t{seccomp}\n")
        };
        assert!(may_load_with(&status("000001ffffffffff", "0"), first));
        assert!(!may_load_with(&status("0000000000000000", "0"), first));
        assert!(!may_load_with(&status("000001ffffffffff", "2"), first));
        assert!(!may_load_with(&status("000001ffffffffff", "0"), "0 1000 1\n"));
    }
}
