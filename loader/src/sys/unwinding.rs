//! The functions of libunwind that the standard library links, in the static command (`cargo xtask static`).
//!
//! A panic aborts there, and the file has no tables for unwinding. Its backtraces would be empty. With these
//! functions, the compiler leaves out libunwind and the code of the standard library that reads debugging
//! information for a backtrace.
#![expect(unsafe_code, reason = "the standard library links the functions by their names in C")]

use core::ffi::{c_int, c_void};

/// Reports no frame (`_URC_NO_REASON`).
// SAFETY: The function has the type of libunwind's `_Unwind_Backtrace`, and may stop before the first frame.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_trace: *const c_void, _argument: *mut c_void) -> c_int {
    0
}

macro_rules! unreachable_functions {
    ($($name:ident)*) => {$(
        /// Aborts. Only a stack that is unwound needs the function.
        // SAFETY: The function reads no arguments and does not return, so every type of the C function fits.
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> ! {
            std::process::abort()
        }
    )*};
}

unreachable_functions! {
    _Unwind_DeleteException
    _Unwind_FindEnclosingFunction
    _Unwind_GetCFA
    _Unwind_GetDataRelBase
    _Unwind_GetIP
    _Unwind_GetIPInfo
    _Unwind_GetLanguageSpecificData
    _Unwind_GetRegionStart
    _Unwind_GetTextRelBase
    _Unwind_RaiseException
    _Unwind_Resume
    _Unwind_SetGR
    _Unwind_SetIP
}
