//! The running kernel's name of the machine.
#![expect(unsafe_code, reason = "uname is a call into C")]

use core::{ffi::CStr, mem::MaybeUninit};
use core_relo_object::Errno;

/// Returns the architecture of the kernel, as `uname -m` prints it.
///
/// The kernel of a 32-bit process may be a 64-bit one.
pub(crate) fn machine() -> Result<String, Errno> {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the call writes to the struct, which lives longer than the call.
    let result = unsafe { libc::uname(names.as_mut_ptr()) };
    if result != 0 {
        return Err(Errno::last());
    }
    // SAFETY: zeroes are arrays of characters, and so is everything that the kernel writes.
    let names = unsafe { names.assume_init() };
    let bytes: Vec<u8> = names.machine.iter().map(|c| c.to_ne_bytes()[0]).collect();
    let machine = CStr::from_bytes_until_nul(&bytes).map_err(|_no_end| Errno(libc::EINVAL))?;
    Ok(machine.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use core_relo_test_support::skip;
    #[test]
    #[cfg_attr(miri, ignore = "the interpreter does not read /proc")]
    fn the_machine_is_the_kernels_architecture() {
        let Ok(kernel) = std::fs::read_to_string("/proc/sys/kernel/arch") else {
            return skip!("the kernel has no file with its architecture");
        };
        let is_emulated = kernel.trim_end() != super::machine().unwrap() && cfg!(not(target_arch = "x86_64"));
        if is_emulated {
            return skip!("the emulator has an architecture of its own");
        }
        assert_eq!(super::machine().unwrap(), kernel.trim_end());
    }
}
