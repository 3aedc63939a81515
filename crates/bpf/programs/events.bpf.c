/* System calls told one by one: begin, end, and what the task's pointers point to; signals, new
 * tasks, ends.
 *
 * Everything goes through one ring, in the order in which room was taken in it, which for each task
 * is the order in which it happened.  What finds the ring full is counted.  The reader comes by
 * itself every some milliseconds, and is woken only when a quarter of the ring is in use: a wakeup
 * for each record would cost more than all the rest.
 *
 * What is to be copied of a task's memory stands in a plan for each call, which user space makes of
 * its table of calls.  A program may not wait for a page, so what is not in memory at the begin of a
 * call cannot be copied then; the kernel itself fetches it during the call, and it is copied at its
 * end.
 *
 * Pieces of memory are gathered in a buffer that each CPU has one of.  Nothing else comes between,
 * as `sys_enter` and `sys_exit` run with preemption off and from no interrupt.
 */
#define MORE_OF_A_CALL \
	u64 number, arguments[6]; \
	/* A bit for each capture that could not be had at the begin. */ \
	u32 again; \
	/* It is among the tasks that are counted as there; its end was told. */ \
	u32 counted, ended; \
	/* Of a process, with its first thread: the signal that may have ended it, the last sent. */ \
	u32 fatal; \
	u8 siginfo[48]; \
	/* A signal that was sent and ignored, and not told yet. */ \
	u32 is_ignored, unused; \
	u8 ignored_siginfo[48];
#include "calls.h"

#define CAPTURES_MAX 8
/* The longest piece: the entries of a folder that a C library asks for. */
#define PIECE_BYTES 32768
/* A path, and what shows that it is cut. */
#define TEXT_BYTES 4098
/* Once the pieces of a call take as much, no more are added. */
#define PIECES_BYTES 16384
#define VECTORS_MAX 16
#define MESSAGES_MAX 8
#define TEXTS_MAX 64
#define POINTERS_MAX 512
#define NAME_BYTES 128
#define CONTROL_BYTES 1024
/* Wakeups are asked for while the ring's use passes through so many bytes. */
#define WAKE_BYTES 4096

#define SIGKILL 9
#define PF_EXITING 4
#define SIGINFO_BYTES 48
#define SIGINFO_CODE 8
#define SI_KERNEL 0x80
#define SIGNAL_GROUP_EXIT 4
/* `TRACE_SIGNAL_IGNORED` of trace/events/signal.h. */
#define RESULT_IGNORED 1
#define SIGRETURN 15
#define COMPAT_SIGRETURN (SLOTS_PER_ABI + 173)
/* `uc_sigmask` of `struct ucontext`, behind flags, link, stack (40 bytes) and registers (256). */
#define FRAME_MASK_AT 296
#define EXECVEAT 322
#define COMPAT_EXECVE (SLOTS_PER_ABI + 11)
#define COMPAT_EXECVEAT (SLOTS_PER_ABI + 358)
#define AVAILABLE_DATA 0
#define NO_WAKEUP 1
#define FORCE_WAKEUP 2

/* In the place of a call's slot: the task was perhaps in a call already when it was named. */
#define IN_BETWEEN 0xffff

/* How it is told.  `data_bytes`: so much of data that has no form is worth copying. */
const volatile struct telling { u32 wake_at, captures, data_bytes, unused; } telling = {};

enum kind { ENTER = 1, LEAVE, SIGNAL, BEGAN, SUPERSEDED, ENDED };
/* COMPAT: of a 32-bit program.  INCOMPLETE: memory is missing that will come at the end.  DEFAULT: the
 * signal has no handler. */
enum flag { COMPAT = 1, INCOMPLETE = 2, DEFAULT = 4 };

struct head { u64 time_ns; s32 thread, process; u32 kind, flags; };
struct call { struct head head; u64 number, arguments[6]; s64 result; u64 wall_ns, cpu_ns; };
struct happening { struct head head; s64 value; };
struct delivery { struct head head; u8 siginfo[SIGINFO_BYTES]; };

/* A piece of memory; its bytes follow, filled up to a multiple of eight. */
struct piece { u64 address; u32 bytes, phase; };

