/* The counters of every CPU, copied into an array that user space has mapped: what the kernel sums
 * up and prints for /proc/stat, without the sums and without the text.
 *
 * `cpus` is run by BPF_PROG_TEST_RUN, which attaches it to nothing; its argument is the first CPU
 * of the chunk that it copies.
 *
 * The addresses of the counters come from /proc/kallsyms.  Typed variables (__ksym) would need the
 * same list, in which the verifier looks them up, and per-CPU variables in BTF, which Debian 11's
 * kernel does not have.
 */
#include "kernel.h"

/* CPUs of a run, which is not preempted. */
#define CHUNK 256

struct bpf_raw_tracepoint_args { u64 args[1]; };

/* Addresses; 0 for what this kernel does not have.  Those of per-CPU variables are relative to
 * `__per_cpu_offset[cpu]`. */
const volatile struct settings {
	u64 kernel_cpustat, kstat, irq_stat, tick_cpu_sched, runqueues;
	u64 per_cpu_offset, total_forks;
	u64 irq_err_count, mce_exception_count, mce_poll_count;
	u64 node_data, hstates, default_hstate_idx;
	u64 cpus;
} settings = {};

enum { TIMES = 10, SOFTIRQS = 10, VECTORS = 21 };

struct cpu {
	u64 offset;
	u64 times_ns[TIMES];
	u64 idle_sleep_ns, iowait_sleep_ns;
	u64 context_switches, interrupts_numbered;
	u32 softirqs[SOFTIRQS];
	u32 running;
	s32 blocked;
	u32 online;
	u32 vectors[VECTORS];
};

struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[1];
	u32 *key;
	struct cpu *value;
} cpu_values SEC(".maps");

struct machine { u64 forks, errors; };

struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[1];
	u32 *key;
	struct machine *value;
} machine_values SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tick_sched {
	unsigned long flags;
	s64 idle_entrytime, idle_sleeptime, iowait_sleeptime;
};
struct tick_sched___before_6_9 { unsigned int idle_active : 1; };

struct rq___counters {
	unsigned int nr_running;
	u64 nr_switches;
	struct atomic nr_iowait;
	int online;
};

typedef struct {
	unsigned int __nmi_count, apic_timer_irqs, irq_spurious_count, apic_perf_irqs;
	unsigned int apic_irq_work_irqs, icr_read_retry_count, x86_platform_ipis;
	unsigned int irq_resched_count, irq_call_count, irq_thermal_count, irq_threshold_count;
	unsigned int irq_hv_callback_count, irq_hv_reenlightenment_count, hyperv_stimer0_count;
	unsigned int irq_tlb_count, irq_deferred_error_count, kvm_posted_intr_ipis;
	unsigned int kvm_posted_intr_wakeup_ipis, kvm_posted_intr_nested_ipis;
} irq_cpustat_t;

#pragma clang attribute pop

/* TS_FLAG_IDLE_ACTIVE of kernel/time/tick-sched.h. */
#define IDLE_ACTIVE 4

/* Where a field is in its structure: a constant, once the program is loaded. */
#define OFFSET(field) __builtin_preserve_field_info(field, 0)

/* The first bytes of a structure.  A call of bpf_probe_read_kernel costs more than the bytes, so
 * structures are copied whole and taken apart on the stack. */
#define COPY_WORDS 29
struct copy { u64 words[COPY_WORDS]; };

#define COPY(to, words, from) bpf_probe_read_kernel(to, 8 * (words), (void *)(from))
#define TAKE(type, copy, at) (*(type *)((void *)(copy) + (at)))

struct sleep { s64 begin, idle, iowait; u64 active; };

/* Takes the sleep of a CPU that is idle out of a copy; 0 if the structure is too long. */
INLINE int take_sleep(struct sleep *to, const struct copy *copy)
{
	const struct tick_sched *tick = NULL;
	const struct tick_sched___before_6_9 *old = NULL;
	u64 begin = OFFSET(tick->idle_entrytime), idle = OFFSET(tick->idle_sleeptime);
	u64 iowait = OFFSET(tick->iowait_sleeptime), last = sizeof(*copy) - 8;

	if (begin > last || idle > last || iowait > last)
		return 0;
	to->begin = TAKE(s64, copy, begin);
	to->idle = TAKE(s64, copy, idle);
	to->iowait = TAKE(s64, copy, iowait);
	if (FIELD_EXISTS(tick->flags)) {
		u64 flags = OFFSET(tick->flags);

		if (flags > last)
			return 0;
		to->active = TAKE(u64, copy, flags) & IDLE_ACTIVE;
	} else {
		u64 word = OFFSET(old->idle_active);

		if (word > last)
			return 0;
		to->active = (u64)TAKE(u32, copy, word)
			<< __builtin_preserve_field_info(old->idle_active, 4)
			>> __builtin_preserve_field_info(old->idle_active, 5);
	}
	return 1;
}

