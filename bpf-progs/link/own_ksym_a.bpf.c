//# target: self
// A kernel symbol without a type, in both files: libbpf asks for the size of void, and refuses.
#include "link.h"

extern const void init_task IN(".ksyms");

PROG(own_ksym_a)(void *ctx)
{
	USE(&init_task);
	return 0;
}
