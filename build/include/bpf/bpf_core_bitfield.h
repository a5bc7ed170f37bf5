/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bitfields of the kernel's structures, whose place and size the loader adapts to the running kernel. */
#ifndef CORE_RELO_BPF_CORE_BITFIELD_H
#define CORE_RELO_BPF_CORE_BITFIELD_H

#define __CORE_RELO(source, field, kind) __builtin_preserve_field_info((source)->field, BPF_FIELD_##kind)

/* The shifts are relative to a number of 64 bits, whose low bytes have the memory of the bitfield. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CORE_LOW_BYTES_(number, size) ((void *)(number))
#else
#define CORE_LOW_BYTES_(number, size) ((void *)((char *)(number) + (8 - (size))))
#endif

/* Reads the memory of a bitfield into the 64 bits at `number`. */
#define __CORE_BITFIELD_PROBE_READ(number, source, field)                                                      \
	bpf_probe_read_kernel(CORE_LOW_BYTES_(number, __CORE_RELO(source, field, BYTE_SIZE)),                  \
			      __CORE_RELO(source, field, BYTE_SIZE),                                           \
			      (const char *)(source) + __CORE_RELO(source, field, BYTE_OFFSET))

/* Moves the bits of a bitfield to the low end. */
#define CORE_SHIFT_BITS_(bits, source, field)                                                  \
	bits <<= __CORE_RELO(source, field, LSHIFT_U64);                                       \
	if (__CORE_RELO(source, field, SIGNED))                                                \
		bits = (unsigned long long)((long long)bits >> __CORE_RELO(source, field, RSHIFT_U64)); \
	else                                                                                   \
		bits >>= __CORE_RELO(source, field, RSHIFT_U64);

/* Reads a bitfield of any memory of the kernel. The result is 0 if the memory cannot be read. */
#define BPF_CORE_READ_BITFIELD_PROBED(source, field)              \
	({                                                        \
		unsigned long long bits_ = 0;                     \
		__CORE_BITFIELD_PROBE_READ(&bits_, source, field); \
		CORE_SHIFT_BITS_(bits_, source, field)            \
		bits_;                                            \
	})

/* Evaluates `access` for the type of a number of each size: the verifier checks the one that the kernel has. */
#define CORE_BY_SIZE_(access)                           \
	case 1: access(unsigned char); break;           \
	case 2: access(unsigned short); break;          \
	case 4: access(unsigned int); break;            \
	case 8: access(unsigned long long); break;
#define CORE_LOAD_(type) bits_ = *(const type *)at_
#define CORE_STORE_(type) *(type *)at_ = bits_

/* Reads a bitfield of memory that the program may read itself. The barrier keeps one relocation of the address for all sizes. */
#define BPF_CORE_READ_BITFIELD(source, field)                                                          \
	({                                                                                             \
		const void *at_ = (const char *)(source) + __CORE_RELO(source, field, BYTE_OFFSET);    \
		unsigned long long bits_;                                                              \
		__asm__ volatile("" : "+r"(at_));                                                      \
		switch (__CORE_RELO(source, field, BYTE_SIZE)) {                                       \
		CORE_BY_SIZE_(CORE_LOAD_)                                                       \
		default: bits_ = 0;                                                                    \
		}                                                                                      \
		CORE_SHIFT_BITS_(bits_, source, field)                                                 \
		bits_;                                                                                 \
	})

/* Writes a bitfield of memory that the program may write. */
#define BPF_CORE_WRITE_BITFIELD(target, field, value)                                                  \
	({                                                                                             \
		void *at_ = (char *)(target) + __CORE_RELO(target, field, BYTE_OFFSET);                \
		unsigned int size_ = __CORE_RELO(target, field, BYTE_SIZE);                            \
		unsigned int left_ = __CORE_RELO(target, field, LSHIFT_U64);                           \
		unsigned int right_ = __CORE_RELO(target, field, RSHIFT_U64);                          \
		unsigned long long mask_, bits_, new_ = (value);                                       \
		unsigned int shift_ = right_ - left_;                                                  \
		__asm__ volatile("" : "+r"(at_));                                                      \
		switch (size_) { CORE_BY_SIZE_(CORE_LOAD_) }                                    \
		mask_ = (~0ull << right_) >> left_;                                                    \
		bits_ = (bits_ & ~mask_) | ((new_ << shift_) & mask_);                                  \
		switch (size_) { CORE_BY_SIZE_(CORE_STORE_) }                                   \
	})

#endif
