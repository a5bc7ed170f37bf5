// Loads every program of BPF objects by itself with libbpf, and prints one JSON line for each: the peer of
// `core-relo load --each --format json`. docs/comparison.md has the commands.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last[512];

static int keep(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[512];
	if (level > LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof line, format, args);
	if (!strstr(line, "failed to load object"))
		memcpy(last, line, sizeof last);
	return 0;
}

static void quote(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = *text;
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 32 || c > 126)
			putchar(' ');
		else
			putchar(c);
	}
	putchar('"');
}

static void line(const char *object, const char *program, int err, const struct bpf_prog_info *info)
{
	printf("{\"object\":"); quote(object);
	printf(",\"program\":");
	if (program) quote(program); else printf("null");
	printf(",\"status\":\"%s\",\"errno\":%d", err ? "refused" : "loaded", -err);
	if (info) {
		printf(",\"tag\":\"");
		for (int i = 0; i < 8; i++) printf("%02x", info->tag[i]);
		printf("\",\"xlated\":%u", info->xlated_prog_len);
	} else if (err) {
		printf(",\"text\":"); quote(last);
	}
	printf("}\n"); fflush(stdout);
}

int main(int argc, char **argv)
{
	libbpf_set_print(keep);
	for (int i = 1; i < argc; i++) {
		struct bpf_object *first = bpf_object__open_file(argv[i], NULL);
		if (!first) { line(argv[i], NULL, -errno, NULL); continue; }
		struct bpf_program *p, *q;
		int count = 0;
		bpf_object__for_each_program(p, first) {
			struct bpf_object *object = bpf_object__open_file(argv[i], NULL);
			struct bpf_program *chosen = NULL;
			int at = 0, err;
			bpf_object__for_each_program(q, object) {
				bpf_program__set_autoload(q, at == count);
				if (at++ == count) chosen = q;
			}
			struct bpf_map *m;
			// Maps are not pinned, so that the loads of a run do not share them.
			bpf_object__for_each_map(m, object) bpf_map__set_pin_path(m, NULL);
			*last = 0;
			err = bpf_object__load(object);
			struct bpf_prog_info info = {};
			unsigned len = sizeof info;
			if (!err && bpf_obj_get_info_by_fd(bpf_program__fd(chosen), &info, &len)) err = -errno;
			line(argv[i], bpf_program__name(p), err, err ? NULL : &info);
			bpf_object__close(object);
			count++;
		}
		bpf_object__close(first);
	}
	return 0;
}
