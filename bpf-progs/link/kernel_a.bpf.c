//# target: self
// What the kernel is to supply: configuration, symbols and functions, strong and weak; kernel_b wants some of it, too.
#include "link.h"

struct task;

extern int LINUX_KERNEL_VERSION IN(".kconfig");
extern int CONFIG_HZ IN(".kconfig") WEAK;
extern const int runqueues IN(".ksyms");
extern struct task *acquire(struct task *task) IN(".ksyms");
extern void release(struct task *task) IN(".ksyms") WEAK;

SEC("raw_tp/kernel_a") int kernel_a(struct task *task)
{
	struct task *held = acquire(task);

	USE(&runqueues);
	if (held)
		release(held);
	return LINUX_KERNEL_VERSION > 5 ? CONFIG_HZ : 0;
}
