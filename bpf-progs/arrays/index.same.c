// The program's own layout.
#include "target.h"

struct cell {
	u32 key;
	u64 value;
};

struct index {
	u32 pad;
	u32 v[4];
	struct cell cells[3];
	u8 m[2][3];
};
KEEP(struct index);
