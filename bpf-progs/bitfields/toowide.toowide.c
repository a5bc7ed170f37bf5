// Packed, over the end of the eight bytes it begins in.
#include "target.h"

struct toowide {
	u64 before : 7;
	u64 field : 60;
} __attribute__((packed));
KEEP(struct toowide);
