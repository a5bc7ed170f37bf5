// The bitfield is an integer, the integer a bitfield.
#include "target.h"

struct access {
	u32 pad;
	u32 low;
	u32 high;
	u32 plain : 31;
};
KEEP(struct access);
