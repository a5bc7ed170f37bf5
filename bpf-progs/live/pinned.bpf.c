//# target: kernels
//# requires: clang>=14
// A map that is pinned by its name, and so shared by all who load this object.
#include "live.h"

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_UINT(pinning, 1); /* LIBBPF_PIN_BY_NAME */
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} core_relo_live SEC(".maps");

SEC("tc") int count(void *ctx)
{
	u32 key = 0;
	u64 *value = map_lookup_elem(&core_relo_live, &key);

	hits++;
	if (value)
		*value += 1;
	return 0;
}
