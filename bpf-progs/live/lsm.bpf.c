//# target: kernels
//# requires: clang>=14
// A security hook; `deny` refuses to open files.
#include "live.h"

u32 deny;

/* int file_open(struct file *file); the last argument is what the programs before it said. */
SEC("lsm/file_open") int file_open(u64 *ctx)
{
	int before = (int)ctx[1];

	if (before || !mine())
		return before;
	hits++;
	return deny ? -1 : 0;
}
