/* Counts and times system calls in the kernel.
 *
 * Two tracepoints, `sys_enter` and `sys_exit`.  The counts are in an array with an element for
 * each CPU and system call, which user space maps: reading it takes no system call.
 *
 * A call of a task that is not watched costs two lookups.  User space passes tasks to `seed`;
 * `fork` makes their children watched if `follow` is set.
 *
 * Both tracepoints run with preemption disabled and never in an interrupt, so that the
 * elements of a CPU have one writer.
 *
 * If `measure` is set, the programs time their runs during one jiffy of 64, in `run_times`.
 */
#define MORE_OF_A_CALL \
	/* Whether `ALIVE` counts the task. */ \
	u32 counted, unused;
#include "calls.h"
#include "run_times.h"

#define STEP_BITS 2
#define STEPS (40 << STEP_BITS)

enum split { BY_NOTHING, BY_PROCESS, BY_THREAD, BY_COMMAND, BY_GROUP };

struct stats {
	u64 calls, errors, wall_ns, cpu_ns, shortest_ns, longest_ns;
	/* Calls within which the task exited. */
	u64 cut_off;
	u64 steps[STEPS];
};

/* One for each call and CPU; the loader sets how many CPUs there are. */
struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[SLOTS];
	u32 *key;
	struct stats *value;
} counts SEC(".maps");

/* Not 0 for calls that were counted, so that user space reads only those. */
struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[SLOTS];
	u32 *key;
	u64 *value;
} used SEC(".maps");

struct failure { u32 slot, error; };

struct {
	int (*type)[MAP_PERCPU_HASH];
	int (*max_entries)[16384];
	struct failure *key;
	u64 *value;
} failures SEC(".maps");

struct unit { char command[16]; u32 id, slot; };
struct unit_stats { u64 calls, errors, wall_ns, cpu_ns, shortest_ns, longest_ns; };

/* Used with a split only; the loader sets how many. */
struct {
	int (*type)[MAP_HASH];
	int (*map_flags)[NO_PREALLOC];
	int (*max_entries)[1];
	struct unit *key;
	struct unit_stats *value;
} units SEC(".maps");

enum timed { ENTER, LEAVE };
/* One jiffy of this many is measured: two clock reads would be a third of a run. */
#define JIFFIES_OF_WHICH_ONE 64

/* What could not be counted, and how many watched tasks have not exited. */
enum number { LOST_FAILURES, LOST_UNITS, LOST_TASKS, ALIVE, NUMBERS };

struct {
	int (*type)[MAP_ARRAY];
	int (*max_entries)[NUMBERS];
	u32 *key;
	u64 *value;
} numbers SEC(".maps");

static void add(u32 number, s64 change)
{
	u64 *value = bpf_map_lookup_elem(&numbers, &number);

	if (value)
		__sync_fetch_and_add(value, change);
}

INLINE struct begun *watch(struct task_struct *task)
{
	struct begun *begun = stored_or_new(task);

	if (!begun)
		add(LOST_TASKS, 1);
	else if (!EXCHANGE(&begun->counted, 1))
		add(ALIVE, 1);
	return begun;
}

/* When this run began; 0 if it is not measured. */
INLINE u64 begin_measuring(void)
{
	if (!settings.measure || bpf_jiffies64() & (JIFFIES_OF_WHICH_ONE - 1))
		return 0;
	return bpf_ktime_get_ns();
}

INLINE void end_measuring(u32 program, u64 begin_ns)
{
	if (settings.measure && begin_ns)
		add_run_time(program, begin_ns);
}

SEC("tp_btf/sys_enter")
int enter(u64 *context)
{
	u64 begin_ns = begin_measuring();
	struct task_struct *task = current_task();
	struct begun *begun = begun_by(task);
	u32 slot;

	if (!begun)
		return 0;
	slot = slot_of(task, context[1]);
	if (begun->ignored) {
		if (begun->ignored == ALWAYS || slot != EXECVE)
			return 0;
		begun->ignored = NOT;
	}
	if (!is_wanted(task, slot))
		return 0;
	begun->slot = slot;
	begun->off_cpu_ns = off_cpu_ns(task);
	end_measuring(ENTER, begin_ns);
	begun->start_ns = bpf_ktime_get_ns();
	return 0;
}

INLINE u32 step_of(u64 time)
{
	u32 octave = 0, step;
	u64 rest = time;

	if (time < 1 << STEP_BITS)
		return time;
	if (rest >> 32)
		rest >>= 32, octave += 32;
	if (rest >> 16)
		rest >>= 16, octave += 16;
	if (rest >> 8)
		rest >>= 8, octave += 8;
	if (rest >> 4)
		rest >>= 4, octave += 4;
	if (rest >> 2)
		rest >>= 2, octave += 2;
	if (rest >> 1)
		octave += 1;
	step = ((octave - STEP_BITS + 1) << STEP_BITS) +
	       ((time >> (octave - STEP_BITS)) & ((1 << STEP_BITS) - 1));
	return step < STEPS ? step : STEPS - 1;
}

INLINE void count_failure(u32 slot, s64 result)
{
	struct failure failure = { .slot = slot, .error = -result };
	u64 *count = bpf_map_lookup_elem(&failures, &failure), one = 1;

	if (count)
		*count += 1;
	else if (bpf_map_update_elem(&failures, &failure, &one, 0))
		add(LOST_FAILURES, 1);
}

