// Ordinary integers in the places of bitfields.
#include "target.h"

enum level { LOW, HIGH = 3 };

struct bits {
	u8 first;
	u16 mid;
	u32 tail;
	s64 sign;
	enum level level;
	u64 wide;
	u32 rest;
	_Bool tiny;
};
KEEP(struct bits);
