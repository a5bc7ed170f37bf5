//# target: same changed kinds gone
//# expect same raw_tp/exists#0 type_exists keep 1->1
//# expect same raw_tp/exists#1 type_exists keep 1->1
//# expect same raw_tp/exists#2 type_exists keep 1->1
//# expect same raw_tp/exists#3 type_exists keep 1->1
//# expect same raw_tp/exists#4 type_exists keep 1->1
//# expect same raw_tp/exists#5 type_exists keep 1->1
//# expect same raw_tp/exists#6 type_exists keep 1->1
//# expect same raw_tp/exists#7 type_exists keep 1->1
//# expect same raw_tp/exists#8 type_exists keep 1->1
//# expect same raw_tp/size#0 type_size keep 8->8
//# expect same raw_tp/size#1 type_size keep 8->8
//# expect same raw_tp/size#2 type_size keep 4->4
//# expect same raw_tp/size#3 type_size keep 4->4
//# expect same raw_tp/size#4 type_size keep 8->8
//# expect same raw_tp/size#5 type_size keep 4->4
//# expect same raw_tp/size#6 type_size keep 4->4
//# expect same raw_tp/size#7 type_size keep 8->8
//# expect same raw_tp/size#8 type_size keep 16->16
//# expect same raw_tp/local_id#0 type_id_local keep
//# expect same raw_tp/local_id#1 type_id_local keep
//# expect same raw_tp/local_id#2 type_id_local keep
//# expect changed raw_tp/exists#0 type_exists keep 1->1
//# expect changed raw_tp/exists#1 type_exists keep 1->1
//# expect changed raw_tp/exists#2 type_exists keep 1->1
//# expect changed raw_tp/exists#3 type_exists keep 1->1
//# expect changed raw_tp/exists#4 type_exists keep 1->1
//# expect changed raw_tp/exists#5 type_exists keep 1->1
//# expect changed raw_tp/exists#6 type_exists keep 1->1
//# expect changed raw_tp/exists#7 type_exists patch 1->0
//# expect changed raw_tp/exists#8 type_exists keep 1->1
//# expect changed raw_tp/size#0 type_size patch 8->24
//# expect changed raw_tp/size#1 type_size patch 8->32
//# expect changed raw_tp/size#2 type_size patch 4->8
//# expect changed raw_tp/size#3 type_size patch 4->8
//# expect changed raw_tp/size#4 type_size patch 8->32
//# expect changed raw_tp/size#5 type_size patch 4->32
//# expect changed raw_tp/size#6 type_size patch 4->2
//# expect changed raw_tp/size#7 type_size patch 8->0
//# expect changed raw_tp/size#8 type_size patch 16->28
//# expect changed raw_tp/local_id#0 type_id_local keep
//# expect changed raw_tp/local_id#1 type_id_local keep
//# expect changed raw_tp/local_id#2 type_id_local keep
//# expect kinds raw_tp/exists#0 type_exists patch 1->0
//# expect kinds raw_tp/exists#1 type_exists patch 1->0
//# expect kinds raw_tp/exists#2 type_exists patch 1->0
//# expect kinds raw_tp/exists#3 type_exists patch 1->0
//# expect kinds raw_tp/exists#4 type_exists patch 1->0
//# expect kinds raw_tp/exists#5 type_exists patch 1->0
//# expect kinds raw_tp/exists#6 type_exists patch 1->0
//# expect kinds raw_tp/exists#7 type_exists patch 1->0
//# expect kinds raw_tp/exists#8 type_exists keep 1->1
//# expect kinds raw_tp/size#0 type_size patch 8->0
//# expect kinds raw_tp/size#1 type_size patch 8->0
//# expect kinds raw_tp/size#2 type_size patch 4->0
//# expect kinds raw_tp/size#3 type_size patch 4->0
//# expect kinds raw_tp/size#4 type_size patch 8->0
//# expect kinds raw_tp/size#5 type_size patch 4->0
//# expect kinds raw_tp/size#6 type_size patch 4->0
//# expect kinds raw_tp/size#7 type_size patch 8->0
//# expect kinds raw_tp/size#8 type_size patch 16->32
//# expect kinds raw_tp/local_id#0 type_id_local keep
//# expect kinds raw_tp/local_id#1 type_id_local keep
//# expect kinds raw_tp/local_id#2 type_id_local keep
//# expect kinds raw_tp/target_id#0 type_id_target patch
//# expect kinds raw_tp/target_id#1 type_id_target patch
//# expect kinds raw_tp/target_id#2 type_id_target patch
//# expect kinds raw_tp/target_id#3 type_id_target patch
//# expect kinds raw_tp/target_id#4 type_id_target patch
//# expect gone raw_tp/exists#0 type_exists patch 1->0
//# expect gone raw_tp/exists#1 type_exists patch 1->0
//# expect gone raw_tp/exists#2 type_exists patch 1->0
//# expect gone raw_tp/exists#3 type_exists patch 1->0
//# expect gone raw_tp/exists#4 type_exists patch 1->0
//# expect gone raw_tp/exists#5 type_exists patch 1->0
//# expect gone raw_tp/exists#6 type_exists patch 1->0
//# expect gone raw_tp/exists#7 type_exists patch 1->0
//# expect gone raw_tp/exists#8 type_exists patch 1->0
//# expect gone raw_tp/size#0 type_size patch 8->0
//# expect gone raw_tp/size#1 type_size patch 8->0
//# expect gone raw_tp/size#2 type_size patch 4->0
//# expect gone raw_tp/size#3 type_size patch 4->0
//# expect gone raw_tp/size#4 type_size patch 8->0
//# expect gone raw_tp/size#5 type_size patch 4->0
//# expect gone raw_tp/size#6 type_size patch 4->0
//# expect gone raw_tp/size#7 type_size patch 8->0
//# expect gone raw_tp/size#8 type_size patch 16->0
//# expect gone raw_tp/local_id#0 type_id_local keep
//# expect gone raw_tp/local_id#1 type_id_local keep
//# expect gone raw_tp/local_id#2 type_id_local keep
//# expect gone raw_tp/target_id#0 type_id_target patch
//# expect gone raw_tp/target_id#1 type_id_target patch
//# expect gone raw_tp/target_id#2 type_id_target patch
//# expect gone raw_tp/target_id#3 type_id_target patch
//# expect gone raw_tp/target_id#4 type_id_target patch
//# expect gone raw_tp/target_id#5 type_id_target patch
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
