// The program's own types.
#include "target.h"

struct s_type {
	u32 a, b;
};
union u_type {
	u32 a;
	u64 b;
};
enum e_type { E_TYPE = 1 };
typedef u32 int_t;
typedef struct s_type struct_t;
typedef struct {
	u32 x;
} anon_t;
typedef int_t chain1_t;
typedef chain1_t chain2_t;
typedef struct s_type *pointer_t;
typedef u32 array_t[4];
KEEP(struct s_type);
KEEP(union u_type);
KEEP(enum e_type);
KEEP(int_t);
KEEP(struct_t);
KEEP(anon_t);
KEEP(chain2_t);
KEEP(pointer_t);
KEEP(array_t);
