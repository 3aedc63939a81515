/* An event with the resource usage of each process that exits, and one with the command line of
 * each that calls `execve`.
 *
 * Three tracepoints, `sched_process_exec`, `sched_process_exit` and `sched_process_free`,
 * write to one ring buffer.  No program runs while no process starts or exits.  Events that find
 * the ring buffer full are counted in `lost`, by kind.
 *
 * The third is for the CPU time alone.  When a process exits, the scheduler has not yet added
 * what it has used since the latest tick, which is most of the time of a short process, and it
 * still has to free its memory.  The sum is final when the process is freed, some milliseconds
 * after its parent has waited for it.
 *
 * A process exits with its last thread.  Its usage is what the kernel has summed up for
 * released threads, and what the others, this one among them, still hold.
 *
 * Each program that writes an event adds its run time to `run_times`, which user space maps.
 */
#include "kernel.h"
#include "run_times.h"

#define RING_BYTES (1 << 20)
#define ARGUMENTS_BYTES 256
/* Threads that are visited when a process exits; one with more is marked `threads_uncounted`. */
#define THREADS_MAX 512

#define NO_WAKEUP 1
#define FORCE_WAKEUP 2
#define AVAILABLE_DATA 0

enum kind { EXEC = 1, EXIT = 2, SETTLED = 3 };

struct {
	int (*type)[MAP_RING];
	int (*max_entries)[RING_BYTES];
} events SEC(".maps");

struct {
	int (*type)[MAP_ARRAY];
	u32 *key;
	u64 *value;
	int (*max_entries)[4];
} lost SEC(".maps");

struct exec {
	u32 kind;
	s32 pid;
	u64 time_ns, start_boottime_ns;
	/* Length of the command line, of which `arguments` holds the first bytes. */
	u32 arguments_bytes, uid;
	char arguments[ARGUMENTS_BYTES];
};

struct exit {
	u32 kind;
	s32 pid;
	u64 time_ns, start_boottime_ns;
	u64 user_ns, system_ns, run_ns;
	u64 previous_user_ns, previous_system_ns;
	u64 minor_faults, major_faults;
	u64 voluntary_switches, involuntary_switches;
	u64 read_chars, write_chars, read_calls, write_calls;
	u64 read_bytes, write_bytes, cancelled_write_bytes;
	u64 peak_resident_pages, cgroup;
	s32 parent;
	u32 uid, code, threads_uncounted;
	char command[16];
};

struct settled {
	u32 kind;
	s32 pid;
	u64 start_boottime_ns, run_ns;
};

INLINE u64 wakeup(void)
{
	return bpf_ringbuf_query(&events, AVAILABLE_DATA) > RING_BYTES / 2 ? FORCE_WAKEUP : NO_WAKEUP;
}

INLINE void count_lost(u32 kind)
{
	u64 *count = bpf_map_lookup_elem(&lost, &kind);

	if (count)
		__sync_fetch_and_add(count, 1);
}

SEC("tp_btf/sched_process_exec")
int execs(u64 *context)
{
	u64 begin_ns = bpf_ktime_get_ns();
	struct task_struct *task = (void *)context[0];
	struct mm_struct *memory = task->mm;
	struct exec event = { .kind = EXEC };
	u64 start, length, kept = 0;

	event.pid = task->tgid;
	event.time_ns = bpf_ktime_get_boot_ns();
	event.start_boottime_ns = task->group_leader->start_boottime;
	event.uid = task->real_cred->uid.val;
	if (memory) {
		start = memory->arg_start;
		length = memory->arg_end - start;
		kept = length;
		/* Makes the compiler use the copy that it compared: the verifier has checked
		 * only that. */
		asm volatile("" : "+r"(kept));
		if (kept > ARGUMENTS_BYTES)
			kept = ARGUMENTS_BYTES;
		if (bpf_probe_read_user(event.arguments, kept, (void *)start))
			kept = 0;
		event.arguments_bytes = kept ? length : 0;
	}
	if (bpf_ringbuf_output(&events, &event, sizeof(event) - ARGUMENTS_BYTES + kept, wakeup()))
		count_lost(EXEC);
	add_run_time(EXEC, begin_ns);
	return 0;
}

