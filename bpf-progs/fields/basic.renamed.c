// `b` is now `bb`.
#include "target.h"

struct basic {
	u32 a;
	u64 bb;
	u16 c;
	u8 d;
	s32 e;
};
KEEP(struct basic);
