// What was anonymous has a name now and is not searched; what was named is anonymous.
#include "target.h"

struct outer {
	u32 x;
	union {
		struct {
			u32 a;
			u32 b;
		};
		u64 whole;
	} u;
	struct {
		u16 deep;
		u16 deeper;
	} s;
	struct {
		u32 in;
		struct {
			u32 far;
		} further;
	};
};
KEEP(struct outer);
