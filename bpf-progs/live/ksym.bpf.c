//# target: kernels
//# requires: clang>=14
// Kernel symbols: a variable of each processor by its type, a function's address, and one that no kernel has.
#include "live.h"

static void *(*const per_cpu_ptr)(const void *variable, u32 cpu) = (void *)153;

struct rq {
	int cpu;
} CORE;

extern const struct rq runqueues __ksym;
extern const void schedule __ksym;
extern const void core_relo_no_such_symbol __ksym __weak;

u64 schedule_address, missing_address;
s32 cpu;

SEC("tc") int look(void *ctx)
{
	struct rq *rq = per_cpu_ptr(&runqueues, 0);

	hits++;
	schedule_address = (u64)&schedule;
	missing_address = (u64)&core_relo_no_such_symbol;
	cpu = rq ? rq->cpu : -1;
	return 0;
}
