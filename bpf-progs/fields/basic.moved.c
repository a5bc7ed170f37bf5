// Every field at another offset.
#include "target.h"

struct basic {
	u64 pad;
	u8 d;
	u16 c;
	u32 a;
	s32 e;
	u64 b;
};
KEEP(struct basic);