/* As get_cpu_idle_time_us() and get_cpu_iowait_time_us() of kernel/time/tick-sched.c: the sleeps
 * that ended, and the one that goes on.  A CPU that wakes meanwhile changes more than one field:
 * they are read until they stay the same. */
INLINE void fill_sleep(struct cpu *to, u64 tick)
{
	struct sleep sleep = {}, again = {};
	struct copy copy = {};
	u64 since = 0;

	COPY(&copy, COPY_WORDS, tick);
	if (!take_sleep(&sleep, &copy))
		return;
	for (int attempt = 0; attempt < 3; attempt++) {
		u64 now = bpf_ktime_get_ns();

		since = (s64)now > sleep.begin && sleep.active ? now - sleep.begin : 0;
		COPY(&copy, COPY_WORDS, tick);
		take_sleep(&again, &copy);
		if (again.begin == sleep.begin && again.active == sleep.active)
			break;
		sleep = again;
		since = 0;
	}
	to->idle_sleep_ns = sleep.idle + (to->blocked > 0 ? 0 : since);
	to->iowait_sleep_ns = sleep.iowait + (to->blocked > 0 ? since : 0);
}

#define VECTOR_WORDS 16
#define VECTOR(number, field) do { \
	if (FIELD_EXISTS(stat->field) && OFFSET(stat->field) <= 8 * VECTOR_WORDS - 4) \
		to->vectors[number] = TAKE(u32, &copy, OFFSET(stat->field)); \
} while (0)

INLINE void fill_vectors(struct cpu *to, u64 from)
{
	const irq_cpustat_t *stat = NULL;
	struct { u64 words[VECTOR_WORDS]; } copy;

	COPY(&copy, VECTOR_WORDS, from);
	VECTOR(0, __nmi_count);
	VECTOR(1, apic_timer_irqs);
	VECTOR(2, irq_spurious_count);
	VECTOR(3, apic_perf_irqs);
	VECTOR(4, apic_irq_work_irqs);
	VECTOR(5, icr_read_retry_count);
	VECTOR(6, x86_platform_ipis);
	VECTOR(7, irq_resched_count);
	VECTOR(8, irq_call_count);
	VECTOR(9, irq_thermal_count);
	VECTOR(10, irq_threshold_count);
	VECTOR(11, irq_hv_callback_count);
	VECTOR(12, irq_hv_reenlightenment_count);
	VECTOR(13, hyperv_stimer0_count);
	VECTOR(16, irq_tlb_count);
	VECTOR(17, irq_deferred_error_count);
	VECTOR(18, kvm_posted_intr_ipis);
	VECTOR(19, kvm_posted_intr_wakeup_ipis);
	VECTOR(20, kvm_posted_intr_nested_ipis);
}

/* The beginning of a run queue, and what follows its count of tasks that wait for I/O. */
#define QUEUE_WORDS 24

INLINE void fill_queue(struct cpu *to, u64 from)
{
	const struct rq___counters *rq = NULL;
	struct { u64 words[QUEUE_WORDS]; } copy;
	u64 last = sizeof(copy) - 8, running = OFFSET(rq->nr_running);
	u64 switches = OFFSET(rq->nr_switches), blocked = OFFSET(rq->nr_iowait.counter);
	u64 online = OFFSET(rq->online);

	COPY(&copy, QUEUE_WORDS, from);
	if (running <= last && switches <= last) {
		to->running = TAKE(u32, &copy, running);
		to->context_switches = TAKE(u64, &copy, switches);
	} else {
		bpf_probe_read_kernel(&to->running, 4, (void *)(from + running));
		COPY(&to->context_switches, 1, from + switches);
	}
	COPY(&copy, QUEUE_WORDS, from + blocked);
	to->blocked = TAKE(s32, &copy, 0);
	if (online >= blocked && online - blocked <= last)
		to->online = TAKE(u32, &copy, online - blocked);
	else
		bpf_probe_read_kernel(&to->online, 4, (void *)(from + online));
}

