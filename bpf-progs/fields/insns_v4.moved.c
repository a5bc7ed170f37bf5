// Other offsets, same widths.
#include "target.h"

struct insns_v4 {
	u64 dw;
	u32 w;
	u16 h;
	u8 b;
	s32 sh_was_here;
	s16 pad[2];
	s32 sw;
	s16 sh;
};
KEEP(struct insns_v4);
