//! Test harness of the live tests. It runs one test at a time, provides temporary cgroups, namespaces and
//! mounts, and checks for leaked resources afterwards.
//!
//! ```ignore
//! #[test]
//! fn a_program_sees_a_connection() {
//!     let Some(_live) = live("cgroup::a_program_sees_a_connection", &[Need::Cgroup]) else { return };
//!     let cgroup = Cgroup::new();
//!     // Load, attach to cgroup.dir(), then trigger the program:
//!     cgroup.inside(|| TcpStream::connect(address));
//! }   // The drop of `_live` checks that nothing is left.
//! ```

mod census;
mod cgroup;
mod command;
mod loading;
mod need;
mod netlink;
mod netns;
mod objects;
mod pins;
mod usdt;

pub use census::Census;
pub use cgroup::Cgroup;
pub use command::{CommandRun, run_command};
use core_relo_test_support::{Requirement, skip, skip_without};
pub use loading::{hits, load, load_with, run, run_with};
pub use need::{Need, in_vm, is_configured, kernel_version};
pub use netlink::Route;
pub use netns::{Netns, Veth};
pub use objects::{names, object, with_invalid_insn};
pub use pins::Bpffs;
pub use usdt::usdt_probe;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Live tests change the state of the process, so they do not run in parallel.
static LOCK: Mutex<()> = Mutex::new(());

/// A running live test. The drop fails the test if resources are left, so create it before all other values.
#[derive(Debug)]
pub struct Live {
    before: Census,
    _lock: MutexGuard<'static, ()>,
}

/// Starts a live test, or reports why the test is skipped. Every live test needs root and bpf(2).
pub fn live(test: &str, needs: &[Need]) -> Option<Live> {
    // A failed test poisons the lock, which does not matter to other tests.
    let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    for need in [Need::Root, Need::Bpf].iter().chain(needs) {
        if let Err(reason) = need.is_met() {
            match need {
                Need::Root | Need::Bpf => skip_without(Requirement::Root, test, &reason),
                Need::Btf => skip_without(Requirement::Btf, test, &reason),
                _ => skip(test, &reason),
            }
            return None;
        }
    }
    Some(Live { before: Census::take(), _lock: lock })
}

impl Drop for Live {
    fn drop(&mut self) {
        let left = self.before.left_behind();
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left behind: {left:#?}");
        }
    }
}
