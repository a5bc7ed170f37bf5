/* A comparison by an operator that the test chooses. */
#include <bpf/bpf_experimental.h>

int result;

SEC("tc") int compare(struct __sk_buff *packet)
{
	unsigned int length = packet->len;

	result = bpf_cmp_likely(length, OPERATOR, 4);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