/* Copies the counters of a CPU. */
GLOBAL int fill_cpu(u32 cpu)
{
	struct cpu *to = bpf_map_lookup_elem(&cpu_values, &cpu);
	u64 offset;

	if (!to)
		return 0;
	COPY(&to->offset, 1, settings.per_cpu_offset + sizeof(offset) * (u64)cpu);
	offset = to->offset;
	COPY(&to->times_ns, TIMES, settings.kernel_cpustat + offset);
	/* `struct kernel_stat` of linux/kernel_stat.h has had these two members since 2.6.34. */
	COPY(&to->interrupts_numbered, 1 + SOFTIRQS / 2, settings.kstat + offset);
	fill_queue(to, settings.runqueues + offset);
	fill_sleep(to, settings.tick_cpu_sched + offset);
	fill_vectors(to, settings.irq_stat + offset);
	if (settings.mce_exception_count)
		bpf_probe_read_kernel(&to->vectors[14], 4, (void *)(settings.mce_exception_count + offset));
	if (settings.mce_poll_count)
		bpf_probe_read_kernel(&to->vectors[15], 4, (void *)(settings.mce_poll_count + offset));
	return 0;
}

SEC("raw_tp")
int cpus(struct bpf_raw_tracepoint_args *context)
{
	u64 first = context->args[0];
	u32 zero = 0;

	for (u32 at = 0; at < CHUNK; at++) {
		u64 cpu = first + at;

		if (cpu >= settings.cpus)
			break;
		fill_cpu(cpu);
	}
	if (!first) {
		struct machine *machine = bpf_map_lookup_elem(&machine_values, &zero);

		if (machine) {
			bpf_probe_read_kernel(&machine->forks, 8, (void *)settings.total_forks);
			bpf_probe_read_kernel(&machine->errors, 4, (void *)settings.irq_err_count);
		}
	}
	return 0;
}

/* Memory of the NUMA nodes. */

#define NODES_OF_A_RUN 16
#define ZONES_MAX 8

/* In the order of the fields of the source: pages, except the stacks (KiB). */
enum {
	TOTAL, FREE, SWAP_CACHED, ACTIVE_ANON, INACTIVE_ANON, ACTIVE_FILE, INACTIVE_FILE, UNEVICTABLE,
	LOCKED, DIRTY, WRITEBACK, FILE_PAGES, MAPPED, ANONYMOUS, SHARED, STACKS_KIB, PAGE_TABLES,
	MISC_RECLAIMABLE, SLAB_RECLAIMABLE, SLAB_UNRECLAIMABLE, ANONYMOUS_HUGE, SHARED_HUGE, FILE_HUGE,
	HUGE_TOTAL, HUGE_FREE, HUGE_SURPLUS, VALUES,
};
enum { EVENTS = 6, ITEMS_MAX = 64, ZONE_ITEMS = 12 };

struct node {
	s64 values[VALUES];
	s64 events[EVENTS];
	s64 items[ITEMS_MAX];
};

struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[1];
	u32 *key;
	struct node *value;
} node_values SEC(".maps");

/* The loader looks up the numbers. */
enum node_stat_item {
	NR_INACTIVE_ANON, NR_ACTIVE_ANON, NR_INACTIVE_FILE, NR_ACTIVE_FILE, NR_UNEVICTABLE,
	NR_SLAB_RECLAIMABLE_B, NR_SLAB_UNRECLAIMABLE_B, NR_ANON_MAPPED, NR_FILE_MAPPED, NR_FILE_PAGES,
	NR_FILE_DIRTY, NR_WRITEBACK, NR_SHMEM, NR_SHMEM_THPS, NR_FILE_THPS, NR_ANON_THPS,
	NR_KERNEL_MISC_RECLAIMABLE, NR_KERNEL_STACK_KB, NR_PAGETABLE, NR_SWAPCACHE,
};
enum zone_stat_item { NR_FREE_PAGES, NR_MLOCK };
/* Before 5.11 page tables were counted by zone. */
enum zone_stat_item___before_5_11 { NR_PAGETABLE___before_5_11 };

#define ITEM_EXISTS(type, item) __builtin_preserve_enum_value(*(typeof(enum type) *)item, 0)
#define ITEM(type, item) __builtin_preserve_enum_value(*(typeof(enum type) *)item, 1)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct zone {
	struct atomic_long managed_pages;
	struct atomic_long vm_stat[1], vm_numa_event[1];
	void *per_cpu_zonestats;
};
struct zone___before_5_14 { void *pageset; struct atomic_long vm_numa_stat[1]; };
struct per_cpu_zonestat { unsigned long vm_numa_event[1]; };
struct per_cpu_pageset { unsigned short vm_numa_stat_diff[1]; };

