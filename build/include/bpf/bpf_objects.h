/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Objects that a program allocates, and the lists and trees that hold them (Linux 6.2 and later). The names are those of the header
 * bpf_experimental.h in the kernel's own tests. Include vmlinux.h before it, for struct bpf_list_head and so on.
 *
 *     struct item { int key; struct bpf_rb_node node; };
 *     private(tree) struct bpf_spin_lock lock;
 *     private(tree) struct bpf_rb_root root __contains(item, node);
 */
#ifndef CORE_RELO_BPF_OBJECTS_H
#define CORE_RELO_BPF_OBJECTS_H

#include "bpf_core_read.h"

struct bpf_list_head;
struct bpf_list_node;
struct bpf_rb_root;
struct bpf_rb_node;

/* The struct whose member `node` is in the list or tree. */
#define __contains(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))

/*
 * A variable in a section of its own, which is a map of its own: a lock, and what it protects. Programs access the variable only as the
 * verifier permits, and user space not at all.
 */
#ifndef private
#define private(name) SEC(".bss." #name) __hidden __attribute__((aligned(8)))
#endif

/* Kfuncs whose last parameters the kernel fills in. */
extern void *bpf_obj_new_impl(__u64 local_type_id, void *meta) __weak __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __weak __ksym;
extern void *bpf_percpu_obj_new_impl(__u64 local_type_id, void *meta) __weak __ksym;
extern void bpf_percpu_obj_drop_impl(void *object, void *meta) __weak __ksym;
extern void *bpf_refcount_acquire_impl(void *object, void *meta) __weak __ksym;
extern int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta, __u64 offset) __weak __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta, __u64 offset) __weak __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			       _Bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta, __u64 offset) __weak __ksym;

/* Allocates an object of a struct type, or one for each CPU. The result is NULL if there is no memory. */
#define bpf_obj_new(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define bpf_percpu_obj_new(type) ((type __percpu_kptr *)bpf_percpu_obj_new_impl(bpf_core_type_id_local(type), NULL))
/* Frees an object, or gives up a reference. */
#define bpf_obj_drop(object) bpf_obj_drop_impl(object, NULL)
#define bpf_percpu_obj_drop(object) bpf_percpu_obj_drop_impl(object, NULL)
/* A second reference to an object with a member of type bpf_refcount. */
#define bpf_refcount_acquire(object) bpf_refcount_acquire_impl(object, NULL)

/* Lists. The program holds the lock of the head. Pushing gives the object away; popping returns it, or NULL. */
#define bpf_list_push_front(head, node) bpf_list_push_front_impl(head, node, NULL, 0)
#define bpf_list_push_back(head, node) bpf_list_push_back_impl(head, node, NULL, 0)
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __weak __ksym;
extern struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head) __weak __ksym;

/* Trees. The program holds the lock of the root. Adding gives the object away; removing returns it, or NULL. */
#define bpf_rbtree_add(root, node, less) bpf_rbtree_add_impl(root, node, less, NULL, 0)
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __weak __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __weak __ksym;

#endif
