// Forward declarations here too.
#include "target.h"

struct fwd_s;
union fwd_u;
typedef struct fwd_s fwd_t;
KEEP_POINTER(struct fwd_s);
KEEP_POINTER(union fwd_u);
KEEP_POINTER(fwd_t);