struct pglist_data { struct zone node_zones[1]; struct atomic_long vm_stat[1]; };

struct hstate {
	unsigned int nr_huge_pages_node[1], free_huge_pages_node[1], surplus_huge_pages_node[1];
};

#pragma clang attribute pop

/* Adds the events of each CPU in a zone, which the kernel adds to the zone's now and then. */
GLOBAL int add_events(u64 of_cpus, u32 node)
{
	struct node *to = bpf_map_lookup_elem(&node_values, &node);
	const struct per_cpu_zonestat *stat = NULL;
	const struct per_cpu_pageset *old = NULL;

	if (!to)
		return 0;
	for (u32 number = 0; number < settings.cpus; number++) {
		u32 cpu = number;
		const struct cpu *of = bpf_map_lookup_elem(&cpu_values, &cpu);

		if (!of)
			break;
		if (FIELD_EXISTS(stat->vm_numa_event)) {
			u64 events[EVENTS];

			COPY(events, EVENTS, of_cpus + of->offset + OFFSET(stat->vm_numa_event));
			for (int at = 0; at < EVENTS; at++)
				to->events[at] += events[at];
		} else {
			unsigned short events[EVENTS];

			bpf_probe_read_kernel(events, sizeof(events),
				(void *)(of_cpus + of->offset + OFFSET(old->vm_numa_stat_diff)));
			for (int at = 0; at < EVENTS; at++)
				to->events[at] += events[at];
		}
	}
	return 0;
}

INLINE s64 positive(s64 pages) { return pages < 0 ? 0 : pages; }

/* Adds a zone to the values of its node. */
GLOBAL int add_zone(u64 from, u32 node)
{
	struct node *to = bpf_map_lookup_elem(&node_values, &node);
	const struct zone *zone = NULL;
	const struct zone___before_5_14 *old = NULL;
	s64 items[ZONE_ITEMS], events[EVENTS];
	u64 managed = 0, of_cpus = 0, free = 8 * ITEM(zone_stat_item, NR_FREE_PAGES);
	u64 locked = 8 * ITEM(zone_stat_item, NR_MLOCK);

	COPY(&managed, 1, from + OFFSET(zone->managed_pages));
	if (!to || !managed)
		return 0;
	to->values[TOTAL] += managed;
	COPY(items, ZONE_ITEMS, from + OFFSET(zone->vm_stat));
	if (free < sizeof(items))
		to->values[FREE] += positive(TAKE(s64, items, free));
	if (locked < sizeof(items))
		to->values[LOCKED] += positive(TAKE(s64, items, locked));
	if (!ITEM_EXISTS(node_stat_item, NR_PAGETABLE)) {
		u64 tables = 8 * ITEM(zone_stat_item___before_5_11, NR_PAGETABLE___before_5_11);

		if (tables < sizeof(items))
			to->values[PAGE_TABLES] += positive(TAKE(s64, items, tables));
	}
	if (FIELD_EXISTS(zone->per_cpu_zonestats)) {
		COPY(events, EVENTS, from + OFFSET(zone->vm_numa_event));
		COPY(&of_cpus, 1, from + OFFSET(zone->per_cpu_zonestats));
	} else {
		COPY(events, EVENTS, from + OFFSET(old->vm_numa_stat));
		COPY(&of_cpus, 1, from + OFFSET(old->pageset));
	}
	for (int at = 0; at < EVENTS; at++)
		to->events[at] += events[at];
	add_events(of_cpus, node);
	return 0;
}

/* -1 for what this kernel does not count. */
#define VALUE(number, item) do { \
	to->values[number] = -1; \
	if (ITEM_EXISTS(node_stat_item, item) && ITEM(node_stat_item, item) < ITEMS_MAX) \
		to->values[number] = positive(TAKE(s64, &to->items, 8 * ITEM(node_stat_item, item))); \
} while (0)

/* Of THP, Linux before 5.12 counts not the pages but the huge pages. */
#define HUGE_VALUE(number, item) do { \
	VALUE(number, item); \
	if (!ITEM_EXISTS(node_stat_item, NR_SWAPCACHE)) \
		to->values[number] *= 512; \
} while (0)

