//# target: same changed kinds gone
// Whole types: existence, size and ids of structs, unions, enums and typedefs of all sorts.
#include "core.h"

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

PROG(exists)(void *ctx)
{
	USE(type_exists(struct s_type));
	USE(type_exists(union u_type));
	USE(type_exists(enum e_type));
	USE(type_exists(int_t));
	USE(type_exists(struct_t));
	USE(type_exists(anon_t));
	USE(type_exists(chain2_t));
	USE(type_exists(pointer_t));
	USE(type_exists(array_t));
	return 0;
}

PROG(size)(void *ctx)
{
	USE(type_size(struct s_type));
	USE(type_size(union u_type));
	USE(type_size(enum e_type));
	USE(type_size(int_t));
	USE(type_size(struct_t));
	USE(type_size(anon_t));
	USE(type_size(chain2_t));
	USE(type_size(pointer_t));
	USE(type_size(array_t));
	return 0;
}

PROG(local_id)(void *ctx)
{
	USE(type_id_local(struct s_type));
	USE(type_id_local(union u_type));
	USE(type_id_local(struct_t));
	return 0;
}

PROG(target_id)(void *ctx)
{
	USE(type_id_target(struct s_type));
	USE(type_id_target(union u_type));
	USE(type_id_target(enum e_type));
	USE(type_id_target(int_t));
	USE(type_id_target(struct_t));
	USE(type_id_target(array_t));
	return 0;
}
