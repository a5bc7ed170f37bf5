// Packed: fields cross the boundary of their declared type, and are read by the next wider load.
#include "target.h"

enum level { LOW, HIGH = 3 };

struct bits {
	u8 pad : 6;
	u8 first : 1;
	u16 pad2 : 8;
	u32 mid : 20;
	u32 tail : 19;
	u64 pad3 : 36;
	s32 sign : 9;
	enum level level : 2;
} __attribute__((packed));

struct wide_bits {
	u32 wide : 30;
	u32 rest : 31;
} __attribute__((packed));

struct tiny_bits {
	u8 before : 6;
	u8 tiny : 7;
} __attribute__((packed));
KEEP(struct bits);
KEEP(struct wide_bits);
KEEP(struct tiny_bits);
