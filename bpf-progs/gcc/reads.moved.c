// Other offsets everywhere.
#include "target.h"

struct cell {
	u64 pad;
	u32 key;
	u64 value;
};

struct reads {
	struct cell *ptr;
	struct cell one;
	struct cell cells[2];
	s32 e;
	u32 a;
	u64 b;
};
KEEP(struct reads);
