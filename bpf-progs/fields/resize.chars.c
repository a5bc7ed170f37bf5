// Encodings that are neither plain nor signed alone: `_Bool` and `char` (signed, as BPF has it).
#include "target.h"

struct resize {
	_Bool b;
	_Bool h;
	char w;
	_Bool dw;
	char sw;
	u64 last;
	const void *const ptr;
};
KEEP(struct resize);
