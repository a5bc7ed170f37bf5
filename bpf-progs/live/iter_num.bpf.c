//# target: kernels
//# requires: clang>=14
// A loop by an iterator in the program: the sum of the numbers below `limit`.
#include "live.h"

struct bpf_iter_num {
	u64 hidden;
} __attribute__((aligned(8)));

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

u32 limit;
u64 sum;

SEC("tc") int add(void *ctx)
{
	struct bpf_iter_num it;
	int *number;

	hits++;
	bpf_iter_num_new(&it, 0, limit & 0xffff);
	while ((number = bpf_iter_num_next(&it)))
		sum += *number;
	bpf_iter_num_destroy(&it);
	return 0;
}
