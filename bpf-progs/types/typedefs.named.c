// What the program knows by a typedef is a struct of that name, and the other way round: no candidates.
#include "target.h"

struct anon_t {
	u32 pad;
	u32 x;
};
KEEP(struct anon_t);

typedef struct {
	u32 pad;
	u32 chained;
} anon;
KEEP(anon);
