//# target: kernels
// An opened file's name, inode and owner, from a kprobe: chains of pointers, embedded structs and a union.
#include "helpers.h"

typedef struct {
	u32 val;
} kuid_t;

struct qstr {
	union {
		struct {
			u32 hash;
			u32 len;
		};
		u64 hash_len;
	};
	const unsigned char *name;
} CORE;

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
} CORE;

struct inode {
	u16 i_mode;
	kuid_t i_uid;
	unsigned long i_ino;
	s64 i_size;
	struct super_block *i_sb;
	union {
		unsigned int i_nlink;
		unsigned int __i_nlink;
	};
} CORE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} CORE;

struct path {
	struct dentry *dentry;
} CORE;

struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_flags;
	s64 f_pos;
} CORE;

/* Until 6.12 the reference count was `f_count`, a 64-bit atomic; then `f_ref`. */
struct file___counted {
	struct {
		s64 counter;
	} f_count;
} CORE;

/* `f_mode` became a bitfield-free u32 in a union of its own later. */
struct file___mode {
	u32 f_mode;
} CORE;

struct record {
	u64 ino, size, magic, pos, count;
	u32 uid, dev, flags, mode, links, len;
	char name[32];
	char parent[32];
};

struct {
	MAP_UINT(type, 6);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct record);
} scratch SEC(".maps");

SEC("raw_tp/file") int opened(u64 *ctx)
{
	struct file *file = (void *)ctx[0];
	struct file___counted *counted = (void *)file;
	struct file___mode *mode = (void *)file;
	struct dentry *dentry = READ(file, f_path.dentry);
	struct dentry *parent = READ(dentry, d_parent);
	struct inode *inode = READ(file, f_inode);
	u32 zero = 0;
	struct record *record = map_lookup_elem(&scratch, &zero);

	if (!record)
		return 0;
	record->ino = READ(inode, i_ino);
	record->size = READ(inode, i_size);
	record->uid = READ(inode, i_uid.val);
	record->links = READ(inode, __i_nlink);
	record->magic = READ(READ(inode, i_sb), s_magic);
	record->dev = READ(READ(inode, i_sb), s_dev);
	record->flags = READ(file, f_flags);
	record->pos = READ(file, f_pos);
	record->len = READ(dentry, d_name.len);
	if (field_exists(counted->f_count.counter))
		record->count = READ(counted, f_count.counter);
	if (field_exists(mode->f_mode))
		record->mode = READ(mode, f_mode);
	probe_read_kernel_str(record->name, sizeof(record->name), READ(dentry, d_name.name));
	probe_read_kernel_str(record->parent, sizeof(record->parent), READ(parent, d_name.name));
	return 0;
}
