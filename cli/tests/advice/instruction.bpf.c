// kernel: 4.20
#include "libbpf.h"

SEC("raw_tp/sys_enter") int prog(u32 *ctx)
{
	if (ctx[0] > ctx[1])
		return 1;
	return 0;
}
