//# target: self
// Some of what kernel_a wants, more strongly, and something of its own.
#include "link.h"

struct task {
	int pid;
};

extern int LINUX_KERNEL_VERSION IN(".kconfig");
extern int CONFIG_HZ IN(".kconfig");
extern _Bool CONFIG_BPF IN(".kconfig");
extern const int runqueues IN(".ksyms");
extern void release(struct task *task) IN(".ksyms");

struct task kept;

SEC("raw_tp/kernel_b") int kernel_b(void *ctx)
{
	USE(&runqueues);
	release(&kept);
	return LINUX_KERNEL_VERSION + CONFIG_HZ + CONFIG_BPF;
}