struct {
	int (*type)[MAP_RING];
	/* The loader sets how many bytes. */
	int (*max_entries)[1 << 24];
} events SEC(".maps");

enum count { ALIVE, LOST, LOST_TASKS, COUNTS };

struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[COUNTS];
	u32 *key;
	u64 *value;
} counts SEC(".maps");

/* `AT_ENTER` and `AT_LEAVE` are bits of `when`. */
enum phase { AT_ENTER = 1, AT_LEAVE = 2 };
enum copied { TEXT = 1, TEXTS, POINTERS, BYTES, VECTORS, MESSAGE, MESSAGES, MASK, CLONE_RESULTS };
enum length { FIXED = 1, ARGUMENT, RESULT, BEHIND };

struct extent { u8 kind, index; u16 fixed; };
struct capture {
	u8 argument, when, kind, unused;
	struct extent count, total;
	u32 size, bytes_max;
};
struct plan { u32 count, when; struct capture captures[CAPTURES_MAX]; };

struct {
	int (*type)[MAP_ARRAY];
	int (*max_entries)[SLOTS];
	u32 *key;
	struct plan *value;
} plans SEC(".maps");

struct scratch {
	u32 length, unused;
	struct call call;
	u8 pieces[PIECES_BYTES + sizeof(struct piece) + PIECE_BYTES];
};

/* The loader sets how many CPUs there are. */
struct {
	int (*type)[MAP_ARRAY];
	int (*max_entries)[1];
	u32 *key;
	struct scratch *value;
} scratches SEC(".maps");

INLINE void count(u32 kind, s64 change)
{
	u64 *count = bpf_map_lookup_elem(&counts, &kind);

	if (count)
		__sync_fetch_and_add(count, change);
}

INLINE u64 wakeup(void)
{
	u64 used = bpf_ringbuf_query(&events, AVAILABLE_DATA);

	return used - telling.wake_at < WAKE_BYTES ? FORCE_WAKEUP : NO_WAKEUP;
}

/* Keeps the verifier from following one copy of a number while the compiler uses another. */
#define ONE_COPY(number) asm volatile("" : "+r"(number))

INLINE struct scratch *scratch_of_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

/* Room for a piece; NULL if there is none left. */
INLINE struct piece *room(struct scratch *scratch)
{
	u32 at = scratch->length;

	ONE_COPY(at);
	if (at > PIECES_BYTES)
		return NULL;
	return (void *)(scratch->pieces + at);
}

INLINE void add(struct scratch *scratch, struct piece *piece, u64 address, u32 bytes, u32 phase)
{
	piece->address = address;
	piece->bytes = bytes;
	piece->phase = phase;
	scratch->length += sizeof(*piece) + ((bytes + 7) & ~7u);
}

/* Adds so many bytes; 0 if they cannot be read now.  What finds no room is left out. */
GLOBAL int add_bytes(u64 address, u32 bytes, u32 phase)
{
	struct scratch *scratch = scratch_of_cpu();
	struct piece *piece;

	if (!scratch || !address || !bytes)
		return 1;
	piece = room(scratch);
	if (!piece)
		return 1;
	ONE_COPY(bytes);
	if (bytes > PIECE_BYTES)
		bytes = PIECE_BYTES;
	if (bpf_probe_read_user(piece + 1, bytes, (void *)address))
		return 0;
	add(scratch, piece, address, bytes, phase);
	return 1;
}

/* Adds a text with its zero, and of a longer one so many bytes less one. */
GLOBAL int add_text(u64 address, u32 bytes, u32 phase)
{
	struct scratch *scratch = scratch_of_cpu();
	struct piece *piece;
	long have;

	if (!scratch || !address || !bytes)
		return 1;
	piece = room(scratch);
	if (!piece)
		return 1;
	ONE_COPY(bytes);
	if (bytes > PIECE_BYTES)
		bytes = PIECE_BYTES;
	have = bpf_probe_read_user_str(piece + 1, bytes, (void *)address);
	if (have < 0)
		return 0;
	/* A text that is cut has a zero at its end which is not its own. */
	if (have == bytes)
		have--;
	add(scratch, piece, address, have, phase);
	return 1;
}

