/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers between the byte order of the network (big-endian) and that of the machine. The names up to bpf_be64_to_cpu are those of
 * libbpf's header of the same name.
 */
#ifndef __BPF_ENDIAN__
#define __BPF_ENDIAN__

#define BPF_U16_ unsigned short
#define BPF_U32_ unsigned int
#define BPF_U64_ unsigned long long

/* Byte `from` of a number of 16, 32 or 64 bits, moved to byte `to`. */
#define ___bpf_mvb(x, bits, from, to) ((((BPF_U##bits##_)(x) >> ((from) * 8)) & (BPF_U##bits##_)0xff) << ((to) * 8))

/* The bytes in reverse order: a constant expression if the number is one. */
#define ___bpf_swab16(x) ((BPF_U16_)(___bpf_mvb(x, 16, 1, 0) | ___bpf_mvb(x, 16, 0, 1)))
#define ___bpf_swab32(x) \
	((BPF_U32_)(___bpf_mvb(x, 32, 3, 0) | ___bpf_mvb(x, 32, 2, 1) | ___bpf_mvb(x, 32, 1, 2) | ___bpf_mvb(x, 32, 0, 3)))
#define ___bpf_swab64(x)                                                                                            \
	((BPF_U64_)(___bpf_mvb(x, 64, 7, 0) | ___bpf_mvb(x, 64, 6, 1) | ___bpf_mvb(x, 64, 5, 2) | ___bpf_mvb(x, 64, 4, 3) | \
		 ___bpf_mvb(x, 64, 3, 4) | ___bpf_mvb(x, 64, 2, 5) | ___bpf_mvb(x, 64, 1, 6) | ___bpf_mvb(x, 64, 0, 7)))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BPF_BIG_16_(x) __builtin_bswap16(x)
#define BPF_BIG_32_(x) __builtin_bswap32(x)
#define BPF_BIG_64_(x) __builtin_bswap64(x)
#define BPF_LITTLE_16_(x) ((BPF_U16_)(x))
#define BPF_LITTLE_32_(x) ((BPF_U32_)(x))
#define BPF_LITTLE_64_(x) ((BPF_U64_)(x))
#define BPF_CONSTANT_16_(x) ___bpf_swab16(x)
#define BPF_CONSTANT_32_(x) ___bpf_swab32(x)
#define BPF_CONSTANT_64_(x) ___bpf_swab64(x)
#else
/* The cast cuts off the same bits as the conversion on a little-endian machine does. */
#define BPF_BIG_16_(x) ((BPF_U16_)(x))
#define BPF_BIG_32_(x) ((BPF_U32_)(x))
#define BPF_BIG_64_(x) ((BPF_U64_)(x))
#define BPF_LITTLE_16_(x) __builtin_bswap16(x)
#define BPF_LITTLE_32_(x) __builtin_bswap32(x)
#define BPF_LITTLE_64_(x) __builtin_bswap64(x)
#define BPF_CONSTANT_16_(x) BPF_BIG_16_(x)
#define BPF_CONSTANT_32_(x) BPF_BIG_32_(x)
#define BPF_CONSTANT_64_(x) BPF_BIG_64_(x)
#endif

/* Numbers that are computed when the program runs. */
#define __bpf_htons(x) BPF_BIG_16_(x)
#define __bpf_ntohs(x) BPF_BIG_16_(x)
#define __bpf_htonl(x) BPF_BIG_32_(x)
#define __bpf_ntohl(x) BPF_BIG_32_(x)
#define __bpf_cpu_to_be64(x) BPF_BIG_64_(x)
#define __bpf_be64_to_cpu(x) BPF_BIG_64_(x)

/* Constants, also in switch cases and initial values. */
#define __bpf_constant_htons(x) BPF_CONSTANT_16_(x)
#define __bpf_constant_ntohs(x) BPF_CONSTANT_16_(x)
#define __bpf_constant_htonl(x) BPF_CONSTANT_32_(x)
#define __bpf_constant_ntohl(x) BPF_CONSTANT_32_(x)
#define __bpf_constant_cpu_to_be64(x) BPF_CONSTANT_64_(x)
#define __bpf_constant_be64_to_cpu(x) BPF_CONSTANT_64_(x)

/* Both. */
#define bpf_htons(x) (__builtin_constant_p(x) ? __bpf_constant_htons(x) : __bpf_htons(x))
#define bpf_ntohs(x) (__builtin_constant_p(x) ? __bpf_constant_ntohs(x) : __bpf_ntohs(x))
#define bpf_htonl(x) (__builtin_constant_p(x) ? __bpf_constant_htonl(x) : __bpf_htonl(x))
#define bpf_ntohl(x) (__builtin_constant_p(x) ? __bpf_constant_ntohl(x) : __bpf_ntohl(x))
#define bpf_cpu_to_be64(x) (__builtin_constant_p(x) ? __bpf_constant_cpu_to_be64(x) : __bpf_cpu_to_be64(x))
#define bpf_be64_to_cpu(x) (__builtin_constant_p(x) ? __bpf_constant_be64_to_cpu(x) : __bpf_be64_to_cpu(x))

/* More of this kind. */
#define bpf_cpu_to_be16(x) BPF_BIG_16_(x)
#define bpf_be16_to_cpu(x) BPF_BIG_16_(x)
#define bpf_cpu_to_be32(x) BPF_BIG_32_(x)
#define bpf_be32_to_cpu(x) BPF_BIG_32_(x)
#define bpf_cpu_to_le16(x) BPF_LITTLE_16_(x)
#define bpf_le16_to_cpu(x) BPF_LITTLE_16_(x)
#define bpf_cpu_to_le32(x) BPF_LITTLE_32_(x)
#define bpf_le32_to_cpu(x) BPF_LITTLE_32_(x)
#define bpf_cpu_to_le64(x) BPF_LITTLE_64_(x)
#define bpf_le64_to_cpu(x) BPF_LITTLE_64_(x)

#endif
