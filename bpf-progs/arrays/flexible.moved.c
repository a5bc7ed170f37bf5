// Flexible still, but later, and nested in the last member.
#include "target.h"

struct flex {
	u64 flags;
	u32 count;
	struct {
		u32 pad;
		u32 tail[0];
	};
};
KEEP(struct flex);

union flexu {
	u64 first;
	struct {
		u64 pad;
		u32 tail[0];
	};
};
KEEP(union flexu);
