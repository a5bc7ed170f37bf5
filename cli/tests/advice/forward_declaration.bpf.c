// kernel: 6.12
#include "libbpf.h"

struct cgroup;
extern void bpf_cgroup_release(struct cgroup *cgroup) __ksym;

SEC("tp_btf/cgroup_mkdir") int prog(u64 *ctx)
{
	bpf_cgroup_release((struct cgroup *)ctx[0]);
	return 0;
}
