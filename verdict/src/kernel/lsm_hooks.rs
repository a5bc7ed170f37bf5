//! The LSM hooks at which programs may sleep, and those that programs may not attach to, observed on real
//! kernels.
//!
//! The kernel has a set of each (`sleepable_lsm_hooks`, `bpf_lsm_disabled_hooks`), of which BTF has no trace.

use super::{
    answer::Answer,
    conditional::{CHECKS_LSM_RESULTS, HAS_SLEEPABLE_LSM},
    facts::KernelFacts,
    kernel_name::KernelName,
    observed::Observations,
    observed_kernels::OBSERVED_KERNELS,
};

/// Hooks at which the same kernels let programs sleep.
struct SleepableHooks {
    /// `None` for a kernel without the hooks, and for 5.10, which has a set of one hook.
    observed: [Option<bool>; OBSERVED_KERNELS.len()],
    names: &'static [&'static str],
}

impl KernelFacts<'_> {
    /// Answers whether the kernel has an LSM hook, by its function `bpf_lsm_*`, and lets programs attach to
    /// it.
    pub fn lsm_hook(&self, function: &KernelName) -> Answer {
        let exists = self.declaration(function, None);
        let is_hook = |name: &&str| function.strip_prefix(b"bpf_lsm_") == Some(name.as_bytes());
        let disabled = DISABLED.iter().find(|(_, names)| names.iter().any(is_hook));
        let Some((first, _)) = disabled.filter(|_| exists.is_present()) else { return exists };
        let permits = Observations::new(|kernel| Some(kernel < *first));
        self.answer_observed(permits, "let programs attach to the hook", exists)
    }

    /// Answers whether the verifier checks the values that LSM programs return, and knows bounds of the
    /// result that hooks pass (6.12).
    pub(crate) fn checks_lsm_results(&self) -> Answer {
        self.compiled(&[CHECKS_LSM_RESULTS])
    }

    /// Answers whether programs may sleep at an LSM hook.
    pub fn sleepable_lsm(&self, hook: &str) -> Answer {
        match self.compiled(&[HAS_SLEEPABLE_LSM]) {
            exists @ Answer::Present(_) => {
                self.answer_observed(sleepable_support(hook), "let programs sleep at the hook", exists)
            }
            // The only hook of 5.10.
            _ if hook == "bprm_committed_creds" => self.sleepable_programs(),
            other => other,
        }
    }
}

/// Returns whether the observed kernels let programs sleep at a hook. Hooks without an entry are those at
/// which no kernel does.
fn sleepable_support(hook: &str) -> Observations {
    let Some(hooks) = SLEEPABLE.iter().find(|hooks| hooks.names.contains(&hook)) else {
        return Observations::NEVER;
    };
    Observations::new(|kernel| hooks.observed.get(kernel).copied().flatten())
}

const fn hooks(
    observed: [Option<bool>; OBSERVED_KERNELS.len()],
    names: &'static [&'static str],
) -> SleepableHooks {
    SleepableHooks { observed, names }
}

const NONE: Option<bool> = None;
const NO: Option<bool> = Some(false);
const YES: Option<bool> = Some(true);

/// The hooks that programs may not attach to, by the first observed kernel that refuses them.
#[rustfmt::skip]
const DISABLED: &[(usize, &[&str])] = &[
    (2, &[
        "audit_rule_match", "getprocattr", "getselfattr", "inode_copy_up_xattr", "inode_getsecurity",
        "inode_listsecurity", "inode_need_killpriv", "ismaclabel", "key_getsecurity", "setprocattr",
        "vm_enough_memory", "xfrm_decode_session",
    ]),
    (3, &[
        "file_alloc_security",
    ]),
];

/// The hooks at which programs may sleep.
#[rustfmt::skip]
static SLEEPABLE: &[SleepableHooks] = &[
    hooks([NONE, NONE, NO, YES], &[
        "bdev_alloc_security", "bdev_setintegrity", "inode_post_removexattr",
    ]),
    hooks([NONE, YES, YES, YES], &[
        "bpf", "bpf_map", "bpf_prog", "bprm_check_security", "bprm_committing_creds", "bprm_creds_for_exec",
        "bprm_creds_from_file", "capget", "capset", "cred_prepare", "file_ioctl", "file_lock", "file_open",
        "file_receive", "inode_create", "inode_free_security", "inode_getattr", "inode_getxattr", "inode_mknod",
        "inode_post_setxattr", "inode_readlink", "inode_rename", "inode_rmdir", "inode_setattr", "inode_setxattr",
        "inode_symlink", "inode_unlink", "kernel_module_request", "kernel_read_file", "kernfs_init_security",
        "mmap_file", "netlink_send", "path_notify", "release_secctx", "sb_alloc_security", "sb_eat_lsm_opts",
        "sb_kern_mount", "sb_mount", "sb_remount", "sb_set_mnt_opts", "sb_show_options", "sb_statfs", "sb_umount",
        "settime", "socket_accept", "socket_bind", "socket_connect", "socket_create", "socket_getpeername",
        "socket_getpeersec_dgram", "socket_getsockname", "socket_getsockopt", "socket_listen", "socket_post_create",
        "socket_recvmsg", "socket_sendmsg", "socket_shutdown", "socket_socketpair", "syslog", "task_alloc",
        "task_prctl", "task_setscheduler",
    ]),
    hooks([NONE, YES, NONE, NONE], &[
        "bpf_map_alloc_security", "bpf_map_free_security", "key_free",
    ]),
    hooks([NONE, NONE, YES, YES], &[
        "bpf_map_create", "bpf_map_free", "bpf_prog_load", "bpf_token_capable", "bpf_token_cmd", "bpf_token_create",
        "bpf_token_free", "file_post_open",
    ]),
    hooks([NONE, NONE, YES, NO], &[
        "bpf_prog_free",
    ]),
    hooks([NONE, YES, YES, YES], &[
        "bprm_committed_creds",
    ]),
    hooks([NONE, YES, YES, NONE], &[
        "current_getsecid_subj", "task_getsecid_obj",
    ]),
    hooks([NONE, YES, NO, NO], &[
        "inet_conn_established", "inode_need_killpriv",
    ]),
    hooks([NONE, NO, NO, YES], &[
        "inode_removexattr",
    ]),
    hooks([NONE, NO, YES, YES], &[
        "path_chmod", "path_chown", "path_link", "path_mkdir", "path_rename", "path_rmdir", "path_symlink",
        "path_truncate", "path_unlink",
    ]),
    hooks([NONE, YES, YES, YES], &[
        "userns_create",
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::observed::tests::Shape;

    #[test]
    fn hooks_at_which_programs_sleep() {
        assert_eq!(sleepable_support("file_open").shape(), Shape::Always);
        assert_eq!(sleepable_support("userns_create").shape(), Shape::Always);
        assert_eq!(sleepable_support("path_unlink").shape(), Shape::From(2));
        assert_eq!(sleepable_support("task_free").shape(), Shape::Never);
    }
}