/* Adds pointers up to the null pointer; the number of them before it. */
GLOBAL int add_pointers(u64 address, u32 phase)
{
	u64 pointer = 0;
	u32 number = 0;

	for (u32 i = 0; i < POINTERS_MAX - 1; i++) {
		if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)(address + i * 8)))
			break;
		if (!pointer)
			break;
		number = i + 1;
	}
	if (!add_bytes(address, (number + 1) * 8, phase))
		return -1;
	return number;
}

GLOBAL int add_texts(u64 address, u32 phase)
{
	int number, good = 1;
	u64 pointer = 0;

	if (!address)
		return 1;
	number = add_pointers(address, phase);
	if (number < 0)
		return 0;
	for (int i = 0; i < TEXTS_MAX; i++) {
		if (i >= number)
			break;
		if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)(address + i * 8)))
			return 0;
		good &= add_text(pointer, telling.data_bytes + 2, phase);
	}
	return good;
}

INLINE u64 smaller(u64 one, u64 other)
{
	return one < other ? one : other;
}

/* Adds so many `struct iovec`, and of what they point to no more than `left` bytes. */
GLOBAL int add_vectors(u64 address, u64 number, u64 left, u32 phase)
{
	struct { u64 base, bytes; } vector;
	int good = 1;

	if (!address || !number)
		return 1;
	number = smaller(number, VECTORS_MAX);
	if (!add_bytes(address, number * sizeof(vector), phase))
		return 0;
	for (u32 i = 0; i < VECTORS_MAX; i++) {
		u64 bytes;

		if (i >= number || !left)
			break;
		if (bpf_probe_read_user(&vector, sizeof(vector), (void *)(address + i * sizeof(vector))))
			return 0;
		bytes = smaller(vector.bytes, left);
		left -= bytes;
		good &= add_bytes(vector.base, smaller(bytes, telling.data_bytes), phase);
	}
	return good;
}

/* Adds a `struct msghdr`, its name and control data, and no more than `left` bytes of its data. */
GLOBAL int add_message(u64 address, u64 left, u32 phase)
{
	struct { u64 name, name_bytes, vectors, number, control, control_bytes, flags; } message;
	int good;

	if (!address)
		return 1;
	if (bpf_probe_read_user(&message, sizeof(message), (void *)address))
		return 0;
	good = add_bytes(address, sizeof(message), phase);
	good &= add_bytes(message.name, smaller((u32)message.name_bytes, NAME_BYTES), phase);
	good &= add_bytes(message.control, smaller(message.control_bytes, CONTROL_BYTES), phase);
	good &= add_vectors(message.vectors, message.number, left, phase);
	return good;
}

GLOBAL int add_messages(u64 address, u64 number, u32 phase)
{
	int good = 1;
	u32 bytes;

	if (!address)
		return 1;
	for (u32 i = 0; i < MESSAGES_MAX; i++) {
		u64 at = address + i * 64;

		if (i >= number)
			break;
		if (bpf_probe_read_user(&bytes, sizeof(bytes), (void *)(at + 56)))
			return 0;
		good &= add_message(at, bytes, phase);
		good &= add_bytes(at + 56, 8, phase);
	}
	return good;
}

/* Adds what the pointers at these places point to. */
GLOBAL int add_behind(u64 address, u32 bytes, u32 phase)
{
	u64 pointer = 0;

	if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)address))
		return 0;
	return add_bytes(pointer, bytes, phase);
}

INLINE u64 argument(struct call *call, u32 index)
{
	return index < 6 ? call->arguments[index] : 0;
}

INLINE u64 measure(struct call *call, struct extent *extent)
{
	u32 number = 0;

	switch (extent->kind) {
	case FIXED:
		return extent->fixed;
	case ARGUMENT:
		return argument(call, extent->index);
	case RESULT:
		return call->result > 0 ? call->result : 0;
	case BEHIND:
		bpf_probe_read_user(&number, sizeof(number), (void *)argument(call, extent->index));
		return number;
	}
	return ~0ULL;
}

