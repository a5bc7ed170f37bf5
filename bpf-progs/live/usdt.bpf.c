//# target: kernels
//# requires: clang>=14
// A probe that a program's author put in. Where its arguments are, user space says in maps of libbpf's layout.
#include "live.h"

static u64 (*const get_attach_cookie)(void *ctx) = (void *)174;
extern const _Bool LINUX_HAS_BPF_COOKIE __kconfig;

struct __bpf_usdt_spec {
	struct {
		u64 val_off;
		u8 arg_type, idx_reg[2], reserved;
		s16 reg_off;
		_Bool arg_signed;
		char arg_bitshift;
	} args[12];
	u64 usdt_cookie;
	s16 arg_cnt;
};

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 256);
	MAP_TYPE(key, int);
	MAP_TYPE(value, struct __bpf_usdt_spec);
} __bpf_usdt_specs SEC(".maps");

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 1024);
	MAP_TYPE(key, long);
	MAP_TYPE(value, u32);
} __bpf_usdt_ip_to_spec_id SEC(".maps");

u64 cookie;
s32 arguments;

SEC("usdt") int hit(void *ctx)
{
	struct __bpf_usdt_spec *spec;
	int id = 0;

	if (!mine())
		return 0;
	hits++;
	if (!LINUX_HAS_BPF_COOKIE)
		return 0;
	id = get_attach_cookie(ctx);
	spec = map_lookup_elem(&__bpf_usdt_specs, &id);
	if (!spec)
		return 0;
	cookie = spec->usdt_cookie;
	arguments = spec->arg_cnt;
	return 0;
}
