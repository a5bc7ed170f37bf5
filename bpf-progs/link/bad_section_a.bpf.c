//# target: self
// A variable that is to be found in the configuration here, among the kernel's symbols in bad_section_b.
#include "link.h"

extern int CONFIG_HZ IN(".kconfig");

PROG(bad_section_a)(void *ctx)
{
	return CONFIG_HZ;
}
