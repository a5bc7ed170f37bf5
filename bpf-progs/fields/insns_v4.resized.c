// Unsigned fields resized either way: the store's width follows. Signed: poison.
#include "target.h"

struct insns_v4 {
	u16 b;
	u32 h;
	u64 w;
	u32 dw;
	s64 sw;
	s16 sh;
};
KEEP(struct insns_v4);
