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
	u32 between2;
	u64 wide : 40;
	u64 rest : 24;
	u64 between3;
	u8 tiny : 3;
};
KEEP(struct bits);
