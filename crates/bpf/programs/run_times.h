/* How often each program ran on each CPU, and how long, for user space, which maps it.
 *
 * The programs run with preemption disabled and never in an interrupt, so that the elements of a CPU
 * have one writer. */

struct run_time { u64 runs, ns; };
/* The elements of a CPU, one of each program; they fill a cache line. */
#define RUN_TIMES 4

/* The loader sets how many CPUs there are. */
struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[RUN_TIMES];
	u32 *key;
	struct run_time *value;
} run_times SEC(".maps");

/* Adds a run that began at a time of `bpf_ktime_get_ns`. */
INLINE void add_run_time(u32 program, u64 begin_ns)
{
	u32 index = bpf_get_smp_processor_id() * RUN_TIMES + program;
	struct run_time *sum = bpf_map_lookup_elem(&run_times, &index);

	if (sum) {
		sum->runs += 1;
		sum->ns += bpf_ktime_get_ns() - begin_ns;
	}
}
