/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CO-RE: reads of the kernel's structures, and questions about its types, that the loader adapts to the running kernel. The names are
 * those of libbpf's header of the same name.
 */
#ifndef CORE_RELO_BPF_CORE_READ_H
#define CORE_RELO_BPF_CORE_READ_H

#include "bpf_helpers.h"

/* The kinds of clang's builtins, include/uapi/linux/bpf.h: enum bpf_core_relo_kind. */
#define CORE_FIELD_(field, kind) __builtin_preserve_field_info(field, kind)
#define CORE_FIELD_OF_2_(type, member) ((type *)0)->member
#define CORE_FIELD_OF_1_(field) field
#define CORE_FIELD_OF_(...) BPF_JOIN_(BPF_JOIN_(CORE_FIELD_OF_, BPF_COUNT_(__VA_ARGS__)), _)(__VA_ARGS__)

/* Of a field, `pointer->member`, or of a type and a member: whether it exists, its size, its offset. */
#define bpf_core_field_exists(...) CORE_FIELD_(CORE_FIELD_OF_(__VA_ARGS__), 2)
#define bpf_core_field_size(...) CORE_FIELD_(CORE_FIELD_OF_(__VA_ARGS__), 1)
#define bpf_core_field_offset(...) CORE_FIELD_(CORE_FIELD_OF_(__VA_ARGS__), 0)

/* Of a type: whether it exists or matches, its size, its id in the program's BTF and in the kernel's. */
#define CORE_TYPE_(type) (*(__typeof__(type) *)0)
#define bpf_core_type_exists(type) __builtin_preserve_type_info(CORE_TYPE_(type), 0)
#define bpf_core_type_size(type) __builtin_preserve_type_info(CORE_TYPE_(type), 1)
#define bpf_core_type_matches(type) __builtin_preserve_type_info(CORE_TYPE_(type), 2)
#define bpf_core_type_id_local(type) __builtin_btf_type_id(CORE_TYPE_(type), 0)
#define bpf_core_type_id_kernel(type) __builtin_btf_type_id(CORE_TYPE_(type), 1)

/* Of an enumerator: whether it exists, its value. */
#define CORE_ENUMERATOR_(type, value) (*(__typeof__(type) *)value)
#define bpf_core_enum_value_exists(type, value) __builtin_preserve_enum_value(CORE_ENUMERATOR_(type, value), 0)
#define bpf_core_enum_value(type, value) __builtin_preserve_enum_value(CORE_ENUMERATOR_(type, value), 1)

/* Casts a pointer to a type of the kernel. */
#define bpf_core_cast(pointer, type) \
	((__typeof__(type) *)bpf_rdonly_cast((pointer), bpf_core_type_id_kernel(type)))
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* Reads of relocated addresses. */
#define bpf_core_read(to, size, from) \
	bpf_probe_read_kernel(to, size, (const void *)__builtin_preserve_access_index(from))
#define bpf_core_read_user(to, size, from) \
	bpf_probe_read_user(to, size, (const void *)__builtin_preserve_access_index(from))
#define bpf_core_read_str(to, size, from) \
	bpf_probe_read_kernel_str(to, size, (const void *)__builtin_preserve_access_index(from))
#define bpf_core_read_user_str(to, size, from) \
	bpf_probe_read_user_str(to, size, (const void *)__builtin_preserve_access_index(from))

/* The last of up to 10 members, and the types of the pointers before it: a->b->c for (a, b, c). */
#define CORE_ARROW_1_(a) a
#define CORE_ARROW_2_(a, b) a->b
#define CORE_ARROW_3_(a, b, c) a->b->c
#define CORE_ARROW_4_(a, b, c, d) a->b->c->d
#define CORE_ARROW_5_(a, b, c, d, e) a->b->c->d->e
#define CORE_ARROW_6_(a, b, c, d, e, f) a->b->c->d->e->f
#define CORE_ARROW_7_(a, b, c, d, e, f, g) a->b->c->d->e->f->g
#define CORE_ARROW_8_(a, b, c, d, e, f, g, h) a->b->c->d->e->f->g->h
#define CORE_ARROW_9_(a, b, c, d, e, f, g, h, i) a->b->c->d->e->f->g->h->i
#define CORE_ARROW_10_(a, b, c, d, e, f, g, h, i, j) a->b->c->d->e->f->g->h->i->j
#define CORE_CALL_(prefix, ...) BPF_JOIN_(BPF_JOIN_(prefix, BPF_COUNT_(__VA_ARGS__)), _)(__VA_ARGS__)
#define CORE_TYPEOF_(...) __typeof__(CORE_CALL_(CORE_ARROW_, __VA_ARGS__))

