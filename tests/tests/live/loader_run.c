/* Executes a loader program with libbpf's runtime for light skeletons: loader_run INSTRUCTIONS DATA MAPS PROGRAMS */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <linux/types.h>
#include <bpf/bpf.h>
#include <bpf/skel_internal.h>

static void *read_file(const char *path, __u32 *size)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "rb");
	void *copy;

	if (!file)
		exit(2);
	*size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	copy = malloc(*size);
	memcpy(copy, bytes, *size);
	return copy;
}

int main(int argc, char **argv)
{
	int map_count = atoi(argv[3]), program_count = atoi(argv[4]), open_count = 0, i;
	__u32 size = sizeof(struct bpf_loader_ctx) + map_count * sizeof(struct bpf_map_desc) +
		     program_count * sizeof(struct bpf_prog_desc);
	struct bpf_loader_ctx *ctx = calloc(1, size);
	struct bpf_map_desc *maps = (void *)(ctx + 1);
	struct bpf_prog_desc *programs = (void *)(maps + map_count);
	struct bpf_load_and_run_opts opts = { .ctx = ctx };

	ctx->sz = size;
	opts.insns = read_file(argv[1], &opts.insns_sz);
	opts.data = read_file(argv[2], &opts.data_sz);
	if (bpf_load_and_run(&opts) < 0) {
		printf("%s: %s\n", opts.errstr, strerror(errno));
		return 1;
	}
	for (i = 0; i < map_count; i++)
		open_count += fcntl(maps[i].map_fd, F_GETFD) >= 0;
	for (i = 0; i < program_count; i++)
		open_count += fcntl(programs[i].prog_fd, F_GETFD) >= 0;
	printf("%d\n", open_count);
	return 0;
}
