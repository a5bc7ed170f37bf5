// A struct.
#include "target.h"

struct huge {
	u64 pad;
	struct {
		u64 half[2];
	} value;
};
KEEP(struct huge);
