/* Two programs that return at once, at the begin and the end of every system call: what the kernel
 * itself asks of each call for being asked at all.  The floor of every tracer that runs here. */
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
