// Packed: fields cross the boundary of their declared type, and are read by the next wider load.
#include "target.h"

enum level { LOW, HIGH = 3 };

struct bits {
	u8 tiny : 6;
	u8 first : 1;
	u16 pad : 8;
	u32 mid : 20;
	u32 tail : 31;
	u32 pad2 : 28;
	s32 sign : 9;
	u32 pad3 : 25;
	enum level level : 2;
	u64 wide : 61;
	u64 rest : 5;
} __attribute__((packed));
KEEP(struct bits);
