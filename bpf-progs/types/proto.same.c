// The same, up to what does not count: integer sizes, names and qualifiers.
#include "target.h"

struct arg;
struct other {
	u32 a;
};
typedef u64 proto_t(const struct other *, char);
typedef const s8 (*callback_t)(struct other *, volatile u64);
typedef void (*nothing_t)(void);
typedef u8 (*nested_t)(u64 (*const)(const struct other *), int);
typedef int (*variadic_t)(const char *, ...);
KEEP_POINTER(proto_t);
KEEP(callback_t);
KEEP(nothing_t);
KEEP(nested_t);
KEEP(variadic_t);
