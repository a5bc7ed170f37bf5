//# target: kernels
//# requires: clang>=19
// What a skeleton consists of: types of every kind in maps, variables and events, programs with and without targets. The program `run`
// puts the variable `settings` into maps and sends events.
#include "live.h"
#include "../../build/include/core_relo.h"

enum mode { MODE_OFF, MODE_ON = 5, MODE_ALWAYS = 5 };
typedef enum { COLD = -1, HOT = 1 } heat;
enum tiny { TINY_NONE, TINY_SOME = 200 } __attribute__((packed));

struct header {
	u8 version;
	u32 length;
	u64 id;
} __attribute__((packed));

struct settings {
	u32 type;
	enum mode mode;
	heat heat;
	enum tiny tiny;
	_Bool is_on;
	u8 low : 3, high : 2;
	s32 negative : 5;
	u64 wide : 40;
	enum mode narrow : 4;
	union {
		u32 ipv4;
		u8 ipv6[16];
		struct {
			u16 low, high;
		} halves;
		u8 bit : 1;
	} address;
	struct {
		u16 port;
		u8 protocol;
	} endpoints[2];
	union {
		u64 number;
		struct {
			u32 low_word, high_word;
		};
	};
	char name[16];
	double ratio;
	__int128 huge;
	u64 *pointer;
	struct header header;
	struct {
	} nothing;
	union {
	} no_member;
	u8 self;
	u16 match;
};

/* Two types of one name. */
struct flow {
	u32 address;
	u16 port;
};
typedef struct {
	u64 packets, bytes;
} flow;

enum event_kind { STARTED = 1, ENDED = 2 };

struct started {
	enum event_kind kind;
	u32 pid;
	char name[16];
};

struct ended {
	enum event_kind kind;
	s32 status;
	u64 duration_ns;
};

struct message {
	u32 length;
	u8 text[];
};

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 16);
	MAP_TYPE(key, struct flow);
	MAP_TYPE(value, flow);
} flows SEC(".maps");

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct settings);
} copies SEC(".maps");

/* Without types. */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 4);
	MAP_UINT(key_size, 4);
	MAP_UINT(value_size, 8);
} untyped SEC(".maps");

struct {
	MAP_UINT(type, MAP_LPM_TRIE);
	MAP_UINT(max_entries, 4);
	MAP_UINT(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__typeof__(struct {
		u32 prefix_bits;
		u8 address[4];
	}) *key;
	MAP_TYPE(value, u32);
} prefixes SEC(".maps");

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 4096);
} events SEC(".maps");
EVENT_KIND(events, struct started, kind, STARTED);
EVENT_KIND(events, struct ended, kind, ENDED);

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 4096);
} messages SEC(".maps");
EVENT_TYPE(messages, struct message);

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 4096);
} spare SEC(".maps");

struct settings settings;
const volatile u64 step = 1;
_Bool has_run;
u64 total = 100;
u32 per_kind[3];
enum mode mode = MODE_ON;
struct {
	u32 x, y;
} type;

SEC("tc") int run(void *ctx)
{
	u32 zero = 0;
	struct flow key;
	flow value = { .packets = 1, .bytes = settings.type };
	struct settings *copy = map_lookup_elem(&copies, &zero);
	struct started *started;
	struct ended *ended;
	struct message *message;

	if (!copy)
		return 1;
	*copy = settings;
	copy->negative = settings.negative - 1;
	/* The padding, too. */
	__builtin_memset(&key, 0, sizeof(key));
	key.address = settings.address.ipv4;
	key.port = settings.endpoints[1].port;
	map_update_elem(&flows, &key, &value, 0);
	started = ringbuf_reserve(&events, sizeof(*started), 0);
	if (started) {
		started->kind = STARTED;
		started->pid = settings.type;
		for (int i = 0; i < 16; i++)
			started->name[i] = settings.name[i];
		ringbuf_submit(started, 0);
		per_kind[STARTED]++;
	}
	ended = ringbuf_reserve(&events, sizeof(*ended), 0);
	if (ended) {
		ended->kind = ENDED;
		ended->status = -1;
		ended->duration_ns = 7;
		ringbuf_submit(ended, 0);
		per_kind[ENDED]++;
	}
	message = ringbuf_reserve(&messages, 8, 0);
	if (message) {
		message->length = 2;
		message->text[0] = 'h';
		message->text[1] = 'i';
		message->text[2] = 0;
		message->text[3] = 0;
		ringbuf_submit(message, 0);
	}
	total += step;
	type.x = settings.endpoints[0].port;
	has_run = 1;
	hits++;
	return 0;
}

/* Sends a record that is no event. */
SEC("tc") int send_short(void *ctx)
{
	u8 *record = ringbuf_reserve(&events, 1, 0);

	if (!record)
		return 1;
	*record = 0;
	ringbuf_submit(record, 0);
	return 0;
}

SEC("tp/syscalls/sys_enter_getpid") int on_getpid(void *ctx) { COUNT_MINE(); }

SEC("tp") int anywhere(void *ctx) { COUNT_MINE(); }

SEC("?tp/syscalls/sys_enter_getppid") int on_getppid(void *ctx) { COUNT_MINE(); }
