// kernel: 5.10
// kconfig: CONFIG_HZ=250
#include "libbpf.h"

extern int CONFIG_CORE_RELO_NO_SUCH_OPTION __kconfig;
extern char CONFIG_CORE_RELO_NO_SUCH_TEXT[16] __kconfig;
/* DECLARATIONS */

SEC("raw_tp/sys_enter") int prog(void *ctx)
{
	result = CONFIG_CORE_RELO_NO_SUCH_OPTION + CONFIG_CORE_RELO_NO_SUCH_TEXT[1];
	return 0;
}
