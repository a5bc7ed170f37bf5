//# target: same moved plain crossing
// The parts of a bitfield read (unit offset, unit size, two shifts, sign) for fields at every place of a unit.
#include "core.h"

#define ASK(field)                          \
	do {                                \
		USE(field_offset(p->field));  \
		USE(field_size(p->field));    \
		USE(field_lshift(p->field));  \
		USE(field_rshift(p->field));  \
		USE(field_signed(p->field));  \
		USE(field_exists(p->field));  \
	} while (0)

enum level { LOW, HIGH = 3 };

struct bits {
	u32 before;
	u32 first : 1;
	u32 mid : 12;
	u32 tail : 19;
	u32 between;
	s32 sign : 5;
	enum level level : 2;
	u32 between2;
	u64 wide : 40;
	u64 rest : 24;
	u64 between3;
	u8 tiny : 3;
};

PROG(first)(struct bits *p) { ASK(first); return 0; }
PROG(mid)(struct bits *p) { ASK(mid); return 0; }
PROG(tail)(struct bits *p) { ASK(tail); return 0; }
PROG(sign)(struct bits *p) { ASK(sign); return 0; }
PROG(level)(struct bits *p) { ASK(level); return 0; }
PROG(wide)(struct bits *p) { ASK(wide); return 0; }
PROG(rest)(struct bits *p) { ASK(rest); return 0; }
PROG(tiny)(struct bits *p) { ASK(tiny); return 0; }