/*
 * CORE_STEPS_N_(read, pointer, members…) reads the pointers on the way into `at_`, and leaves the address of the last member in it.
 * `read` reads (to, size, from).
 */
#define CORE_STEP_(read, type, member) read((void *)&at_, sizeof(at_), &((type)at_)->member);
#define CORE_STEPS_2_(read, a, b)
#define CORE_STEPS_3_(read, a, b, c) read((void *)&at_, sizeof(at_), &(a)->b);
#define CORE_STEPS_4_(read, a, b, c, d) CORE_STEPS_3_(read, a, b, c) CORE_STEP_(read, __typeof__(a->b), c)
#define CORE_STEPS_5_(read, a, b, c, d, e) CORE_STEPS_4_(read, a, b, c, d) CORE_STEP_(read, __typeof__(a->b->c), d)
#define CORE_STEPS_6_(read, a, b, c, d, e, f) \
	CORE_STEPS_5_(read, a, b, c, d, e) CORE_STEP_(read, __typeof__(a->b->c->d), e)
#define CORE_STEPS_7_(read, a, b, c, d, e, f, g) \
	CORE_STEPS_6_(read, a, b, c, d, e, f) CORE_STEP_(read, __typeof__(a->b->c->d->e), f)
#define CORE_STEPS_8_(read, a, b, c, d, e, f, g, h) \
	CORE_STEPS_7_(read, a, b, c, d, e, f, g) CORE_STEP_(read, __typeof__(a->b->c->d->e->f), g)
#define CORE_STEPS_9_(read, a, b, c, d, e, f, g, h, i) \
	CORE_STEPS_8_(read, a, b, c, d, e, f, g, h) CORE_STEP_(read, __typeof__(a->b->c->d->e->f->g), h)
#define CORE_STEPS_10_(read, a, b, c, d, e, f, g, h, i, j) \
	CORE_STEPS_9_(read, a, b, c, d, e, f, g, h, i) CORE_STEP_(read, __typeof__(a->b->c->d->e->f->g->h), i)
#define CORE_STEPS_(read, ...) BPF_JOIN_(BPF_JOIN_(CORE_STEPS_, BPF_COUNT_(__VA_ARGS__)), _)(read, __VA_ARGS__)

/* The type of the last pointer, and the last member. */
#define CORE_LAST_2_(a, b) (a)->b
#define CORE_LAST_3_(a, b, c) ((__typeof__(a->b))at_)->c
#define CORE_LAST_4_(a, b, c, d) ((__typeof__(a->b->c))at_)->d
#define CORE_LAST_5_(a, b, c, d, e) ((__typeof__(a->b->c->d))at_)->e
#define CORE_LAST_6_(a, b, c, d, e, f) ((__typeof__(a->b->c->d->e))at_)->f
#define CORE_LAST_7_(a, b, c, d, e, f, g) ((__typeof__(a->b->c->d->e->f))at_)->g
#define CORE_LAST_8_(a, b, c, d, e, f, g, h) ((__typeof__(a->b->c->d->e->f->g))at_)->h
#define CORE_LAST_9_(a, b, c, d, e, f, g, h, i) ((__typeof__(a->b->c->d->e->f->g->h))at_)->i
#define CORE_LAST_10_(a, b, c, d, e, f, g, h, i, j) ((__typeof__(a->b->c->d->e->f->g->h->i))at_)->j

#define CORE_READ_BY_(step, last, to, size, source, ...)                            \
	({                                                                          \
		__attribute__((unused)) const void *at_;                            \
		CORE_STEPS_(step, source, __VA_ARGS__)                              \
		last(to, size, &CORE_CALL_(CORE_LAST_, source, __VA_ARGS__));       \
	})

/* Reads source->a->b… into *to. The result is 0 or a negative error number. */
#define BPF_CORE_READ_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_core_read, bpf_core_read, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_CORE_READ_USER_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_core_read_user, bpf_core_read_user, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_CORE_READ_STR_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_core_read, bpf_core_read_str, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_CORE_READ_USER_STR_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_core_read_user, bpf_core_read_user_str, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)

