// `last` lies at 32767.
#include "target.h"

struct range {
	u8 first;
	u8 between[32766];
	u8 last;
};
KEEP(struct range);
