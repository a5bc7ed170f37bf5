//# target: self
// A variable that is to be found among the kernel's symbols here, in the configuration in bad_section_a.
#include "link.h"

extern int CONFIG_HZ IN(".ksyms");

PROG(bad_section_b)(void *ctx)
{
	return CONFIG_HZ;
}
