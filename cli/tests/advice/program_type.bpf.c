// kernel: 5.10
#include "libbpf.h"

SEC("netfilter") int prog(void *ctx)
{
	return 1;
}
