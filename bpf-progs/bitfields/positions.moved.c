// Other places and other widths, all still bitfields; `mid` and `tail` are signed, `sign` is not.
#include "target.h"

enum level { LOW, HIGH = 3, NEGATIVE = -1 };

struct bits {
	u64 before;
	u8 tiny : 8;
	u16 pad : 3;
	u16 first : 1;
	s32 mid : 20;
	s32 tail : 7;
	u32 sign : 31;
	enum level level : 3;
	u64 wide : 33;
	u64 rest : 9;
};
KEEP(struct bits);
