//# requires: clang>=15
// Other places and other widths, all still bitfields; `mid` and `tail` are signed, `sign` is not.
#include "target.h"

enum level { LOW, HIGH = 3, NEGATIVE = -1 };

struct bits {
	u64 before;
	u16 pad : 3;
	u16 first : 1;
	s32 mid : 20;
	s32 tail : 7;
	u32 sign : 31;
	enum level level : 3;
};

struct wide_bits {
	u64 rest : 9;
	u64 wide : 33;
};

struct tiny_bits {
	u32 before;
	u32 some : 13;
	u32 tiny : 17;
};
KEEP(struct bits);
KEEP(struct wide_bits);
KEEP(struct tiny_bits);
