//# target: self
// The same circles, with what types_a only declares; a struct of the same name that is another one.
#include "link.h"

enum colour { RED, GREEN = 5 };
struct far {
	struct node *near;
	enum colour colour;
};
union box {
	u64 number;
	struct far *far;
};

struct node {
	struct node *next;
	struct tree *tree;
	struct far *far;
	union box *box;
	enum colour *colour;
	const char *name;
	int (*visit)(struct node *node, struct far *far);
	struct {
		int x, y;
	} at[4];
};

struct tree {
	struct node *root;
	struct node nodes[2];
	volatile unsigned long flags;
};

struct tree tree_b;
union box box_b;

NOINLINE static int local(void)
{
	struct item {
		char c[2];
	} item = { { 1, 2 } };

	USE(&item);
	return item.c[1];
}

SEC("raw_tp/types_b") int types_b(struct tree *tree)
{
	return tree->nodes[1].at[2].y + tree_b.flags + box_b.far->colour + local();
}
