// Moved, and longer.
#include "target.h"

struct whole {
	u64 pad;
	u32 v[6];
};
KEEP(struct whole);
