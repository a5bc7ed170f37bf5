//# target: kernels
//# requires: clang>=14
// Samples of a perf event.
#include "live.h"

SEC("perf_event") int sample(void *ctx)
{
	hits++;
	return 0;
}
