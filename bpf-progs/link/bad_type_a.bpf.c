//# target: self
// A variable that bad_type_b defines with another member.
#include "link.h"

struct point {
	int x;
	int y;
};
extern struct point origin;

PROG(bad_type_a)(void *ctx)
{
	return origin.y;
}
