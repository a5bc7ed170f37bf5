// `sub` is an integer where it is found first; C forbids a second one beside it, so it lies in a member of a member.
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
