// No arrays: an array of one and a single value are not the same.
#include "target.h"

struct cell {
	u32 key;
	u64 value;
};

struct index {
	u32 pad;
	u32 v;
	struct cell cells;
	u8 m[6];
};
KEEP(struct index);
