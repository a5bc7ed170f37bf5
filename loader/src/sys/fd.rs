//! Keeps new descriptors apart from standard input, output and error.

use core_relo_object::Errno;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Duplicates a descriptor with a number from 0 to 2 to a higher number (libbpf: `ensure_good_fd`).
///
/// A process that has closed its standard streams would otherwise print into the descriptor, or replace it.
pub(super) fn beyond_stdio(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() > libc::STDERR_FILENO {
        return Ok(fd);
    }
    // The standard library duplicates to 3 or more, closed on exec.
    fd.try_clone().map_err(|e| Errno::from_io_error(&e))
}

#[cfg(test)]
mod tests {
    use crate::sys::{self, Epoll, Errno, testing::close_stdin};
    use core_relo_test_support::skip;
    use std::{
        os::fd::{AsFd, AsRawFd as _},
        process::Command,
    };

    const AGAIN: &str = "CORE_RELO_TEST_STDIN";

    #[test]
    #[cfg_attr(miri, ignore = "Miri starts no processes")]
    fn no_descriptor_takes_the_place_of_stdin() {
        if std::env::var_os(AGAIN).is_none() {
            let test = "sys::fd::tests::no_descriptor_takes_the_place_of_stdin";
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", test, "--nocapture", "--test-threads=1"])
                .env(AGAIN, "1")
                .output()
                .unwrap();
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && out.contains("1 passed"), "{out}");
            return println!("{out}");
        }
        let map = sys::MapCreate {
            map_type: 2,
            key_size: 4,
            value_size: 4,
            max_entries: 1,
            ..sys::MapCreate::default()
        };
        let event = sys::PerfEventOpen { kind: 1, pid: Some(std::process::id()), ..Default::default() };
        close_stdin();
        check("epoll", Epoll::new());
        check("netlink", sys::Netlink::route());
        check("a map", sys::map_create(&map));
        check("a perf event", sys::perf_event_open(&event));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(file.as_raw_fd(), 0, "nothing is left there");
    }

    fn check(what: &str, made: Result<impl AsFd, Errno>) {
        match made {
            Ok(fd) => assert!(fd.as_fd().as_raw_fd() > 2, "{what}"),
            Err(e) => skip!("{what}: {e}"),
        }
    }
}
