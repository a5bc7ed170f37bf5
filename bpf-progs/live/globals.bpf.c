//# target: kernels
//# requires: clang>=14
// Variables in every kind of section, some set by user space before the load.
#include "live.h"

const volatile u64 factor = 1;
const volatile u32 weights[4] = { 1, 2, 3, 4 };
u64 sum = 5;
u64 apart SEC(".data.apart") = 7;
static volatile u32 hidden = 2;

SEC("tc") int add(void *ctx)
{
	hits++;
	for (int i = 0; i < 4; i++)
		sum += weights[i];
	sum *= factor;
	apart += hidden;
	return 0;
}