/* Adds what a capture of the plan says; 0 if some of it cannot be read now. */
GLOBAL int capture(u32 slot, u32 index, u32 phase)
{
	struct plan *plan = bpf_map_lookup_elem(&plans, &slot);
	struct scratch *scratch = scratch_of_cpu();
	struct capture *capture;
	u64 address, number;
	struct call *call;

	if (!plan || !scratch || index >= CAPTURES_MAX)
		return 1;
	capture = &plan->captures[index];
	call = &scratch->call;
	address = argument(call, capture->argument);
	if (!address)
		return 1;
	number = measure(call, &capture->count);
	switch (capture->kind) {
	case TEXT:
		return add_text(address, TEXT_BYTES, phase);
	case TEXTS:
		return add_texts(address, phase);
	case POINTERS:
		return add_pointers(address, phase) >= 0;
	case BYTES:
		number = smaller(number, PIECE_BYTES) * capture->size;
		return add_bytes(address, smaller(number, capture->bytes_max), phase);
	case VECTORS:
		return add_vectors(address, number, measure(call, &capture->total), phase);
	case MESSAGE:
		if (capture->when == AT_ENTER)
			return add_message(address, ~0ULL, phase);
		/* Before a message is received nothing is in it. */
		if (call->head.kind == ENTER || call->result < 0)
			return add_bytes(address, 56, phase);
		return add_message(address, call->result, phase);
	case MESSAGES:
		return add_messages(address, number, phase);
	case MASK:
		return add_bytes(address, 16, phase) & add_behind(address, 8, phase);
	case CLONE_RESULTS:
		return add_behind(address + 8, 4, phase) & add_behind(address + 24, 4, phase);
	}
	return 1;
}

INLINE void fill_head(struct head *head, struct task_struct *task, u32 kind, u64 time_ns)
{
	head->thread = task->pid;
	head->process = task->tgid;
	head->kind = kind;
	head->flags = 0;
	head->time_ns = time_ns;
}

/* Adds what the plan says for these phases, and what was missing at the begin. */
INLINE void add_captures(struct plan *plan, struct begun *begun, u32 phases, u32 phase)
{
	u32 again = 0;

	for (u32 i = 0; i < CAPTURES_MAX; i++) {
		u32 mark = phase;

		if (i >= plan->count)
			break;
		if (begun->again >> i & 1)
			mark = AT_ENTER;
		else if (!(plan->captures[i].when & phases))
			continue;
		if (!capture(begun->slot, i, mark))
			again |= 1 << i;
		/* It was missing at the begin, and belongs to the end too. */
		else if (mark != phase && plan->captures[i].when & phases)
			capture(begun->slot, i, phase);
	}
	begun->again = phase == AT_ENTER ? again : 0;
}

/* The plan of a call, if there is anything to copy in these phases. */
INLINE struct plan *plan_of(struct begun *begun, u32 phases)
{
	struct plan *plan;

	if (!telling.captures)
		return NULL;
	plan = bpf_map_lookup_elem(&plans, &begun->slot);
	return plan && (plan->when & phases || begun->again) ? plan : NULL;
}

/* Only what is known at the end of a call can decide whether it is told. */
INLINE int is_told_late(void)
{
	return settings.errors_only || settings.successes_only || settings.slower_than_ns;
}

INLINE void send(struct scratch *scratch)
{
	u32 bytes = scratch->length;

	ONE_COPY(bytes);
	if (bytes > sizeof(scratch->pieces))
		return;
	if (bpf_ringbuf_output(&events, &scratch->call, sizeof(scratch->call) + bytes, wakeup()))
		count(LOST, 1);
}

/* How a call ended; nothing of it is set at its begin. */
struct outcome { s64 result; u64 time_ns, wall_ns, cpu_ns; };

INLINE void fill_call(struct call *call, struct task_struct *task, struct begun *begun, u32 kind,
		      struct outcome *outcome)
{
	fill_head(&call->head, task, kind, kind == ENTER ? bpf_ktime_get_ns() : outcome->time_ns);
	if (begun->slot >= SLOTS_PER_ABI)
		call->head.flags = COMPAT;
	call->number = begun->number;
	for (int i = 0; i < 6; i++)
		call->arguments[i] = begun->arguments[i];
	call->result = outcome->result;
	call->wall_ns = outcome->wall_ns;
	call->cpu_ns = outcome->cpu_ns;
}

/* Tells the begin or the end of a call, with what these phases copy of memory. */
INLINE void tell_call(struct task_struct *task, struct begun *begun, u32 kind, u32 phases,
		      struct outcome *outcome)
{
	struct plan *plan = plan_of(begun, phases);
	struct scratch *scratch = plan ? scratch_of_cpu() : NULL;
	struct call *call;

