//# target: same flat deeper named swapped
// Fields inside anonymous structs and unions, and inside named ones.
#include "core.h"

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
} CORE;

PROG(load)(struct outer *p)
{
	USE(p->x);
	USE(p->a);
	USE(p->b);
	USE(p->whole);
	USE(p->deep);
	USE(p->byte);
	USE(p->deeper);
	USE(p->named.in);
	USE(p->named.further.far);
	return 0;
}
