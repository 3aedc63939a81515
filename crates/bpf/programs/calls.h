/* What the programs at `sys_enter` and `sys_exit` share: which tasks are watched, which of their
 * calls are wanted, and what is stored for a task while it is in a call.
 *
 * The call that a task is in is kept in task storage, which is found without a hash and
 * without a lock (see below for kernels that have none).  A task without storage is not watched.  Storage is created for the tasks that
 * user space names (`seeds`), for their children if `follow` is set, or for every task.
 *
 * A program that has to store more defines `MORE_OF_A_CALL`: the members that it adds to
 * `struct begun`.
 */
#ifndef WHIT_CALLS_H
#define WHIT_CALLS_H

#include "kernel.h"

#define SLOTS_PER_ABI 512
#define SLOTS (2 * SLOTS_PER_ABI)
#define TS_COMPAT 2
#define EXECVE 59
#define PF_EXITING 4
#define ERRNO_MAX 4095

#ifndef MORE_OF_A_CALL
#define MORE_OF_A_CALL
#endif

/* Which tasks and calls are wanted.  This is constant once a program is loaded, so the verifier
 * removes the code of what is off. */
const volatile struct settings {
	u64 slower_than_ns;
	u64 cgroup;
	u64 calls[SLOTS / 64];
	u32 everybody, follow, some_calls, errors_only;
	u32 split, cgroup_level, by_command, by_cgroup;
	s32 own_process;
	u32 seed_threads, from_exec, successes_only, threads_only, measure;
	char command[16];
} settings = {};

/* Whether the calls of a watched task are ignored: ours always, those of a command that is about to
 * be started until its `execve`. */
enum ignored { NOT, ALWAYS, UNTIL_EXEC, UNLESS_EXEC_FAILS };

struct begun {
	u64 start_ns, off_cpu_ns;
	u32 slot, ignored;
	MORE_OF_A_CALL
};

/* Where calls are stored, and how the fields of a task are read.
 *
 * Task storage and a pointer to the current task that the verifier trusts came in 5.11, atomic
 * exchange in 5.12.  For older kernels the programs are compiled with `BEFORE_5_12`: calls are in a
 * hash by the task's address, which no other task has until it is freed; fields are copied; and an
 * exchange is a read and a write.  Two CPUs that exchange at the same time may send an ignored
 * signal or the exit of a task twice; they never lose one. */
#ifndef BEFORE_5_12

struct {
	int (*type)[MAP_TASK_STORAGE];
	int (*map_flags)[NO_PREALLOC];
	int *key;
	struct begun *value;
} tasks SEC(".maps");

#define GET(pointer, field) ((pointer)->field)
#define EXCHANGE(pointer, value) __sync_lock_test_and_set(pointer, value)

INLINE struct task_struct *current_task(void)
{
	return bpf_get_current_task_btf();
}

/* What is stored for a task; NULL if nothing is. */
INLINE struct begun *stored(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, NULL, 0);
}

/* The same, created if nothing is; NULL without memory. */
INLINE struct begun *stored_or_new(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, NULL, STORAGE_CREATE);
}

#else

#define TASKS_MAX 32768

struct {
	int (*type)[MAP_HASH];
	int (*max_entries)[TASKS_MAX];
	u64 *key;
	struct begun *value;
} tasks SEC(".maps");

static const struct begun nothing_stored = {};

#define GET(pointer, field) \
	({ \
		__typeof__(pointer) from_ = (pointer); \
		__typeof__(from_->field) value_ = 0; \
		READ(value_, from_->field); \
		value_; \
	})
#define EXCHANGE(pointer, value) \
	({ \
		__typeof__(*(pointer)) old_ = *(volatile __typeof__(*(pointer)) *)(pointer); \
		*(pointer) = (value); \
		old_; \
	})

INLINE struct task_struct *current_task(void)
{
	return (void *)bpf_get_current_task();
}

