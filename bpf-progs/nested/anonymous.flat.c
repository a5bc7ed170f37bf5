// Nothing anonymous any more: all members of the struct itself.
#include "target.h"

struct outer {
	u64 whole;
	u16 deeper;
	u16 deep;
	u32 b;
	u32 a;
	u32 x;
	u8 byte;
	struct {
		struct {
			u32 far;
		} further;
		u32 in;
	} named;
};
KEEP(struct outer);
