/* Two programs at `sys_enter` and `sys_exit` that return at once: the least that any tracer at
 * these tracepoints costs each system call. */
#include "kernel.h"

SEC("tp_btf/sys_enter")
int enter(u64 *context)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int leave(u64 *context)
{
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
