//# target: self
// Another license than bad_license_a.
#include "link.h"

char LICENSE[] SEC("license") = "MIT";

PROG(bad_license_b)(void *ctx)
{
	return 0;
}
