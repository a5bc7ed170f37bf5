//# target: kernels
//# requires: clang>=14
// A security hook for the tasks of a cgroup; `deny` refuses to bind sockets.
#include "live.h"

u32 deny;

SEC("lsm_cgroup/socket_bind") int socket_bind(u64 *ctx)
{
	hits++;
	return deny ? 0 : 1;
}
