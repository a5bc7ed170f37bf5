// The sign changes, together with the width or without it: the same width is read as it is.
#include "target.h"

struct resize {
	s16 b;
	s16 h;
	s64 w;
	s32 dw;
	u32 sw;
	int state;
	s64 last;
	char *ptr;
};
KEEP(struct resize);
