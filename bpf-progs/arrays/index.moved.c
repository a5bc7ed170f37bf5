// Longer arrays, larger elements, more columns.
#include "target.h"

struct cell {
	u64 value;
	u64 more[2];
	u32 key;
};

struct index {
	u64 first;
	u8 m[4][7];
	u32 v[8];
	u32 pad;
	struct cell cells[9];
};
KEEP(struct index);
