// The old field; no other name fits: `a___b` is a flavour of `a`, the rest are not cut.
#include "target.h"

struct task {
	u64 pad;
	u64 state;
};
struct a___b {
	u64 pad;
	u32 f;
};
struct plain {
	u64 pad;
	u32 f;
};
struct four {
	u64 pad;
	u32 f;
};
KEEP(struct task);
KEEP(struct a___b);
KEEP(struct plain);
KEEP(struct four);
