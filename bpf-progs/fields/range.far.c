// `last` lies at 32768.
#include "target.h"

struct range {
	u8 first;
	u8 between[32767];
	u8 last;
};
KEEP(struct range);
