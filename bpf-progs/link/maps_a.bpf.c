//# target: self
// Maps in maps, programs in a map, license and version that both files have.
#include "link.h"

char LICENSE[] SEC("license") = "GPL";
u32 VERSION SEC("version") = 0x50a00;

struct inner {
	MAP_UINT(type, 2);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
};

extern struct {
	MAP_UINT(type, 12);
	MAP_UINT(max_entries, 2);
	MAP_TYPE(key, u32);
	struct inner *values[];
} outer IN(".maps");

SEC("raw_tp/maps_a") int maps_a(void *ctx)
{
	u32 key = 0;
	u32 **inner = map_lookup_elem(&outer, &key);

	return inner ? 1 : 0;
}
