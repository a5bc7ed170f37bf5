// Sixteen bytes.
#include "target.h"

struct huge {
	unsigned __int128 value;
};
KEEP(struct huge);