	if (plan && scratch) {
		scratch->length = 0;
		fill_call(&scratch->call, task, begun, kind, outcome);
		add_captures(plan, begun, phases, kind == ENTER ? AT_ENTER : AT_LEAVE);
		/* What is missing at the end is missing for good. */
		if (begun->again)
			scratch->call.head.flags |= INCOMPLETE;
		send(scratch);
		return;
	}
	call = bpf_ringbuf_reserve(&events, sizeof(*call), 0);
	if (!call) {
		count(LOST, 1);
		return;
	}
	fill_call(call, task, begun, kind, outcome);
	bpf_ringbuf_submit(call, wakeup());
}

/* Makes a task watched. */
INLINE struct begun *watch(struct task_struct *task)
{
	struct begun *begun = bpf_task_storage_get(&tasks, task, NULL, STORAGE_CREATE);

	if (!begun)
		count(LOST_TASKS, 1);
	else if (!__sync_lock_test_and_set(&begun->counted, 1))
		count(ALIVE, 1);
	return begun;
}

INLINE void note_call(struct begun *begun, struct pt_regs *registers, u32 slot, u64 number)
{
	begun->slot = slot;
	begun->number = number;
	begun->again = 0;
	if (slot == SIGRETURN || slot == COMPAT_SIGRETURN) {
		/* It has no arguments, and its signal mask stands on its stack. */
		__builtin_memset(begun->arguments, 0, sizeof(begun->arguments));
		if (slot == SIGRETURN)
			begun->arguments[0] = registers->sp + FRAME_MASK_AT;
		return;
	}
	if (slot < SLOTS_PER_ABI) {
		begun->arguments[0] = registers->di;
		begun->arguments[1] = registers->si;
		begun->arguments[2] = registers->dx;
		begun->arguments[3] = registers->r10;
		begun->arguments[4] = registers->r8;
		begun->arguments[5] = registers->r9;
	} else {
		begun->arguments[0] = (u32)registers->bx;
		begun->arguments[1] = (u32)registers->cx;
		begun->arguments[2] = (u32)registers->dx;
		begun->arguments[3] = (u32)registers->si;
		begun->arguments[4] = (u32)registers->di;
		begun->arguments[5] = (u32)registers->bp;
	}
}

INLINE void tell_signal(struct task_struct *task, const void *siginfo, s32 number, u32 flags)
{
	struct delivery *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(LOST, 1);
		return;
	}
	fill_head(&event->head, task, SIGNAL, bpf_ktime_get_ns());
	event->head.flags = flags;
	/* Without data the pointer is 0 or 1, and nothing is read. */
	if (bpf_probe_read_kernel(event->siginfo, SIGINFO_BYTES, siginfo)) {
		__builtin_memset(event->siginfo, 0, SIGINFO_BYTES);
		*(s32 *)event->siginfo = number;
	}
	bpf_ringbuf_submit(event, wakeup());
}

/* A signal that its task ignores is never delivered.  Under ptrace it would be, and it is told where
 * it would be told then: when the task is next between its program and the kernel. */
INLINE void tell_ignored(struct task_struct *task, struct begun *begun)
{
	if (!begun->is_ignored || !__sync_lock_test_and_set(&begun->is_ignored, 0))
		return;
	if (!begun->ignored && is_wanted_task(task))
		tell_signal(task, begun->ignored_siginfo, *(s32 *)begun->ignored_siginfo, 0);
}

SEC("tp_btf/sys_enter")
int enter(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct begun *begun = begun_by(task);
	struct outcome nothing = {};
	u32 slot;

	if (!begun)
		return 0;
	tell_ignored(task, begun);
	slot = slot_of(task, context[1]);
	if (begun->ignored) {
		if (begun->ignored == ALWAYS || slot != EXECVE)
			return 0;
		begun->ignored = UNLESS_EXEC_FAILS;
	}
	begun->start_ns = 0;
	if (!is_wanted(task, slot))
		return 0;
	note_call(begun, (void *)context[0], slot, context[1]);
	if (!is_told_late())
		tell_call(task, begun, ENTER, AT_ENTER, &nothing);
	/* What the telling took is no part of the call. */
	begun->off_cpu_ns = off_cpu_ns(task);
	begun->start_ns = bpf_ktime_get_ns();
	return 0;
}

