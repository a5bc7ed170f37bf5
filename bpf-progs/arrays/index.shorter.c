// The indices of the program are out of bounds here.
#include "target.h"

struct cell {
	u32 key;
	u64 value;
};

struct index {
	u32 pad;
	u32 v[2];
	struct cell cells[1];
	u8 m[3][2];
};
KEEP(struct index);