INLINE u32 unit_id(struct task_struct *task)
{
	switch (settings.split) {
	case BY_PROCESS:
		return GET(task, tgid);
	case BY_THREAD:
		return GET(task, pid);
	case BY_GROUP:
		return GET(GET(GET(task, signal), pids[2 /* PIDTYPE_PGID */]), numbers[0].nr);
	}
	return 0;
}

INLINE void count_unit(struct task_struct *task, u32 slot, int failed, u64 wall_ns, u64 cpu_ns)
{
	struct unit unit = { .id = unit_id(task), .slot = slot };
	struct unit_stats *stats, none = { .shortest_ns = ~0ULL };

	if (settings.split == BY_PROCESS)
		bpf_probe_read_kernel(unit.command, sizeof(unit.command), GET(task, group_leader)->comm);
	else if (settings.split != BY_GROUP)
		bpf_probe_read_kernel(unit.command, sizeof(unit.command), task->comm);
	stats = bpf_map_lookup_elem(&units, &unit);
	if (!stats) {
		bpf_map_update_elem(&units, &unit, &none, 1 /* BPF_NOEXIST */);
		stats = bpf_map_lookup_elem(&units, &unit);
		if (!stats) {
			add(LOST_UNITS, 1);
			return;
		}
	}
	__sync_fetch_and_add(&stats->calls, 1);
	if (failed)
		__sync_fetch_and_add(&stats->errors, 1);
	__sync_fetch_and_add(&stats->wall_ns, wall_ns);
	__sync_fetch_and_add(&stats->cpu_ns, cpu_ns);
	/* Two threads may race here; then the extreme of one of them is lost. */
	if (wall_ns < stats->shortest_ns)
		stats->shortest_ns = wall_ns;
	if (wall_ns > stats->longest_ns)
		stats->longest_ns = wall_ns;
}

INLINE struct stats *place(u32 slot)
{
	u32 index = bpf_get_smp_processor_id() * SLOTS + slot;

	return bpf_map_lookup_elem(&counts, &index);
}

INLINE void mark_used(u32 slot)
{
	u64 *mark = bpf_map_lookup_elem(&used, &slot);

	if (mark)
		*mark = 1;
}

SEC("tp_btf/sys_exit")
int leave(u64 *context)
{
	u64 begin_ns = begin_measuring();
	struct task_struct *task = current_task();
	struct begun *begun = stored(task);
	u64 wall_ns, away_ns, cpu_ns;
	s64 result = context[1];
	struct stats *stats;
	int failed;
	u32 step;

	if (!begun || !begun->start_ns)
		return 0;
	wall_ns = bpf_ktime_get_ns() - begun->start_ns;
	begun->start_ns = 0;
	away_ns = off_cpu_ns(task) - begun->off_cpu_ns;
	failed = result < 0 && result >= -ERRNO_MAX;
	if (failed ? settings.successes_only : settings.errors_only)
		return 0;
	if (wall_ns < settings.slower_than_ns)
		return 0;
	cpu_ns = away_ns < wall_ns ? wall_ns - away_ns : 0;
	stats = place(begun->slot);
	if (!stats)
		return 0;
	if (!stats->calls)
		mark_used(begun->slot);
	if (!stats->calls || wall_ns < stats->shortest_ns)
		stats->shortest_ns = wall_ns;
	if (wall_ns > stats->longest_ns)
		stats->longest_ns = wall_ns;
	stats->calls += 1;
	stats->wall_ns += wall_ns;
	stats->cpu_ns += cpu_ns;
	step = step_of(wall_ns);
	if (step < STEPS)
		stats->steps[step] += 1;
	if (failed) {
		stats->errors += 1;
		count_failure(begun->slot, result);
	}
	if (settings.split)
		count_unit(task, begun->slot, failed, wall_ns, cpu_ns);
	end_measuring(LEAVE, begin_ns);
	return 0;
}

/* A child is watched if its parent is.  It has not run yet. */
SEC("tp_btf/sched_process_fork")
int fork(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];

	if (stored(parent))
		watch(child);
	return 0;
}

/* A watched task exits: the call that it is in is cut off. */
SEC("tp_btf/sched_process_exit")
int end(u64 *context)
{
	struct task_struct *task = current_task();
	struct begun *begun = stored(task);
	struct stats *stats;

	if (!begun)
		return 0;
	if (EXCHANGE(&begun->counted, 0))
		add(ALIVE, -1);
	if (!begun->start_ns)
		return 0;
	begun->start_ns = 0;
	stats = place(begun->slot);
	if (stats)
		stats->cut_off += 1;
	return 0;
}

/* Makes the tasks watched whose numbers, or whose processes' numbers, are in `seeds`; writes the
 * number of each. */
SEC("iter/task")
int seed(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct begun *begun;
	u32 id;

	if (!task)
		return 0;
	if (is_named(task)) {
		begun = watch(task);
		if (!begun)
			return 0;
		begun->ignored = settings.from_exec ? UNTIL_EXEC : NOT;
		/* `end` may have run for it meanwhile. */
		if (GET(task, flags) & PF_EXITING && EXCHANGE(&begun->counted, 0))
			add(ALIVE, -1);
		id = GET(task, pid);
		bpf_seq_write(context->meta->seq, &id, sizeof(id));
	}
	return 0;
}

/* Writes the slot of the call that each task is in. */
SEC("iter/task")
int pending(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct begun *begun;

	if (!task)
		return 0;
	begun = stored(task);
	if (begun && begun->start_ns)
		bpf_seq_write(context->meta->seq, &begun->slot, sizeof(begun->slot));
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
