//# target: kernels
// Memory of a task: counters that changed their type (an array of atomics, then of percpu counters), page flags, nested anonymous structs.
#include "helpers.h"

typedef struct {
	s64 counter;
} atomic64_t;
typedef atomic64_t atomic_long_t;

struct percpu_counter {
	s64 count;
} CORE;

struct mm_rss_stat {
	atomic_long_t count[4];
} CORE;

struct mm_struct {
	struct {
		unsigned long mmap_base;
		unsigned long task_size;
		unsigned long total_vm;
		unsigned long hiwater_rss;
		unsigned long start_code, end_code;
		unsigned long arg_start, arg_end;
		struct percpu_counter rss_stat[4];
	};
} CORE;
struct mm_struct___old {
	struct mm_rss_stat rss_stat;
} CORE;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
} CORE;
/* Until 6.5 areas were a list, and until 6.1 a tree of their own. */
struct vm_area_struct___list {
	struct vm_area_struct *vm_next;
} CORE;

struct page {
	unsigned long flags;
} CORE;
/* Since 6.18 a struct of one member. */
struct page___typed {
	struct {
		unsigned long f;
	} flags;
} CORE;

struct task_struct {
	struct mm_struct *mm;
	unsigned long min_flt;
	unsigned long maj_flt;
} CORE;

u64 rss[4];
u64 out[8];

SEC("raw_tp/mm") int usage(void *ctx)
{
	struct task_struct *task = (void *)get_current_task();
	struct mm_struct *mm = READ(task, mm);
	struct mm_struct___old *old = (void *)mm;

	if (field_exists(old->rss_stat.count)) {
		rss[0] = READ(old, rss_stat.count[0].counter);
		rss[1] = READ(old, rss_stat.count[1].counter);
		rss[3] = READ(old, rss_stat.count[3].counter);
	} else {
		rss[0] = READ(mm, rss_stat[0].count);
		rss[1] = READ(mm, rss_stat[1].count);
		rss[3] = READ(mm, rss_stat[3].count);
	}
	out[0] = READ(mm, total_vm);
	out[1] = READ(mm, hiwater_rss);
	out[2] = READ(mm, arg_end) - READ(mm, arg_start);
	out[3] = READ(task, min_flt) + READ(task, maj_flt);
	out[4] = type_size(struct mm_struct);
	return 0;
}

SEC("raw_tp/area") int area(u64 *ctx)
{
	struct vm_area_struct *vma = (void *)ctx[0];
	struct vm_area_struct___list *list = (void *)vma;
	struct page *page = (void *)ctx[1];
	struct page___typed *typed = (void *)page;

	out[5] = READ(vma, vm_end) - READ(vma, vm_start);
	out[6] = READ(vma, vm_flags);
	if (field_exists(list->vm_next))
		out[6] += (u64)READ(list, vm_next);
	if (field_exists(typed->flags.f))
		out[7] = READ(typed, flags.f);
	else
		out[7] = READ(page, flags);
	return 0;
}
