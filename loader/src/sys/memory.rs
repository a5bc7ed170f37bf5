//! Pages, CPUs, and the limit on locked memory.
#![expect(unsafe_code, reason = "sysconf, madvise and setrlimit are calls into C")]

use crate::convert::to_usize;
use core_relo_object::Errno;
use std::{fs, io, sync::OnceLock};

/// Returns the number of bytes of a memory page.
pub(crate) fn page_size() -> usize {
    to_usize(page_bytes())
}

/// Returns the number of bytes of a memory page, as a number of 32 bits.
pub(crate) fn page_bytes() -> u32 {
    /// The smallest page of Linux, on any architecture.
    const SMALLEST: u32 = 4096;
    // SAFETY: the call takes a number and reads a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // The call fails only for unknown constants. With a wrong size, the kernel would refuse every mapping.
    u32::try_from(bytes).map_or(SMALLEST, |bytes| bytes.max(SMALLEST))
}

/// Requests huge pages for a vector that is about to be filled. The kernel may refuse.
pub(crate) fn prefer_huge_pages(bytes: &mut Vec<u8>) {
    let (page, start) = (page_size(), bytes.as_mut_ptr());
    let skipped = start.align_offset(page);
    // A vector that ends before the next page begins has no whole page.
    let Some(room) = bytes.capacity().checked_sub(skipped) else { return };
    let whole = room & page.wrapping_neg();
    // SAFETY: the range lies within the vector's memory, or is empty. The advice changes neither the content
    // nor the access rights of the memory.
    let done = unsafe { libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    if done != 0 {
        log::debug!("no huge pages: {}", Errno::last());
    }
}

/// Returns the number of possible CPUs, which is the number of values in an element of a per-CPU map (libbpf:
/// `libbpf_num_possible_cpus`).
pub fn possible_cpus() -> io::Result<u32> {
    u32::try_from(possible_cpu_numbers()?.len()).map_err(io::Error::other)
}

/// Returns the numbers of the possible CPUs in ascending order, which is the order of the values in an
/// element of a per-CPU map. The numbers have gaps on some machines.
pub fn possible_cpu_numbers() -> io::Result<&'static [u32]> {
    static CPUS: OnceLock<Vec<u32>> = OnceLock::new();
    if let Some(cpus) = CPUS.get() {
        return Ok(cpus);
    }
    let text = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let cpus = cpu_list(&text, CPU_NUMBERS_END).filter(|cpus| !cpus.is_empty());
    let cpus =
        cpus.ok_or_else(|| io::Error::other("/sys/devices/system/cpu/possible is not a list of CPUs"))?;
    Ok(CPUS.get_or_init(|| cpus))
}

/// The bound on a list of CPUs. No kernel supports as many.
const CPU_NUMBERS_END: u32 = 1 << 16;

/// Parses a list such as `0-3,8`. Returns the numbers below `end`, or `None` for another text.
pub(crate) fn cpu_list(text: &str, end: u32) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        // A single number is a range of one.
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        cpus.extend((first..=last).take_while(|cpu| *cpu < end));
    }
    Some(cpus)
}

/// Raises the limit on locked memory, to which kernels before 5.11 charge maps and programs. Without
/// `CAP_SYS_RESOURCE`, raises the soft limit to the hard limit.
pub(crate) fn raise_memlock_limit() -> Result<(), Errno> {
    let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    set_memlock_limit(&all).or_else(|errno| {
        let mut now = all;
        // SAFETY: `now` outlives the call, which writes to it.
        if unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut now) } != 0 || now.rlim_cur == now.rlim_max
        {
            return Err(errno);
        }
        set_memlock_limit(&libc::rlimit { rlim_cur: now.rlim_max, ..now })
    })
}

fn set_memlock_limit(limit: &libc::rlimit) -> Result<(), Errno> {
    // SAFETY: `limit` outlives the call, which only reads it.
    match unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, core::ptr::from_ref(limit)) } {
        0 => Ok(()),
        _ => Err(Errno::last()),
    }
}

/// Keeps this thread on the first processor.
#[cfg(test)]
pub(crate) fn pin_to_first_cpu() {
    let mut set = [0usize; 32];
    set[0] = 1;
    // SAFETY: `set` outlives the call, which reads `size_of_val(&set)` bytes.
    let done = unsafe { libc::sched_setaffinity(0, size_of_val(&set), set.as_ptr().cast()) };
    assert_eq!(done, 0, "{}", Errno::last());
}

/// Runs a function in a child after `fork`, and waits for the child's end. The parent's values stay as they
/// are.
#[cfg(test)]
pub(crate) fn in_child(run: impl FnOnce()) {
    // SAFETY: the child runs only the function, which makes system calls, allocates and frees; the C
    // library's allocator permits that after a fork. It ends without running anything else of the test
    // process.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let ended = std::panic::catch_unwind(core::panic::AssertUnwindSafe(run));
        // SAFETY: the call takes no pointers.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child ends");
}

/// A descriptor of this process.
#[cfg(test)]
pub(crate) fn own_pidfd() -> std::os::fd::OwnedFd {
    let pid = libc::c_long::from(std::process::id().cast_signed());
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).unwrap();
    assert!(fd >= 0, "{}", Errno::last());
    // SAFETY: the call created the descriptor, so it has no other owner.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::skip;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no madvise")]
    fn vectors_may_have_huge_pages_and_keep_what_is_in_them() {
        for len in [0, 1, 4095, 4096, 8191, 3 << 20, (4 << 20) + 1] {
            let mut bytes = vec![7; len];
            prefer_huge_pages(&mut bytes);
            assert!(bytes.len() == len && bytes.iter().all(|byte| *byte == 7), "{len}");
        }
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return skip!("a kernel without transparent huge pages");
        }
        let mut bytes = Vec::with_capacity(8 << 20);
        prefer_huge_pages(&mut bytes);
        let middle = bytes.as_ptr().addr() + (4 << 20);
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_ours = false;
        let flags = smaps.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let hex = |text| usize::from_str_radix(text, 16).ok();
            if let Some((Some(from), Some(to))) = range.map(|(from, to)| (hex(from), hex(to))) {
                is_ours = (from..to).contains(&middle);
            }
            line.strip_prefix("VmFlags:").filter(|_| is_ours)
        });
        assert!(flags.unwrap().split(' ').any(|flag| flag == "hg"), "{flags:?}");
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-3\n", 99), Some(vec![0, 1, 2, 3]));
        assert_eq!(cpu_list("0\n", 99), Some(vec![0]));
        assert_eq!(cpu_list("0-1,8-9", 99), Some(vec![0, 1, 8, 9]), "four, though the last is 9");
        assert_eq!(cpu_list("0-3,8", 2), Some(vec![0, 1]));
        assert_eq!(cpu_list("0-4294967295", 3), Some(vec![0, 1, 2]));
        assert_eq!(cpu_list("", 99), Some(vec![]));
        assert_eq!((cpu_list("3-1", 99), cpu_list("x", 99)), (None, None));
    }

    #[test]
    fn there_is_a_processor_for_each_value() {
        let numbers = possible_cpu_numbers().unwrap();
        assert_eq!(u32::try_from(numbers.len()).unwrap(), possible_cpus().unwrap());
        assert!(numbers.is_sorted());
    }

    #[test]
    fn a_page_is_a_power_of_two() {
        assert!(page_size().is_power_of_two());
    }
}
