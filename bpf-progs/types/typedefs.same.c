// The program's own types.
#include "target.h"

typedef u32 first_t;
typedef const first_t second_t;
typedef volatile second_t third_t;

typedef struct anon {
	u32 pad;
	third_t chained;
} named_t;
KEEP(named_t);

typedef struct {
	u32 pad;
	u32 x;
	struct {
		first_t y;
	} sub;
} anon_t;
KEEP(anon_t);
