// The new field; the names that are no flavours, as the program writes them; `a___b` in another flavour.
#include "target.h"

struct task {
	u64 pad;
	u32 __state;
};
struct a___b___v9 {
	u64 pad;
	u32 f;
};
struct ___plain {
	u64 pad;
	u32 f;
};
struct plain___ {
	u64 pad;
	u32 f;
};
struct four____v1 {
	u64 pad;
	u32 f;
};
KEEP(struct task);
KEEP(struct a___b___v9);
KEEP(struct ___plain);
KEEP(struct plain___);
KEEP(struct four____v1);
