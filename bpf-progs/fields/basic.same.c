// The program's own layout.
#include "target.h"

struct basic {
	u32 a;
	u64 b;
	u16 c;
	u8 d;
	s32 e;
};
KEEP(struct basic);
