//# target: kernels
//# requires: clang>=14
// A program that user space calls: adds the first two numbers of its context, and puts the sum third.
#include "live.h"

struct args {
	u64 first, second, sum;
};

SEC("syscall") int add(struct args *ctx)
{
	hits++;
	ctx->sum = ctx->first + ctx->second;
	return 0;
}
