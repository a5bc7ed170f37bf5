// The program's own layout.
#include "target.h"

enum level { LOW, HIGH = 3 };

struct bits {
	u32 before;
	u32 first : 1;
	u32 mid : 12;
	u32 tail : 19;
	u32 between;
	s32 sign : 5;
	enum level level : 2;
};

struct wide_bits {
	u64 before;
	u64 wide : 40;
	u64 rest : 24;
};

struct tiny_bits {
	u8 before;
	u8 low : 3;
	u8 tiny : 5;
};
KEEP(struct bits);
KEEP(struct wide_bits);
KEEP(struct tiny_bits);
