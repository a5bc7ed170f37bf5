// The types themselves.
#include "target.h"

struct fwd_s {
	u32 a;
};
union fwd_u {
	u32 a;
};
typedef struct fwd_s fwd_t;
KEEP(struct fwd_s);
KEEP(union fwd_u);
KEEP(fwd_t);
