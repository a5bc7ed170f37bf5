//! What live tests stand on: one at a time, surroundings of their own, and a look afterwards at what they left behind.
//!
//! ```ignore
//! #[test]
//! fn a_program_sees_a_connection() {
//!     let Some(_live) = live("cgroup::a_program_sees_a_connection", &[Need::Cgroup]) else { return };
//!     let cgroup = Cgroup::new();
//!     // load, attach to cgroup.dir(), then, inside:
//!     cgroup.inside(|| TcpStream::connect(address));
//! }   // here it is checked that everything is gone
//! ```

mod census;
mod cgroup;
mod loading;
mod need;
mod netlink;
mod netns;
mod objects;
mod pins;

pub use census::Census;
pub use cgroup::Cgroup;
pub use loading::{hits, load, load_with, run, run_with};
pub use need::{Need, in_vm, kernel_version};
pub use netlink::Route;
pub use netns::{Netns, Veth};
pub use objects::{names, object};
pub use pins::Bpffs;

use core_relo_tests::skip::skip;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A live test that runs. What it leaves behind fails it when this goes, so it is to be made first.
#[derive(Debug)]
pub struct Live {
    before: Census,
    _alone: MutexGuard<'static, ()>,
}

/// Begins a live test, or says why it does not run here. Every test needs root and bpf(2).
pub fn live(test: &str, needs: &[Need]) -> Option<Live> {
    // A test that failed leaves the lock poisoned, and that is all.
    let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for need in [Need::Root, Need::Bpf].iter().chain(needs) {
        if let Err(why) = need.is_met() {
            skip(test, &why);
            return None;
        }
    }
    Some(Live { before: Census::take(), _alone: alone })
}

impl Drop for Live {
    fn drop(&mut self) {
        let left = self.before.left_behind();
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left behind: {left:#?}");
        }
    }
}