/* Adds what a thread has used. */
INLINE void add_thread(struct exit *to, struct task_struct *thread)
{
	u64 value = 0;

#define ADD(member, field) (READ(value, thread->field), to->member += value)
	ADD(user_ns, utime);
	ADD(system_ns, stime);
	ADD(run_ns, se.sum_exec_runtime);
	ADD(minor_faults, min_flt);
	ADD(major_faults, maj_flt);
	ADD(voluntary_switches, nvcsw);
	ADD(involuntary_switches, nivcsw);
	ADD(read_chars, ioac.rchar);
	ADD(write_chars, ioac.wchar);
	ADD(read_calls, ioac.syscr);
	ADD(write_calls, ioac.syscw);
	ADD(read_bytes, ioac.read_bytes);
	ADD(write_bytes, ioac.write_bytes);
	ADD(cancelled_write_bytes, ioac.cancelled_write_bytes);
#undef ADD
}

/* Adds every thread that the kernel has not yet added to the sums of the thread group. */
INLINE void add_threads(struct exit *to, struct signal_struct *signal)
{
	struct list_head *node = NULL;
	u64 offset = __builtin_preserve_field_info(((struct task_struct *)0)->thread_node, 0);

	READ(node, signal->thread_head.next);
	for (int i = 0; i < THREADS_MAX; i++) {
		if (!node || node == &signal->thread_head)
			return;
		add_thread(to, (void *)node - offset);
		READ(node, node->next);
	}
	to->threads_uncounted = 1;
}

SEC("tp_btf/sched_process_exit")
int exits(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct signal_struct *signal = task->signal;
	struct exit *event;
	u64 begin_ns;

	if (signal->live.counter)
		return 0;
	begin_ns = bpf_ktime_get_ns();
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count_lost(EXIT);
		return 0;
	}
	event->kind = EXIT;
	event->pid = task->tgid;
	event->time_ns = bpf_ktime_get_boot_ns();
	event->start_boottime_ns = task->group_leader->start_boottime;
	event->user_ns = signal->utime;
	event->system_ns = signal->stime;
	event->run_ns = signal->sum_sched_runtime;
	event->previous_user_ns = signal->prev_cputime.utime;
	event->previous_system_ns = signal->prev_cputime.stime;
	event->minor_faults = signal->min_flt;
	event->major_faults = signal->maj_flt;
	event->voluntary_switches = signal->nvcsw;
	event->involuntary_switches = signal->nivcsw;
	event->read_chars = signal->ioac.rchar;
	event->write_chars = signal->ioac.wchar;
	event->read_calls = signal->ioac.syscr;
	event->write_calls = signal->ioac.syscw;
	event->read_bytes = signal->ioac.read_bytes;
	event->write_bytes = signal->ioac.write_bytes;
	event->cancelled_write_bytes = signal->ioac.cancelled_write_bytes;
	event->peak_resident_pages = signal->maxrss;
	event->cgroup = task->cgroups->dfl_cgrp->kn->id;
	event->parent = task->group_leader->real_parent->tgid;
	event->uid = task->real_cred->uid.val;
	event->code = signal->flags & 4 /* SIGNAL_GROUP_EXIT */ ? signal->group_exit_code : task->exit_code;
	event->threads_uncounted = 0;
	bpf_probe_read_kernel(event->command, sizeof(event->command), task->group_leader->comm);
	add_threads(event, signal);
	bpf_ringbuf_submit(event, wakeup());
	add_run_time(EXIT, begin_ns);
	return 0;
}

SEC("tp_btf/sched_process_free")
int frees(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct settled event = { .kind = SETTLED };
	u64 all, begin_ns;

	if (task->pid != task->tgid)
		return 0;
	begin_ns = bpf_ktime_get_ns();
	event.pid = task->tgid;
	event.start_boottime_ns = task->start_boottime;
	/* The parent may have taken the sum while the last thread was still on its CPU. */
	event.run_ns = task->se.sum_exec_runtime;
	all = task->signal->sum_sched_runtime;
	if (all > event.run_ns)
		event.run_ns = all;
	if (bpf_ringbuf_output(&events, &event, sizeof(event), wakeup()))
		count_lost(SETTLED);
	add_run_time(SETTLED, begin_ns);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
