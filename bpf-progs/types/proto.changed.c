// A parameter more, a parameter of another kind, a result, a difference one level down, an ordinary parameter for the dots.
#include "target.h"

struct arg {
	u32 a;
};
typedef int proto_t(struct arg *, int, int);
typedef int (*callback_t)(struct arg, int);
typedef int (*nothing_t)(void);
typedef long (*nested_t)(int (*)(struct arg), u64);
typedef int (*variadic_t)(const char *, int);
KEEP_POINTER(proto_t);
KEEP(callback_t);
KEEP(nothing_t);
KEEP(nested_t);
KEEP(variadic_t);