/* Reads source->a->b… The result is the value, which is 0 if a pointer on the way cannot be read. */
#define BPF_CORE_READ(source, a, ...)                                    \
	({                                                               \
		CORE_TYPEOF_((source), a, ##__VA_ARGS__) value_;         \
		BPF_CORE_READ_INTO(&value_, (source), a, ##__VA_ARGS__); \
		value_;                                                  \
	})
#define BPF_CORE_READ_USER(source, a, ...)                                    \
	({                                                                    \
		CORE_TYPEOF_((source), a, ##__VA_ARGS__) value_;              \
		BPF_CORE_READ_USER_INTO(&value_, (source), a, ##__VA_ARGS__); \
		value_;                                                       \
	})

/* The same without relocations, for structs of user space, and for kernel structs that do not change. */
#define BPF_PROBE_READ_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_probe_read_kernel, bpf_probe_read_kernel, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_PROBE_READ_USER_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_probe_read_user, bpf_probe_read_user, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_PROBE_READ_STR_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_probe_read_kernel, bpf_probe_read_kernel_str, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_PROBE_READ_USER_STR_INTO(to, source, a, ...) \
	CORE_READ_BY_(bpf_probe_read_user, bpf_probe_read_user_str, (void *)(to), sizeof(*(to)), (source), a, ##__VA_ARGS__)
#define BPF_PROBE_READ(source, a, ...)                                    \
	({                                                                \
		CORE_TYPEOF_((source), a, ##__VA_ARGS__) value_;          \
		BPF_PROBE_READ_INTO(&value_, (source), a, ##__VA_ARGS__); \
		value_;                                                   \
	})
#define BPF_PROBE_READ_USER(source, a, ...)                                    \
	({                                                                     \
		CORE_TYPEOF_((source), a, ##__VA_ARGS__) value_;               \
		BPF_PROBE_READ_USER_INTO(&value_, (source), a, ##__VA_ARGS__); \
		value_;                                                        \
	})

/* Reads a bitfield: of memory that the program may read itself, and of other memory of the kernel. */
#define BPF_CORE_READ_BITFIELD(source, field)                                                                     \
	({                                                                                                        \
		const void *from_ = (const char *)(source) + CORE_FIELD_((source)->field, 0);                     \
		unsigned long long bits_;                                                                         \
		/* Each width is an access of its own: the verifier checks the one that the kernel has. */        \
		__asm__ volatile("" : "+r"(from_));                                                               \
		switch (CORE_FIELD_((source)->field, 1)) {                                                        \
		case 1: bits_ = *(const unsigned char *)from_; break;                                             \
		case 2: bits_ = *(const unsigned short *)from_; break;                                            \
		case 4: bits_ = *(const unsigned int *)from_; break;                                              \
		default: bits_ = *(const unsigned long long *)from_; break;                                       \
		}                                                                                                 \
		CORE_SHIFTED_(source, field, bits_);                                                              \
	})
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CORE_LOW_END_(bits, size) ((void *)&(bits))
#else
#define CORE_LOW_END_(bits, size) ((void *)((char *)&(bits) + (8 - (size))))
#endif
#define BPF_CORE_READ_BITFIELD_PROBED(source, field)                                                              \
	({                                                                                                        \
		unsigned long long bits_ = 0;                                                                     \
		unsigned int size_ = CORE_FIELD_((source)->field, 1);                                             \
		bpf_probe_read_kernel(CORE_LOW_END_(bits_, size_), size_,                                         \
				      (const char *)(source) + CORE_FIELD_((source)->field, 0));                  \
		CORE_SHIFTED_(source, field, bits_);                                                              \
	})
#define CORE_SHIFTED_(source, field, bits)                                                                        \
	(bits <<= CORE_FIELD_((source)->field, 4),                                                                \
	 CORE_FIELD_((source)->field, 3) ? (unsigned long long)((long long)bits >> CORE_FIELD_((source)->field, 5)) \
					 : bits >> CORE_FIELD_((source)->field, 5))

/* Writes a bitfield of memory that the program may write. */
#define BPF_CORE_WRITE_BITFIELD(target, field, value)                                                             \
	({                                                                                                        \
		void *to_ = (char *)(target) + CORE_FIELD_((target)->field, 0);                                   \
		unsigned int size_ = CORE_FIELD_((target)->field, 1);                                             \
		unsigned int left_ = CORE_FIELD_((target)->field, 4), right_ = CORE_FIELD_((target)->field, 5);   \
		unsigned long long mask_ = (~0ull << right_) >> left_;                                            \
		unsigned long long new_ = ((unsigned long long)(value) << (right_ - left_)) & mask_;              \
		__asm__ volatile("" : "+r"(to_));                                                                 \
		switch (size_) {                                                                                  \
		case 1: *(unsigned char *)to_ = (*(unsigned char *)to_ & ~mask_) | new_; break;                   \
		case 2: *(unsigned short *)to_ = (*(unsigned short *)to_ & ~mask_) | new_; break;                 \
		case 4: *(unsigned int *)to_ = (*(unsigned int *)to_ & ~mask_) | new_; break;                     \
		default: *(unsigned long long *)to_ = (*(unsigned long long *)to_ & ~mask_) | new_; break;        \
		}                                                                                                 \
	})

#endif
