// Anonymous members several levels further down, and inside the named ones as well.
#include "target.h"

struct outer {
	u64 pad;
	struct {
		union {
			struct {
				union {
					struct {
						u64 hole;
						u32 x;
					};
				};
				u32 b;
				u32 a;
			};
		};
		u8 byte;
		union {
			u64 whole;
			u16 deep;
		};
	};
	union {
		struct {
			u32 other;
			u16 deeper;
		};
	};
	union {
		struct {
			u64 skip;
			struct {
				u32 in;
			};
			union {
				struct {
					u8 one;
					u32 far;
				};
			} further;
		};
	} named;
};
KEEP(struct outer);
