// The names are there, with another kind behind each.
#include "target.h"

union s_type {
	u32 a, b;
};
struct u_type {
	u32 a;
};
typedef enum { E_TYPE = 1 } e_type;
struct int_t {
	u32 v;
};
typedef union s_type struct_t;
typedef u32 anon_t;
typedef float chain2_t;
typedef u64 pointer_t;
typedef u64 array_t[4];
KEEP(union s_type);
KEEP(struct u_type);
KEEP(e_type);
KEEP(struct int_t);
KEEP(struct_t);
KEEP(anon_t);
KEEP(chain2_t);
KEEP(pointer_t);
KEEP(array_t);
