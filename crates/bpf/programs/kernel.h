/* The kernel structures that the programs read, with the fields they need.
 *
 * Every structure is partial and has `preserve_access_index`: the loader looks each field up
 * in the running kernel's BTF and puts its true offset into the program (CO-RE), so neither
 * order nor size matters.  What an older kernel had under another name or type is declared too,
 * with a suffix after three underscores, which the loader ignores.
 */
#ifndef WHIT_KERNEL_H
#define WHIT_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
/* A global function: the verifier checks it once for all its callers. */
#define GLOBAL __attribute__((noinline))
#define NULL ((void *)0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head { struct list_head *next; };
struct kuid { u32 val; };
struct cred { struct kuid uid; struct kuid euid; };

struct kernfs_node { u64 id; };
struct cgroup { struct kernfs_node *kn; };
struct css_set { struct cgroup *dfl_cgrp; };

struct task_io_accounting {
	u64 rchar, wchar, syscr, syscw;
	u64 read_bytes, write_bytes, cancelled_write_bytes;
};

struct prev_cputime { u64 utime, stime; };
struct rq { u64 clock, clock_task; };
struct cfs_rq { struct rq *rq; };
struct sched_entity { u64 exec_start, sum_exec_runtime; struct cfs_rq *cfs_rq; };
struct sched_info { u64 run_delay; };
struct percpu_counter { s64 count; };

struct mm_struct {
	unsigned long total_vm, locked_vm, data_vm, exec_vm, stack_vm;
	unsigned long start_code, end_code, arg_start, arg_end, env_start, env_end;
	unsigned long hiwater_rss, hiwater_vm;
	struct percpu_counter rss_stat[4];
};

/* Before 6.2 the counts were in an array of atomic_long_t, which is a structure: a number in its
 * place does not match. */
struct atomic_long { s64 counter; };
struct mm_rss_stat { struct atomic_long count[4]; };
struct mm_struct___before_6_2 { struct mm_rss_stat rss_stat; };

struct atomic { s32 counter; };

struct signal_struct {
	int nr_threads, group_exit_code;
	unsigned int flags;
	struct atomic live;
	struct list_head thread_head;
	u64 utime, stime, cutime, cstime;
	struct prev_cputime prev_cputime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt, cmin_flt, cmaj_flt, maxrss;
	struct task_io_accounting ioac;
	u64 sum_sched_runtime;
	struct pid *pids[4];
};

struct sigset { unsigned long sig[1]; };
struct sigpending { struct sigset signal; };

struct thread_info { u32 cpu, status; };

/* The arguments of a system call: for 64-bit programs in di, si, dx, r10, r8, r9, for 32-bit
 * programs in bx, cx, dx, si, di, bp. */
struct pt_regs { unsigned long r10, r9, r8, bp, bx, cx, dx, si, di, orig_ax, sp; };

struct sigaction { void *sa_handler; };
struct k_sigaction { struct sigaction sa; };

struct upid { int nr; };
struct pid { struct upid numbers[1]; };

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int prio, static_prio;
	unsigned int rt_priority, policy;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_state, exit_code;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct list_head thread_node;
	u64 utime, stime;
	struct prev_cputime prev_cputime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	u64 start_boottime, self_exec_id;
	const struct cred *real_cred;
	char comm[16];
	struct signal_struct *signal;
	struct sigpending pending;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
};

/* Before 5.14. */
struct task_struct___before_5_14 { long state; };

/* Before 5.16, and without CONFIG_THREAD_INFO_IN_TASK, the CPU is elsewhere. */
struct task_struct___before_5_16 { unsigned int cpu; };

struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; };
struct bpf_iter__task { struct bpf_iter_meta *meta; struct task_struct *task; };

struct linux_binprm { const char *filename, *interp; };

#pragma clang attribute pop

/* Kinds of maps and their flags (linux/bpf.h). */
#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_PERCPU_HASH 5
#define MAP_RING 27
#define MAP_TASK_STORAGE 29
#define NEW_ELEMENT 1
#define NO_PREALLOC 1
#define MMAPABLE 1024
#define STORAGE_CREATE 1

/* Helpers, by their fixed numbers (linux/bpf.h). */
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*bpf_seq_write)(struct seq_file *seq, const void *data, u32 size) = (void *)127;
static u64 (*bpf_ktime_get_boot_ns)(void) = (void *)125;
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_ringbuf_output)(void *map, void *data, u64 size, u64 flags) = (void *)130;
static void *(*bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static u64 (*bpf_get_current_task)(void) = (void *)35;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_ancestor_cgroup_id)(int level) = (void *)123;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_probe_read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static u64 (*bpf_ringbuf_query)(void *map, u64 flags) = (void *)134;

#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)

/* Reads one field through a pointer that the verifier does not trust. */
#define READ(to, from) \
	bpf_probe_read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(from)))

/* Makes the compiler use the copy of a number that the verifier has checked, and forget what it
 * knows of it that the verifier may not. */
#define ONE_COPY(number) asm volatile("" : "+r"(number))

/* The checksum of the source, for the test that compares it with the object. */
__attribute__((section("checksum"), used)) static const u32 source_checksum = SOURCE_CHECKSUM;

#endif
