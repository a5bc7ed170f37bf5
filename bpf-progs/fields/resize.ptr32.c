//# host-cc: -m32
// A kernel with 32-bit pointers. Made by the host's C compiler: a 32-bit ELF file with .BTF.
#include "target.h"

enum state { IDLE, BUSY };

struct resize {
	u8 b;
	u16 h;
	unsigned long w;
	unsigned long dw;
	long sw;
	enum state state;
	u64 last;
	void *ptr;
};
KEEP(struct resize);
