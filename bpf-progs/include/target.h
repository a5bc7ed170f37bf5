/* What a file of target types needs: fixed widths, and a way to keep a type in BTF. */
#ifndef TARGET_H
#define TARGET_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define KEEP_NAME2(line) keep_##line
#define KEEP_NAME(line) KEEP_NAME2(line)
/* A variable of the type: the compiler then writes the type, whole, to .BTF. */
#define KEEP(type) __typeof__(type) KEEP_NAME(__LINE__)
/* For types no variable can have. */
#define KEEP_POINTER(type) __typeof__(type) *KEEP_NAME(__LINE__)

#endif
