//# target: kernels
//# requires: clang>=14
// Output to a stream of the program. The function lost an argument and the end of its name in Linux 7.0: the program calls the one that
// the kernel has.
#include "live.h"

extern int bpf_stream_vprintk(int stream_id, const char *fmt__str, const void *args, u32 len__sz) __ksym __weak;
extern int bpf_stream_vprintk_impl(int stream_id, const char *fmt__str, const void *args, u32 len__sz, void *aux__prog) __ksym
	__weak;

/* The kernel's last error. */
s32 error;

static const char format[] = "run %llu\n";

SEC("tc") int print(void *ctx)
{
	u64 args[1] = { ++hits };

	if (bpf_stream_vprintk)
		error = bpf_stream_vprintk(1, format, args, sizeof(args));
	else if (bpf_stream_vprintk_impl)
		error = bpf_stream_vprintk_impl(1, format, args, sizeof(args), 0);
	return 0;
}
