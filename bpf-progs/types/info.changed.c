// Other sizes and contents; the kinds, seen through typedefs, are the same.
#include "target.h"

typedef u32 array_t[7];
typedef s64 int_t;
typedef s16 chain2_t;
typedef void *pointer_t;
typedef struct elsewhere {
	u64 all[4];
} struct_t;
typedef struct_t anon_t;
enum e_type { E_OTHER = 0x100000000 };
union u_type {
	u8 bytes[32];
};
struct s_type {
	u64 a, b, c;
};
KEEP(array_t);
KEEP(int_t);
KEEP(chain2_t);
KEEP(pointer_t);
KEEP(struct_t);
KEEP(anon_t);
KEEP(enum e_type);
KEEP(union u_type);
KEEP(struct s_type);
