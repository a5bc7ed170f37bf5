// The sign changes, together with the width or without it; a 16-byte integer has no load at all.
#include "target.h"

struct resize {
	s16 b;
	s16 h;
	s64 w;
	__int128 dw_was_here;
	unsigned __int128 dw;
	u32 sw;
	int state;
	s64 last;
	char *ptr;
};
KEEP(struct resize);
