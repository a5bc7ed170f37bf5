// Only `num` and a field of another type under the name `ptr` are left.
#include "target.h"

struct info {
	u32 num;
	u64 ptr;
};
KEEP(struct info);
