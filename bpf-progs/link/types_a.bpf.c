//# target: self
// Types that refer to each other in circles, some of them only declared here and defined in types_b.
#include "link.h"

enum colour;
struct far;
union box;

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

struct tree tree_a;
struct far *far_a;

SEC("raw_tp/types_a") int types_a(struct tree *tree)
{
	return tree->nodes[1].at[2].y + (tree_a.root != 0) + (far_a != 0);
}
