// Elements of another size: those reached by index are read at their new width.
#include "target.h"

struct cell {
	u32 key;
	u32 value;
};

struct index {
	u32 pad;
	u64 v[4];
	struct cell cells[3];
	u16 m[2][3];
};
KEEP(struct index);
