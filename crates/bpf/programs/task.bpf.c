/* Every task of the machine in one pass: an iterator that writes a binary record for each.
 *
 * Reading the iterator's file gives, for every thread in the order of their ids, a `struct task`;
 * a thread group leader's is followed by a `struct group` with what the group shares.  The reader
 * sums up the threads of a group.
 *
 * Why not text: /proc makes 1,400 bytes of it for a process and opens three files to do so.
 */
#include "kernel.h"

/* The value of a sum that this kernel does not keep. */
#define NOT_KNOWN (~0ULL)

struct task {
	u64 start_boottime_ns;
	u64 user_ns, system_ns, run_ns, run_delay_ns;
	u64 previous_user_ns, previous_system_ns;
	u64 minor_faults, major_faults;
	u64 voluntary_switches, involuntary_switches;
	u64 read_chars, write_chars, read_calls, write_calls;
	u64 read_bytes, write_bytes, cancelled_write_bytes;
	s32 pid, tgid;
	u32 state, exit_state;
	u32 flags, processor;
	s32 priority, static_priority;
	u32 policy, realtime_priority;
	char command[16];
};

struct group {
	u64 cgroup;
	u64 user_ns, system_ns, run_ns;
	u64 previous_user_ns, previous_system_ns;
	u64 child_user_ns, child_system_ns;
	u64 minor_faults, major_faults, child_minor_faults, child_major_faults;
	u64 voluntary_switches, involuntary_switches;
	u64 read_chars, write_chars, read_calls, write_calls;
	u64 read_bytes, write_bytes, cancelled_write_bytes;
	u64 total_pages, locked_pages, data_pages, executable_pages, stack_pages;
	u64 code_start, code_end;
	s64 file_pages, anonymous_pages, swap_pages, shared_pages;
	u64 peak_resident_pages, exec_id;
	u32 has_memory, uid;
	s32 parent, threads;
};

struct leader {
	struct task task;
	struct group group;
};


INLINE void fill_task(struct task *to, struct task_struct *task)
{
	to->start_boottime_ns = task->start_boottime;
	to->user_ns = task->utime;
	to->system_ns = task->stime;
	to->run_ns = task->se.sum_exec_runtime;
	to->run_delay_ns = NOT_KNOWN;
	if (FIELD_EXISTS(task->sched_info.run_delay))
		to->run_delay_ns = task->sched_info.run_delay;
	to->previous_user_ns = task->prev_cputime.utime;
	to->previous_system_ns = task->prev_cputime.stime;
	to->minor_faults = task->min_flt;
	to->major_faults = task->maj_flt;
	to->voluntary_switches = task->nvcsw;
	to->involuntary_switches = task->nivcsw;
	to->read_chars = task->ioac.rchar;
	to->write_chars = task->ioac.wchar;
	to->read_calls = task->ioac.syscr;
	to->write_calls = task->ioac.syscw;
	to->read_bytes = task->ioac.read_bytes;
	to->write_bytes = task->ioac.write_bytes;
	to->cancelled_write_bytes = task->ioac.cancelled_write_bytes;
	to->pid = task->pid;
	to->tgid = task->tgid;
	if (FIELD_EXISTS(task->__state))
		to->state = task->__state;
	else
		to->state = ((struct task_struct___before_5_14 *)task)->state;
	to->exit_state = task->exit_state;
	to->flags = task->flags;
	if (FIELD_EXISTS(task->thread_info.cpu))
		to->processor = task->thread_info.cpu;
	else
		to->processor = ((struct task_struct___before_5_16 *)task)->cpu;
	to->priority = task->prio;
	to->static_priority = task->static_prio;
	to->policy = task->policy;
	to->realtime_priority = task->rt_priority;
	bpf_probe_read_kernel(to->command, sizeof(to->command), task->comm);
}

INLINE void fill_memory(struct group *to, struct mm_struct *mm)
{
	to->has_memory = mm != NULL;
	if (!mm)
		return;
	to->total_pages = mm->total_vm;
	to->locked_pages = mm->locked_vm;
	to->data_pages = mm->data_vm;
	to->executable_pages = mm->exec_vm;
	to->stack_pages = mm->stack_vm;
	to->code_start = mm->start_code;
	to->code_end = mm->end_code;
	to->peak_resident_pages = mm->hiwater_rss;
	if (FIELD_EXISTS(mm->rss_stat[0].count)) {
		to->file_pages = mm->rss_stat[0].count;
		to->anonymous_pages = mm->rss_stat[1].count;
		to->swap_pages = mm->rss_stat[2].count;
		to->shared_pages = mm->rss_stat[3].count;
	} else {
		/* The verifier of these kernels does not follow the typedef of the array's
		 * elements, so these are copied. */
		struct mm_struct___before_6_2 *old = (void *)mm;

		READ(to->file_pages, old->rss_stat.count[0]);
		READ(to->anonymous_pages, old->rss_stat.count[1]);
		READ(to->swap_pages, old->rss_stat.count[2]);
		READ(to->shared_pages, old->rss_stat.count[3]);
	}
}

INLINE void fill_group(struct group *to, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;

	to->exec_id = 0;
	if (FIELD_EXISTS(task->self_exec_id))
		to->exec_id = task->self_exec_id;
	to->cgroup = task->cgroups->dfl_cgrp->kn->id;
	to->user_ns = signal->utime;
	to->system_ns = signal->stime;
	to->run_ns = signal->sum_sched_runtime;
	to->previous_user_ns = signal->prev_cputime.utime;
	to->previous_system_ns = signal->prev_cputime.stime;
	to->child_user_ns = signal->cutime;
	to->child_system_ns = signal->cstime;
	to->minor_faults = signal->min_flt;
	to->major_faults = signal->maj_flt;
	to->child_minor_faults = signal->cmin_flt;
	to->child_major_faults = signal->cmaj_flt;
	to->voluntary_switches = signal->nvcsw;
	to->involuntary_switches = signal->nivcsw;
	to->read_chars = signal->ioac.rchar;
	to->write_chars = signal->ioac.wchar;
	to->read_calls = signal->ioac.syscr;
	to->write_calls = signal->ioac.syscw;
	to->read_bytes = signal->ioac.read_bytes;
	to->write_bytes = signal->ioac.write_bytes;
	to->cancelled_write_bytes = signal->ioac.cancelled_write_bytes;
	to->uid = task->real_cred->uid.val;
	to->parent = task->real_parent->tgid;
	to->threads = signal->nr_threads;
	fill_memory(to, task->mm);
}

SEC("iter/task")
int tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct leader record = {};

	if (!task)
		return 0;
	fill_task(&record.task, task);
	if (task->pid == task->tgid) {
		fill_group(&record.group, task);
		bpf_seq_write(context->meta->seq, &record, sizeof(record));
	} else {
		bpf_seq_write(context->meta->seq, &record.task, sizeof(record.task));
	}
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
