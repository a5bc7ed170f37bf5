// The program's own layout.
#include "target.h"

struct outer {
	u32 x;
	union {
		struct {
			u32 a;
			u32 b;
		};
		u64 whole;
	};
	struct {
		struct {
			union {
				u16 deep;
				u8 byte;
			};
			u16 deeper;
		};
	};
	struct {
		u32 in;
		struct {
			u32 far;
		} further;
	} named;
};
KEEP(struct outer);
