// Ordinary integers in the places of bitfields.
#include "target.h"

enum level { LOW, HIGH = 3 };

struct bits {
	u8 first;
	u16 mid;
	u32 tail;
	s64 sign;
	enum level level;
};

struct wide_bits {
	u64 wide;
	u32 rest;
};

struct tiny_bits {
	u64 before;
	_Bool tiny;
};
KEEP(struct bits);
KEEP(struct wide_bits);
KEEP(struct tiny_bits);
