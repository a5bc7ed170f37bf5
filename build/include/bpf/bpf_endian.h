/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers between the byte order of the network (big-endian) and that of the machine. */
#ifndef CORE_RELO_BPF_ENDIAN_H
#define CORE_RELO_BPF_ENDIAN_H

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BPF_BIG_16_(x) __builtin_bswap16(x)
#define BPF_BIG_32_(x) __builtin_bswap32(x)
#define BPF_BIG_64_(x) __builtin_bswap64(x)
#define BPF_LITTLE_16_(x) ((unsigned short)(x))
#define BPF_LITTLE_32_(x) ((unsigned int)(x))
#define BPF_LITTLE_64_(x) ((unsigned long long)(x))
#else
#define BPF_BIG_16_(x) ((unsigned short)(x))
#define BPF_BIG_32_(x) ((unsigned int)(x))
#define BPF_BIG_64_(x) ((unsigned long long)(x))
#define BPF_LITTLE_16_(x) __builtin_bswap16(x)
#define BPF_LITTLE_32_(x) __builtin_bswap32(x)
#define BPF_LITTLE_64_(x) __builtin_bswap64(x)
#endif

#define bpf_htons(x) BPF_BIG_16_(x)
#define bpf_ntohs(x) BPF_BIG_16_(x)
#define bpf_htonl(x) BPF_BIG_32_(x)
#define bpf_ntohl(x) BPF_BIG_32_(x)
#define bpf_cpu_to_be16(x) BPF_BIG_16_(x)
#define bpf_be16_to_cpu(x) BPF_BIG_16_(x)
#define bpf_cpu_to_be32(x) BPF_BIG_32_(x)
#define bpf_be32_to_cpu(x) BPF_BIG_32_(x)
#define bpf_cpu_to_be64(x) BPF_BIG_64_(x)
#define bpf_be64_to_cpu(x) BPF_BIG_64_(x)
#define bpf_cpu_to_le16(x) BPF_LITTLE_16_(x)
#define bpf_le16_to_cpu(x) BPF_LITTLE_16_(x)
#define bpf_cpu_to_le32(x) BPF_LITTLE_32_(x)
#define bpf_le32_to_cpu(x) BPF_LITTLE_32_(x)
#define bpf_cpu_to_le64(x) BPF_LITTLE_64_(x)
#define bpf_le64_to_cpu(x) BPF_LITTLE_64_(x)

/* The same for constants: in switch cases and initial values. */
#define __bpf_constant_htons(x) BPF_BIG_16_(x)
#define __bpf_constant_ntohs(x) BPF_BIG_16_(x)
#define __bpf_constant_htonl(x) BPF_BIG_32_(x)
#define __bpf_constant_ntohl(x) BPF_BIG_32_(x)
#define __bpf_constant_cpu_to_be64(x) BPF_BIG_64_(x)
#define __bpf_constant_be64_to_cpu(x) BPF_BIG_64_(x)

#endif