/* Copies the values of the node's zones and its own. */
GLOBAL int fill_node(u32 node)
{
	struct node *to = bpf_map_lookup_elem(&node_values, &node);
	const struct pglist_data *data = NULL;
	u64 from = 0, size = __builtin_preserve_field_info(data->vm_stat, 1);

	if (!to)
		return 0;
	COPY(&from, 1, settings.node_data + sizeof(from) * (u64)node);
	to->values[TOTAL] = 0;
	to->values[FREE] = 0;
	to->values[LOCKED] = 0;
	to->values[PAGE_TABLES] = 0;
	for (int at = 0; at < EVENTS; at++)
		to->events[at] = 0;
	if (!from)
		return 0;
	for (int at = 0; at < ZONES_MAX; at++) {
		u64 zone_size = __builtin_preserve_type_info(*(struct zone *)0, 1);

		if (at * zone_size < __builtin_preserve_field_info(data->node_zones, 1))
			add_zone(from + OFFSET(data->node_zones) + at * zone_size, node);
	}
	if (size > sizeof(to->items))
		size = sizeof(to->items);
	bpf_probe_read_kernel(to->items, size, (void *)(from + OFFSET(data->vm_stat)));
	VALUE(SWAP_CACHED, NR_SWAPCACHE);
	VALUE(ACTIVE_ANON, NR_ACTIVE_ANON);
	VALUE(INACTIVE_ANON, NR_INACTIVE_ANON);
	VALUE(ACTIVE_FILE, NR_ACTIVE_FILE);
	VALUE(INACTIVE_FILE, NR_INACTIVE_FILE);
	VALUE(UNEVICTABLE, NR_UNEVICTABLE);
	VALUE(DIRTY, NR_FILE_DIRTY);
	VALUE(WRITEBACK, NR_WRITEBACK);
	VALUE(FILE_PAGES, NR_FILE_PAGES);
	VALUE(MAPPED, NR_FILE_MAPPED);
	VALUE(ANONYMOUS, NR_ANON_MAPPED);
	VALUE(SHARED, NR_SHMEM);
	VALUE(STACKS_KIB, NR_KERNEL_STACK_KB);
	if (ITEM_EXISTS(node_stat_item, NR_PAGETABLE))
		VALUE(PAGE_TABLES, NR_PAGETABLE);
	VALUE(MISC_RECLAIMABLE, NR_KERNEL_MISC_RECLAIMABLE);
	VALUE(SLAB_RECLAIMABLE, NR_SLAB_RECLAIMABLE_B);
	VALUE(SLAB_UNRECLAIMABLE, NR_SLAB_UNRECLAIMABLE_B);
	HUGE_VALUE(ANONYMOUS_HUGE, NR_ANON_THPS);
	HUGE_VALUE(SHARED_HUGE, NR_SHMEM_THPS);
	HUGE_VALUE(FILE_HUGE, NR_FILE_THPS);
	if (settings.hstates && settings.default_hstate_idx) {
		const struct hstate *state = NULL;
		u32 index = 0;
		u64 pool;

		to->values[HUGE_TOTAL] = to->values[HUGE_FREE] = to->values[HUGE_SURPLUS] = 0;
		bpf_probe_read_kernel(&index, sizeof(index), (void *)settings.default_hstate_idx);
		pool = settings.hstates + 4 * (u64)node
			+ index * (u64)__builtin_preserve_type_info(*(struct hstate *)0, 1);
		bpf_probe_read_kernel(&to->values[HUGE_TOTAL], 4,
			(void *)(pool + OFFSET(state->nr_huge_pages_node)));
		bpf_probe_read_kernel(&to->values[HUGE_FREE], 4,
			(void *)(pool + OFFSET(state->free_huge_pages_node)));
		bpf_probe_read_kernel(&to->values[HUGE_SURPLUS], 4,
			(void *)(pool + OFFSET(state->surplus_huge_pages_node)));
	} else {
		to->values[HUGE_TOTAL] = to->values[HUGE_FREE] = to->values[HUGE_SURPLUS] = -1;
	}
	return 0;
}

/* Run after `cpus`, which finds the memory of each CPU; its argument is the first node of a run. */
SEC("raw_tp")
int nodes(struct bpf_raw_tracepoint_args *context)
{
	u64 first = context->args[0];

	for (u32 at = 0; at < NODES_OF_A_RUN; at++)
		fill_node(first + at);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
