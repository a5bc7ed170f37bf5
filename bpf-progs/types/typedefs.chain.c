// More typedefs on the way, and other offsets.
#include "target.h"

typedef unsigned int plain_t;
typedef struct sub {
	u64 first;
	plain_t y;
} sub_t;
typedef const sub_t const_sub_t;

struct anon {
	u64 pad;
	plain_t chained;
};
typedef struct anon named_t;
KEEP(named_t);

struct under {
	u64 pad;
	volatile plain_t x;
	const_sub_t sub;
};
typedef struct under between_t;
typedef between_t anon_t;
KEEP(anon_t);
