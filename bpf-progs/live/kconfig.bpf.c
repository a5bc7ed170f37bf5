//# target: kernels
//# requires: clang>=14
// The kernel's configuration: a number, a switch, a text, what nobody configures, and the version.
#include "live.h"

enum libbpf_tristate {
	TRI_NO = 0,
	TRI_YES = 1,
	TRI_MODULE = 2,
};

extern const u64 CONFIG_HZ __kconfig;
extern const _Bool CONFIG_BPF_SYSCALL __kconfig;
extern const enum libbpf_tristate CONFIG_NET __kconfig;
extern const char CONFIG_DEFAULT_HOSTNAME[16] __kconfig;
extern const u32 CONFIG_CORE_RELO_NO_SUCH_OPTION __kconfig __weak;
extern const int LINUX_KERNEL_VERSION __kconfig;

u64 hz;
u32 version, bpf_syscall, net, missing;
char hostname[16];

SEC("tc") int look(void *ctx)
{
	hits++;
	hz = CONFIG_HZ;
	version = LINUX_KERNEL_VERSION;
	bpf_syscall = CONFIG_BPF_SYSCALL;
	net = CONFIG_NET;
	missing = CONFIG_CORE_RELO_NO_SUCH_OPTION;
	for (int i = 0; i < 16; i++)
		hostname[i] = CONFIG_DEFAULT_HOSTNAME[i];
	return 0;
}
