//# target: self
// Another license than bad_license_b.
#include "link.h"

char LICENSE[] SEC("license") = "GPL";

PROG(bad_license_a)(void *ctx)
{
	return 0;
}
