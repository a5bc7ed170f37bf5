//! The process that made a resource outside of its memory. A child after `fork` has copies of all values, and
//! must not undo the parent's work.

use std::{fs, os::unix::fs::MetadataExt as _, process};

/// The process to which a value belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerProcess {
    pid: u32,
    /// The inode of the process's pid namespace; `None` without `/proc`. The first process of a container has
    /// a child with the same pid if it forks after `unshare(CLONE_NEWPID)`.
    pid_namespace: Option<u64>,
}

impl OwnerProcess {
    /// Returns the calling process.
    pub(crate) fn current() -> Self {
        Self { pid: process::id(), pid_namespace: pid_namespace() }
    }

    /// Returns whether this process is the calling one. The pid decides alone if `/proc` was missing then or
    /// is missing now, such as after `chroot`.
    pub(crate) fn is_current(self) -> bool {
        self.pid == process::id()
            && self.pid_namespace.zip(pid_namespace()).is_none_or(|(owner, current)| owner == current)
    }
}

/// Returns the inode of the calling process's pid namespace.
fn pid_namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use core_relo_test_support::skip;
    use std::thread;

    /// The child would detach what its parent still uses.
    #[test]
    fn a_child_with_the_pid_of_its_parent_is_not_the_owner() {
        // The namespace applies to all later children of a thread, so this thread ends with the test.
        let test = thread::spawn(|| {
            if let Err(e) = sys::new_pid_namespace_for_children() {
                return skip!("no pid namespace: {e}");
            }
            sys::in_child(|| {
                let owner = OwnerProcess::current();
                assert!(owner.is_current());
                sys::new_pid_namespace_for_children().unwrap();
                assert!(owner.is_current(), "only children are in the namespace");
                sys::in_child(|| {
                    assert_eq!(owner.pid, process::id());
                    assert!(!owner.is_current());
                });
            });
        });
        test.join().unwrap();
    }
}