INLINE int is_exec(u32 slot)
{
	return slot == EXECVE || slot == EXECVEAT || slot == COMPAT_EXECVE || slot == COMPAT_EXECVEAT;
}

/* Whether a task is being killed, and not by a signal that will be told before: it never comes back
 * from its call. */
INLINE int is_cut_off(struct task_struct *task)
{
	s32 number = 0;

	if (!(task->pending.signal.sig[0] >> (SIGKILL - 1) & 1))
		return 0;
	if (task->signal->flags & SIGNAL_GROUP_EXIT)
		number = task->signal->group_exit_code & 0x7f;
	return !number || number == SIGKILL;
}

INLINE void leave_call(struct task_struct *task, struct begun *begun, struct pt_regs *registers,
		       s64 result)
{
	struct outcome outcome = { .result = result };
	u64 away_ns;
	int failed;

	if (begun->ignored == UNLESS_EXEC_FAILS)
		begun->ignored = result ? ALWAYS : NOT;
	if (!begun->start_ns)
		return;
	outcome.time_ns = bpf_ktime_get_ns();
	outcome.wall_ns = outcome.time_ns - begun->start_ns;
	away_ns = off_cpu_ns(task) - begun->off_cpu_ns;
	begun->start_ns = 0;
	if (is_cut_off(task))
		return;
	if (begun->slot == IN_BETWEEN) {
		u64 number = registers->orig_ax;
		u32 slot = slot_of(task, number);

		if (!is_wanted(task, slot))
			return;
		note_call(begun, registers, slot, number);
	}
	failed = result < 0 && result >= -ERRNO_MAX;
	if (failed ? settings.successes_only : settings.errors_only)
		return;
	if (outcome.wall_ns < settings.slower_than_ns)
		return;
	/* The memory that the arguments pointed to is gone. */
	if (!result && is_exec(begun->slot))
		begun->again = 0;
	if (away_ns < outcome.wall_ns)
		outcome.cpu_ns = outcome.wall_ns - away_ns;
	tell_call(task, begun, LEAVE, is_told_late() ? AT_ENTER | AT_LEAVE : AT_LEAVE, &outcome);
}

SEC("tp_btf/sys_exit")
int leave(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct begun *begun = bpf_task_storage_get(&tasks, task, NULL, 0);

	if (!begun || begun->ignored == ALWAYS || begun->ignored == UNTIL_EXEC)
		return 0;
	leave_call(task, begun, (void *)context[0], context[1]);
	tell_ignored(task, begun);
	return 0;
}

INLINE void tell(struct task_struct *task, u32 kind, s64 value)
{
	struct happening *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(LOST, 1);
		return;
	}
	fill_head(&event->head, task, kind, bpf_ktime_get_ns());
	event->value = value;
	bpf_ringbuf_submit(event, wakeup());
}

/* A child is watched if its parent is.  It has not run yet. */
SEC("tp_btf/sched_process_fork")
int fork(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	struct begun *begun = bpf_task_storage_get(&tasks, parent, NULL, 0);

	if (!begun || begun->ignored)
		return 0;
	if (settings.threads_only && child->tgid != parent->tgid)
		return 0;
	/* A child of somebody who is not wanted may come to be. */
	if (watch(child) && is_wanted_task(parent))
		tell(child, BEGAN, parent->tgid);
	return 0;
}

/* What stands with the first thread of a process for all of them. */
INLINE struct begun *of_process(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task->group_leader, NULL, 0);
}

/* A signal that ends a process without a core is never delivered as itself: SIGKILL goes to every
 * thread instead.  So what it said is kept when it is sent. */
INLINE void keep_siginfo(u8 *to, s32 number, void *from)
{
	if (bpf_probe_read_kernel(to, SIGINFO_BYTES, from)) {
		__builtin_memset(to, 0, SIGINFO_BYTES);
		*(s32 *)to = number;
		/* 1 in the place of a pointer: the kernel itself sends it. */
		if (from)
			*(s32 *)(to + SIGINFO_CODE) = SI_KERNEL;
	}
}

