// kernel: 5.10
#include "libbpf.h"

SEC("fentry/vfs_reads") int prog(u64 *ctx)
{
	result = ctx[2];
	return 0;
}
