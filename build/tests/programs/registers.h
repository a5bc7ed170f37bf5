/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The members of struct pt_regs, and of the types for user space, that the headers of the machines have. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long rdi, rsi, rdx, rcx, r8, r9, r10, rax, rbp, rsp, rip;
} __attribute__((preserve_access_index));
#elif defined(__TARGET_ARCH_arc)
struct pt_regs;
struct user_regs_struct {
	struct {
		unsigned long r0, r1, r2, r3, r4, r5, r6, r7, fp, sp, ret, blink;
	} scratch;
} __attribute__((preserve_access_index));
#else
enum { UREG_I0 = 8, UREG_I1, UREG_I2, UREG_I3, UREG_I4, UREG_I5, UREG_FP = 14, UREG_I7 };
struct pt_regs {
	unsigned long uregs[18], gpr[32], regs[32], u_regs[16], nip, link, pc, orig_gpr3, cp0_epc;
} __attribute__((preserve_access_index));
struct user_pt_regs {
	unsigned long regs[31], sp, pc, csr_era;
} __attribute__((preserve_access_index));
struct user_regs_struct {
	unsigned long pc, ra, sp, s0, a0, a1, a2, a3, a4, a5, a6, a7;
} __attribute__((preserve_access_index));
typedef struct {
	struct {
		unsigned long mask, addr;
	} psw;
	unsigned long gprs[16];
} __attribute__((preserve_access_index)) user_pt_regs;
#endif