INLINE struct begun *stored(struct task_struct *task)
{
	u64 key = (u64)task;

	return bpf_map_lookup_elem(&tasks, &key);
}

INLINE struct begun *stored_or_new(struct task_struct *task)
{
	u64 key = (u64)task;

	bpf_map_update_elem(&tasks, &key, &nothing_stored, NEW_ELEMENT);
	return bpf_map_lookup_elem(&tasks, &key);
}

/* The address of a freed task may become that of a new one. */
SEC("tp_btf/sched_process_free")
int forget(u64 *context)
{
	u64 key = context[0];

	bpf_map_delete_elem(&tasks, &key);
	return 0;
}

#endif

/* Numbers of tasks or processes that `seed` makes watched. */
struct {
	int (*type)[MAP_HASH];
	int (*max_entries)[4096];
	u32 *key;
	u32 *value;
} seeds SEC(".maps");

/* Creates a task's storage; each program defines it.  NULL without memory. */
static struct begun *watch(struct task_struct *task);

/* The storage of the current task, created if every task is watched.  NULL if the task is not
 * watched. */
INLINE struct begun *begun_by(struct task_struct *task)
{
	struct begun *begun = stored(task);

	if (begun || !settings.everybody)
		return begun;
	begun = watch(task);
	if (begun)
		begun->ignored = GET(task, tgid) == settings.own_process ? ALWAYS : NOT;
	return begun;
}

INLINE u32 slot_of(struct task_struct *task, u64 number)
{
	u32 slot = number < SLOTS_PER_ABI - 1 ? number : SLOTS_PER_ABI - 1;

	return GET(task, thread_info.status) & TS_COMPAT ? SLOTS_PER_ABI + slot : slot;
}

/* Whether the current task is one of those that are wanted. */
INLINE int is_wanted_task(struct task_struct *task)
{
	if (settings.by_cgroup &&
	    bpf_get_current_ancestor_cgroup_id(settings.cgroup_level) != settings.cgroup)
		return 0;
	if (settings.by_command) {
		char command[16] = {};

		bpf_probe_read_kernel(command, sizeof(command), task->comm);
		for (int i = 0; i < 16; i++) {
			if (command[i] != settings.command[i])
				return 0;
			if (!settings.command[i])
				break;
		}
	}
	return 1;
}

INLINE int is_wanted(struct task_struct *task, u32 slot)
{
	u32 word = slot / 64;

	/* Before 6.2 the verifier does not know that a slot is less than SLOTS. */
	ONE_COPY(word);
	if (settings.some_calls && !(settings.calls[word % (SLOTS / 64)] >> (slot % 64) & 1))
		return 0;
	return is_wanted_task(task);
}

/* How long the task was not on a CPU, counted from an origin that each task has of its own:
 * `exec_start` and `sum_exec_runtime` grow by the same amount at a tick; but when a task returns
 * to a CPU, only `exec_start` moves, by the time that it was away.  So no tracing of the
 * scheduler is needed.
 *
 * `clock_task` stands still while the hypervisor runs another guest (steal) and, on some
 * kernels, in interrupts.  The difference to `clock` is added, or it would count as time on the
 * CPU.  A kernel without CONFIG_FAIR_GROUP_SCHED has no path to `rq` from here: there this error
 * stays. */
INLINE u64 off_cpu_ns(struct task_struct *task)
{
	u64 away_ns = GET(task, se.exec_start) - GET(task, se.sum_exec_runtime);

	if (FIELD_EXISTS(((struct sched_entity *)0)->cfs_rq)) {
		struct rq *rq = GET(GET(task, se.cfs_rq), rq);

		away_ns += GET(rq, clock) - GET(rq, clock_task);
	}
	return away_ns;
}

/* Whether a task's number, or its process's, is in `seeds`. */
INLINE int is_named(struct task_struct *task)
{
	u32 id = settings.seed_threads ? GET(task, tgid) : GET(task, pid);

	return bpf_map_lookup_elem(&seeds, &id) != NULL;
}

#endif
