// Each field one step wider, where there is one.
#include "target.h"

enum state { IDLE, BUSY, FAR = 0x100000000 };

struct resize {
	u16 b;
	u32 h;
	u64 w;
	u64 dw;
	s64 sw;
	enum state state;
	u64 last;
	void *ptr;
};
KEEP(struct resize);
