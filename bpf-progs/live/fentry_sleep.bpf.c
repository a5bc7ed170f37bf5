//# target: kernels
//# requires: clang>=14
// Entry of a function, in a program that may sleep.
#include "live.h"

SEC("fentry.s/__x64_sys_openat") int open_entry(u64 *ctx)
{
	COUNT_MINE();
}
