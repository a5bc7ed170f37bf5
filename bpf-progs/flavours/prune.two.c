// `y` in both, at different places; `x` in one alone.
#include "target.h"

struct prune___a {
	u64 pad;
	u32 x;
	u32 y;
};
struct prune___b {
	u64 pad[4];
	u32 y;
};
KEEP(struct prune___a);
KEEP(struct prune___b);
