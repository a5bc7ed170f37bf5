// Each field narrower, where there is a narrower type.
#include "target.h"

enum state { IDLE, BUSY } __attribute__((packed));

struct resize {
	u8 b;
	u8 h;
	u8 w;
	u32 dw;
	s16 sw;
	enum state state;
	u16 last;
	void *ptr;
};
KEEP(struct resize);