SEC("tp_btf/signal_generate")
int generate(u64 *context)
{
	struct task_struct *task = (void *)context[2];
	struct begun *begun;
	s32 number = context[0];

	if (number == SIGKILL)
		return 0;
	if ((s32)context[4] == RESULT_IGNORED) {
		begun = bpf_task_storage_get(&tasks, task, NULL, 0);
		if (!begun || begun->ignored)
			return 0;
		keep_siginfo(begun->ignored_siginfo, number, (void *)context[1]);
		__sync_lock_test_and_set(&begun->is_ignored, 1);
		return 0;
	}
	begun = of_process(task);
	if (begun && !begun->ignored)
		keep_siginfo(begun->siginfo, number, (void *)context[1]);
	return 0;
}

SEC("tp_btf/signal_deliver")
int deliver(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct begun *begun = bpf_task_storage_get(&tasks, task, NULL, 0), *process;
	struct k_sigaction *action = (void *)context[2];
	s32 number = context[0];

	if (!begun || begun->ignored || !is_wanted_task(task))
		return 0;
	process = of_process(task);
	if (number != SIGKILL) {
		u32 is_default = !action->sa.sa_handler;

		if (process && is_default)
			process->fatal = number;
		tell_signal(task, (void *)context[1], number, is_default ? DEFAULT : 0);
		return 0;
	}
	/* SIGKILL itself is told by the end; another signal that ends the process here, if it has not
	 * been delivered to one of its threads. */
	if (!process || !(task->signal->flags & SIGNAL_GROUP_EXIT))
		return 0;
	number = task->signal->group_exit_code & 0x7f;
	if (!number || number == SIGKILL || *(s32 *)process->siginfo != number)
		return 0;
	if (__sync_lock_test_and_set(&process->fatal, number) != number)
		tell_signal(task, process->siginfo, number, DEFAULT);
	return 0;
}

/* A thread that begins a program takes on the number of its process. */
SEC("tp_btf/sched_process_exec")
int exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct begun *begun = bpf_task_storage_get(&tasks, task, NULL, 0);
	s32 former = context[1];

	if (begun && !begun->ignored && former != task->pid && is_wanted_task(task))
		tell(task, SUPERSEDED, former);
	return 0;
}

INLINE void tell_end(struct task_struct *task, struct begun *begun)
{
	if (!__sync_lock_test_and_set(&begun->ended, 1) && !begun->ignored && is_wanted_task(task))
		tell(task, ENDED, task->exit_code);
}

/* The first thread of a process ends with the last, whenever it stopped running: nobody can wait for
 * it before.  If another has taken its number by an exec, its end is never told. */
SEC("tp_btf/sched_process_exit")
int end(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader;
	struct begun *begun = bpf_task_storage_get(&tasks, task, NULL, 0);
	int is_last = !task->signal->live.counter, is_first = task->pid == task->tgid;

	if (begun && (is_last || !is_first))
		tell_end(task, begun);
	if (begun && __sync_lock_test_and_set(&begun->counted, 0))
		count(ALIVE, -1);
	if (!is_last || is_first)
		return 0;
	leader = task->group_leader;
	begun = bpf_task_storage_get(&tasks, leader, NULL, 0);
	if (begun)
		tell_end(leader, begun);
	return 0;
}

/* Makes the tasks watched whose numbers, or whose processes' numbers, are in `seeds`; tells of each
 * that was by writing its number. */
SEC("iter/task")
int seed(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct begun *begun;
	u32 id;

	if (!task || task->flags & PF_EXITING || !is_named(task))
		return 0;
	begun = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!begun) {
		begun = watch(task);
		if (!begun)
			return 0;
		begun->ignored = settings.from_exec ? UNTIL_EXEC : NOT;
		begun->slot = IN_BETWEEN;
		begun->off_cpu_ns = off_cpu_ns(task);
		begun->start_ns = bpf_ktime_get_ns();
		/* It may have passed by `end` meanwhile. */
		if (task->flags & PF_EXITING && __sync_lock_test_and_set(&begun->counted, 0))
			count(ALIVE, -1);
	}
	id = task->pid;
	bpf_seq_write(context->meta->seq, &id, sizeof(id));
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
