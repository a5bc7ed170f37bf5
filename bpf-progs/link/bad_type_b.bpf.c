//# target: self
// Not what bad_type_a takes it for.
#include "link.h"

struct point {
	int x;
	int z;
};
struct point origin = { 1, 2 };

PROG(bad_type_b)(void *ctx)
{
	return origin.z;
}
