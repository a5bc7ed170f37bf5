// Every field but `dw` at another offset, no width changed.
#include "target.h"

struct insns_v1 {
	u64 pad;
	u64 dw;
	u32 w;
	u16 h;
	s8 sb;
	u8 b;
};
KEEP(struct insns_v1);
