//# requires: clang>=15
// Sizes, signs and offsets differ; every field is still there.
#include "target.h"

enum mode { MODE_A, MODE_B, MODE_NONE = -1 };

struct inner {
	u64 x, z;
};

struct info {
	u8 last;
	s32 num;
	u64 small;
	enum mode mode;
	u32 array[9];
	char *ptr;
	struct inner inner;
};
KEEP(struct info);
