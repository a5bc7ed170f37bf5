// A use of each macro of bpf_experimental.h.
#include <bpf/bpf_helpers.h>

/* As in vmlinux.h. */
struct bpf_refcount {
	__u32 opaque[1];
} __attribute__((aligned(4)));
struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_rb_root {
	__u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_rb_node {
	__u64 opaque[4];
} __attribute__((aligned(8)));
struct bpf_wq {
	__u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

#include <bpf/bpf_experimental.h>

struct item {
	int key;
	struct bpf_refcount references;
	struct bpf_rb_node in_tree;
	struct bpf_list_node in_list;
};

private(tree) struct bpf_spin_lock lock;
private(tree) struct bpf_rb_root root __contains(item, in_tree);
private(tree) struct bpf_list_head head __contains(item, in_list);

struct element {
	struct bpf_wq work;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, struct element);
} elements SEC(".maps");

__u64 sum;
int limit = 10;

static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct item, in_tree)->key < container_of(b, struct item, in_tree)->key;
}

SEC("tc") int objects(struct __sk_buff *ctx)
{
	struct item *item = bpf_obj_new(struct item), *second;
	struct bpf_rb_node *first;
	struct bpf_list_node *popped;

	if (!item)
		return 0;
	item->key = ctx->len;
	second = bpf_refcount_acquire(item);
	bpf_spin_lock(&lock);
	bpf_rbtree_add(&root, &item->in_tree, less);
	first = bpf_rbtree_first(&root);
	if (first)
		first = bpf_rbtree_remove(&root, first);
	bpf_spin_unlock(&lock);
	if (first)
		bpf_obj_drop(container_of(first, struct item, in_tree));
	if (!second)
		return 0;
	bpf_spin_lock(&lock);
	bpf_list_push_back(&head, &second->in_list);
	popped = bpf_list_pop_front(&head);
	bpf_spin_unlock(&lock);
	if (popped)
		bpf_obj_drop(container_of(popped, struct item, in_list));
	return 0;
}

SEC("tc") int control(struct __sk_buff *ctx)
{
	int i, length = ctx->len;
	__u64 range = ctx->hash;

	for (i = 0; i < limit && can_loop; i++)
		sum += i;
	for (i = 0;; i++) {
		cond_break;
		sum += i;
	}
	while (1) {
		cond_break_label(out);
		if (bpf_cmp_likely(length, >, 100))
			break;
		length++;
	}
out:
	if (bpf_cmp_unlikely(length, ==, -1))
		return 0;
	if (bpf_cmp_likely(range, <, 0x100000000ull) && bpf_cmp_likely(range, !=, 3))
		sum += range;
	/* Older assemblers do not know the instruction. */
#if __clang_major__ >= 20
	if (bpf_cmp_unlikely(range, &, 8))
		sum++;
#endif
	bpf_assert(limit);
	bpf_assert_with(length != 12, 13);
	bpf_assert_range(range, 0, 1000);
	bpf_assert_range_with(range, 1, 999, 14);
	return range;
}

SEC("tc") __exception_cb(callback) int with_callback(struct __sk_buff *ctx)
{
	{
		bpf_guard_preempt();
		sum += ctx->len;
	}
	bpf_throw(ctx->len);
	return 0;
}
int callback(__u64 cookie)
{
	return cookie;
}

static int work(void *map, int *key, void *value)
{
	sum += *key + !map + !value;
	return 0;
}

SEC("syscall") int later(void *ctx)
{
	struct task_struct *task;
	struct element *element;
	int key = 0;

	bpf_rcu_read_lock();
	bpf_for_each(task, task, NULL, 0)
		sum += task->pid;
	bpf_rcu_read_unlock();
	element = bpf_map_lookup_elem(&elements, &key);
	if (element && !bpf_wq_init(&element->work, &elements, 0) && !bpf_wq_set_callback(&element->work, work, 0))
		bpf_wq_start(&element->work, 0);
	return !ctx;
}

char _license[] SEC("license") = "GPL";
