// Structs became unions and unions structs, at every level below the root: no difference.
#include "target.h"

struct outer {
	u32 x;
	struct {
		union {
			u32 a;
			u32 b;
		};
		u64 whole;
	};
	union {
		union {
			struct {
				u16 deep;
				u8 byte;
			};
			u16 deeper;
		};
	};
	union {
		u32 in;
		union {
			u32 far;
		} further;
	} named;
};
KEEP(struct outer);
