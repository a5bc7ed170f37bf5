// The first `field` is a float, the first `sub` an integer; those that would fit come later.
#include "target.h"

struct first {
	struct {
		u32 sub;
		float field;
	};
	struct {
		struct {
			u32 inner;
		} sub;
		u32 field;
	} later;
	u32 pad;
};
KEEP(struct first);
