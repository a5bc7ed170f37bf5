//# target: kernels
//# requires: clang>=19
// Variables in memory shared with user space: a step that is set before, a sum, and a struct of which user space sets parts.
#include "live.h"

#define ARENA __attribute__((address_space(1)))

struct {
	MAP_UINT(type, MAP_ARENA);
	MAP_UINT(map_flags, 1 << 10); /* BPF_F_MMAPABLE */
	MAP_UINT(max_entries, 8);     /* pages */
} arena SEC(".maps");

struct config {
	u32 enabled;
	struct {
		u16 low, high;
	} ports[2];
};

u64 ARENA step = 1;
u64 ARENA sum = 0;
struct config ARENA config = { .enabled = 1, .ports = { { 1, 2 }, { 3, 4 } } };
/* What of config the program saw. */
u32 high;

SEC("syscall") int add(void *ctx)
{
	sum += step;
	high = config.enabled ? config.ports[1].high : 0;
	hits++;
	return 0;
}
