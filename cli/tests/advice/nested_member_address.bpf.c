// kernel: 6.12
#include "libbpf.h"
struct timespec64 { s64 tv_sec; long tv_nsec; } CORE;
struct inode { struct timespec64 i_atime; } CORE;
struct file { struct inode *f_inode; } CORE;
/* DECLARATIONS */

SEC("fentry/vfs_read") int prog(u64 *ctx)
{
	struct file *file = (void *)ctx[0];
	struct inode *inode = file->f_inode;

	bpf_probe_read_kernel(&result, sizeof(result), &inode->i_atime.tv_sec);
	return 0;
}
