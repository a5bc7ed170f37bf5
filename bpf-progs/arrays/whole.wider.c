// Wider elements.
#include "target.h"

struct whole {
	u64 pad;
	u64 v[4];
};
KEEP(struct whole);
