// The program's own layout.
#include "target.h"

enum mode { MODE_A, MODE_B };

struct inner {
	u32 x, y, z;
};

struct info {
	u32 num;
	s16 small;
	enum mode mode;
	void *ptr;
	struct inner inner;
	u64 array[5];
	u8 last;
};
KEEP(struct info);
