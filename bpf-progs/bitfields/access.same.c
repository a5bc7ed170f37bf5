// Moved by eight bytes, otherwise the program's own layout.
#include "target.h"

struct access {
	u64 more;
	u32 pad;
	u32 low : 8;
	u32 high : 24;
	u32 plain;
};
KEEP(struct access);
