// Elements of another sign or kind.
#include "target.h"

struct cell {
	u32 key;
	s32 value;
};

struct index {
	u32 pad;
	s16 v[4];
	struct cell cells[3];
	struct {
		u8 column;
	} m[2][3];
};
KEEP(struct index);
