/* An event for the entry and the exit of each system call, with a copy of the memory that its
 * arguments point to; for each signal, new task and exit of a task.
 *
 * All events go through one ring buffer, in the order in which they reserved space, which for
 * each task is the order in which they happened.  Events that find it full are counted.  The
 * reader polls every few milliseconds and is woken only when a quarter of the ring buffer is in
 * use: a wakeup for each record would cost more than all the rest.
 *
 * A plan for each system call says which memory of the task is copied; user space makes the
 * plans from its table of system calls.  A program cannot take a page fault, so a page that is
 * not resident at the entry of a call cannot be copied then; the kernel faults it in during the
 * call, and it is copied at the exit.  After an `execve` the memory that its arguments pointed to
 * is gone; what is missing is copied from the stack of the new program.
 *
 * Copies of memory are gathered in a buffer of the CPU.  Nothing else uses it meanwhile,
 * because `sys_enter` and `sys_exit` run with preemption disabled and never in an interrupt.
 */
#define MORE_OF_A_CALL \
	u64 number, arguments[6]; \
	/* A bit for each capture that could not be copied at the entry. */ \
	u32 again; \
	/* Whether the program that its `execve` began is run by an interpreter. */ \
	u32 is_interpreted; \
	/* Whether `ALIVE` counts it; whether its exit was sent. */ \
	u32 counted, ended; \
	/* In the first thread: the latest signal sent that may have killed the process. */ \
	u32 fatal; \
	u8 siginfo[48]; \
	/* Whether an ignored signal waits to be sent. */ \
	u32 is_ignored; \
	u8 ignored_siginfo[48];
#include "calls.h"

#define CAPTURES_MAX 8
/* The longest copy: `getdents64` with the buffer that C libraries use. */
#define PIECE_BYTES 32768
/* A path of PATH_MAX, and two bytes that show that it was longer. */
#define TEXT_BYTES 4098
/* Once the copies for a call take this many bytes, no more are added. */
#define PIECES_BYTES 16384
#define VECTORS_MAX 16
#define MESSAGES_MAX 8
#define TEXTS_MAX 64
#define POINTERS_MAX 512
#define NAME_BYTES 128
#define CONTROL_BYTES 1024
#define PAGE_BYTES 4096
/* A wakeup is sent while the use of the ring buffer is less than this above `wake_at`. */
#define WAKE_BYTES 4096

#define SIGKILL 9
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

/* In place of a slot: the task may have been within a call when it became watched. */
#define IN_BETWEEN 0xffff

/* How events are sent.  `data_bytes`: most bytes copied of data without a structure. */
const volatile struct reporting { u32 wake_at, captures, data_bytes, unused; } reporting = {};

enum kind { ENTER = 1, LEAVE, SIGNAL, BEGAN, SUPERSEDED, ENDED };
/* COMPAT: of a 32-bit program.  INCOMPLETE: memory is missing that comes with the exit.
 * DEFAULT: the signal has its default action.  INTERPRETED: `execve` began an interpreter. */
enum flag { COMPAT = 1, INCOMPLETE = 2, DEFAULT = 4, INTERPRETED = 8 };

struct head { u64 time_ns; s32 thread, process; u32 kind, flags; };
struct call { struct head head; u64 number, arguments[6]; s64 result; u64 wall_ns, cpu_ns; };
struct value_event { struct head head; s64 value; };
struct signal_event { struct head head; u8 siginfo[SIGINFO_BYTES]; };

/* A copy of memory; its bytes follow, padded to a multiple of eight. */
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

/* When a piece was copied.  `AT_ENTER` and `AT_LEAVE` are bits of `when`.  The others are pieces of
 * the stack of a new program, in place of what an `execve` is given. */
enum phase { AT_ENTER = 1, AT_LEAVE = 2, NEW_PATH = 4, NEW_ARGUMENTS = 8, NEW_ENVIRONMENT = 16 };
/* A bit of a plan's `when`: the call reads memory and writes it. */
#define OVERWRITTEN 4
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

	return used - reporting.wake_at < WAKE_BYTES ? FORCE_WAKEUP : NO_WAKEUP;
}

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

/* Adds those of `bytes` bytes that are in pages that can be read now; 0, as not all can. */
GLOBAL int add_pages(u64 address, u32 bytes, u32 phase)
{
	struct scratch *scratch = scratch_of_cpu();
	struct piece *piece;

	if (!scratch || (address & (PAGE_BYTES - 1)) + bytes <= PAGE_BYTES)
		return 0;
	for (u32 i = 0; i < PIECE_BYTES / PAGE_BYTES + 1; i++) {
		u32 part = PAGE_BYTES - (address & (PAGE_BYTES - 1));

		piece = room(scratch);
		if (!piece || !bytes)
			break;
		if (part > bytes)
			part = bytes;
		bytes -= part;
		ONE_COPY(part);
		if (part > PAGE_BYTES)
			break;
		if (!bpf_probe_read_user(piece + 1, part, (void *)address))
			add(scratch, piece, address, part, phase);
		address += part;
	}
	return 0;
}

/* Adds `bytes` bytes; 0 if some cannot be read now.  Without room nothing is added. */
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
		return add_pages(address, bytes, phase);
	add(scratch, piece, address, bytes, phase);
	return 1;
}

/* Adds a string with its zero byte, or the first `bytes` - 1 bytes of a longer one. */
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
	/* The helper ends a truncated string with a zero byte, which is not part of it. */
	if (have == bytes)
		have--;
	add(scratch, piece, address, have, phase);
	return 1;
}

/* Adds a null-terminated array of pointers; returns how many there are, or -1 - how many can be read
 * now. */
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
		return -1 - (int)number;
	return number;
}

GLOBAL int add_texts(u64 address, u32 phase)
{
	int number, good = 1;
	u64 pointer = 0;

	if (!address)
		return 1;
	number = add_pointers(address, phase);
	if (number < 0) {
		number = -1 - number;
		good = 0;
	}
	for (int i = 0; i < TEXTS_MAX; i++) {
		if (i >= number)
			break;
		if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)(address + i * 8)))
			return 0;
		good &= add_text(pointer, reporting.data_bytes + 2, phase);
	}
	return good;
}

INLINE u64 smaller(u64 one, u64 other)
{
	return one < other ? one : other;
}

/* Adds `number` `struct iovec`, and at most `left` bytes of the data that they point to. */
GLOBAL int add_vectors(u64 address, u64 number, u64 left, u32 phase)
{
	struct { u64 base, bytes; } vector;
	int good;

	if (!address || !number)
		return 1;
	number = smaller(number, VECTORS_MAX);
	good = add_bytes(address, number * sizeof(vector), phase);
	for (u32 i = 0; i < VECTORS_MAX; i++) {
		u64 bytes;

		if (i >= number || !left)
			break;
		if (bpf_probe_read_user(&vector, sizeof(vector), (void *)(address + i * sizeof(vector))))
			return 0;
		bytes = smaller(vector.bytes, left);
		left -= bytes;
		good &= add_bytes(vector.base, smaller(bytes, reporting.data_bytes), phase);
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

/* Adds the memory that the pointer at `address` points to. */
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

/* Adds what the stack of a new program holds of what `execve` was given: arguments, environment and,
 * behind them, the path of the program, or of the script. */
GLOBAL int add_new(u32 kind)
{
	struct mm_struct *mm = GET(current_task(), mm);
	u64 begin, end;

	switch (kind) {
	case TEXT:
		return add_text(GET(mm, env_end), TEXT_BYTES, NEW_PATH);
	case TEXTS:
		begin = GET(mm, arg_start);
		end = GET(mm, arg_end);
		return add_bytes(begin, smaller(end - begin, PIECE_BYTES), NEW_ARGUMENTS);
	case POINTERS:
		begin = GET(mm, env_start);
		end = GET(mm, env_end);
		return add_bytes(begin, smaller(end - begin, PIECE_BYTES), NEW_ENVIRONMENT);
	}
	return 1;
}

/* Adds the memory that a capture names; 0 if some of it cannot be read now. */
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
	if (phase == NEW_PATH)
		return add_new(capture->kind);
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
		/* The buffers of a message are empty before it is received. */
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
	head->thread = GET(task, pid);
	head->process = GET(task, tgid);
	head->kind = kind;
	head->flags = 0;
	head->time_ns = time_ns;
}

/* Adds the captures of these phases, and those that were missing at the entry.  `is_new`: the task
 * has begun a new program. */
INLINE void add_captures(struct plan *plan, struct begun *begun, u32 phases, u32 phase, u32 is_new)
{
	u32 again = 0, missing = is_new ? NEW_PATH : AT_ENTER;

	for (u32 i = 0; i < CAPTURES_MAX; i++) {
		u32 mark = phase;

		if (i >= plan->count)
			break;
		if (begun->again >> i & 1)
			mark = missing;
		else if (!(plan->captures[i].when & phases))
			continue;
		if (!capture(begun->slot, i, mark))
			again |= 1 << i;
		/* Missing at the entry, and wanted at the exit too. */
		else if (mark != phase && plan->captures[i].when & phases)
			capture(begun->slot, i, phase);
	}
	begun->again = phase == AT_ENTER ? again : 0;
}

/* The plan of a call; NULL if nothing is to be copied in these phases. */
INLINE struct plan *plan_of(struct begun *begun, u32 phases)
{
	struct plan *plan;

	if (!reporting.captures)
		return NULL;
	plan = bpf_map_lookup_elem(&plans, &begun->slot);
	return plan && (plan->when & phases || begun->again) ? plan : NULL;
}

INLINE int is_exec(u32 slot)
{
	return slot == EXECVE || slot == EXECVEAT || slot == COMPAT_EXECVE || slot == COMPAT_EXECVEAT;
}

/* Whether the entry of a call is sent before it is known how the call ends: always if every end is
 * wanted, else if its memory is another at the exit. */
INLINE int is_sent_at_entry(u32 slot)
{
	struct plan *plan;

	if (!settings.errors_only && !settings.successes_only && !settings.slower_than_ns)
		return 1;
	if (is_exec(slot))
		return 1;
	if (!reporting.captures)
		return 0;
	plan = bpf_map_lookup_elem(&plans, &slot);
	return plan && plan->when & OVERWRITTEN;
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

/* How a call ended; all zero at its entry. */
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

/* Sends the entry or the exit of a call, with the captures of these phases. */
INLINE void send_call(struct task_struct *task, struct begun *begun, u32 kind, u32 phases,
		      struct outcome *outcome)
{
	struct plan *plan = plan_of(begun, phases);
	struct scratch *scratch = plan ? scratch_of_cpu() : NULL;
	struct call *call;

	if (plan && scratch) {
		scratch->length = 0;
		fill_call(&scratch->call, task, begun, kind, outcome);
		u32 is_new = kind == LEAVE && begun->again && !outcome->result && is_exec(begun->slot);

		if (is_new && begun->is_interpreted)
			scratch->call.head.flags |= INTERPRETED;
		add_captures(plan, begun, phases, kind == ENTER ? AT_ENTER : AT_LEAVE, is_new);
		/* Memory that is missing at the exit stays missing. */
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
	struct begun *begun = stored_or_new(task);

	if (!begun)
		count(LOST_TASKS, 1);
	else if (!EXCHANGE(&begun->counted, 1))
		count(ALIVE, 1);
	return begun;
}

INLINE void note_call(struct begun *begun, struct pt_regs *registers, u32 slot, u64 number)
{
	begun->slot = slot;
	begun->number = number;
	begun->again = 0;
	if (slot == SIGRETURN || slot == COMPAT_SIGRETURN) {
		/* It has no arguments; its signal mask is in a frame on the stack. */
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

INLINE void send_signal(struct task_struct *task, const void *siginfo, s32 number, u32 flags)
{
	struct signal_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(LOST, 1);
		return;
	}
	fill_head(&event->head, task, SIGNAL, bpf_ktime_get_ns());
	event->head.flags = flags;
	/* Without a siginfo the pointer is 0 or 1 (SEND_SIG_PRIV), and the read fails. */
	if (bpf_probe_read_kernel(event->siginfo, SIGINFO_BYTES, siginfo)) {
		__builtin_memset(event->siginfo, 0, SIGINFO_BYTES);
		*(s32 *)event->siginfo = number;
	}
	bpf_ringbuf_submit(event, wakeup());
}

/* An ignored signal is never delivered.  ptrace would show it, so we send it where ptrace would: at
 * the next entry to or exit from the kernel. */
INLINE void send_ignored(struct task_struct *task, struct begun *begun)
{
	if (!begun->is_ignored || !EXCHANGE(&begun->is_ignored, 0))
		return;
	if (!begun->ignored && is_wanted_task(task))
		send_signal(task, begun->ignored_siginfo, *(s32 *)begun->ignored_siginfo, 0);
}

SEC("tp_btf/sys_enter")
int enter(u64 *context)
{
	struct task_struct *task = current_task();
	struct begun *begun = begun_by(task);
	struct outcome nothing = {};
	u32 slot;

	if (!begun)
		return 0;
	send_ignored(task, begun);
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
	if (is_sent_at_entry(slot))
		send_call(task, begun, ENTER, AT_ENTER, &nothing);
	/* The time that this program takes is not part of the call. */
	begun->off_cpu_ns = off_cpu_ns(task);
	begun->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* Whether a task is being killed, so that it never returns from its call, and not by a signal whose
 * event comes first. */
INLINE int is_cut_off(struct task_struct *task)
{
	s32 number = 0;

	if (!(GET(task, pending.signal.sig[0]) >> (SIGKILL - 1) & 1))
		return 0;
	if (GET(GET(task, signal), flags) & SIGNAL_GROUP_EXIT)
		number = GET(GET(task, signal), group_exit_code) & 0x7f;
	return !number || number == SIGKILL;
}

INLINE void leave_call(struct task_struct *task, struct begun *begun, struct pt_regs *registers,
		       s64 result)
{
	struct outcome outcome = { .result = result };
	u64 away_ns;
	u32 phases;
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
	if (away_ns < outcome.wall_ns)
		outcome.cpu_ns = outcome.wall_ns - away_ns;
	phases = is_sent_at_entry(begun->slot) ? AT_LEAVE : AT_ENTER | AT_LEAVE;
	send_call(task, begun, LEAVE, phases, &outcome);
}

SEC("tp_btf/sys_exit")
int leave(u64 *context)
{
	struct task_struct *task = current_task();
	struct begun *begun = stored(task);

	if (!begun || begun->ignored == ALWAYS || begun->ignored == UNTIL_EXEC)
		return 0;
	leave_call(task, begun, (void *)context[0], context[1]);
	send_ignored(task, begun);
	return 0;
}

INLINE void send_value(struct task_struct *task, u32 kind, s64 value)
{
	struct value_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

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
	struct begun *begun = stored(parent);

	if (!begun || begun->ignored)
		return 0;
	if (settings.threads_only && GET(child, tgid) != GET(parent, tgid))
		return 0;
	/* A child of a task that is not wanted may become wanted later. */
	if (watch(child) && is_wanted_task(parent))
		send_value(child, BEGAN, GET(parent, tgid));
	return 0;
}

/* The storage of the first thread, which holds what concerns the whole process. */
INLINE struct begun *of_process(struct task_struct *task)
{
	return stored(GET(task, group_leader));
}

/* A signal that kills a process without a core dump is never delivered itself: the kernel sends
 * SIGKILL to every thread instead.  So its siginfo is kept when it is generated. */
INLINE void keep_siginfo(u8 *to, s32 number, void *from)
{
	if (bpf_probe_read_kernel(to, SIGINFO_BYTES, from)) {
		__builtin_memset(to, 0, SIGINFO_BYTES);
		*(s32 *)to = number;
		/* The pointer is 1 (SEND_SIG_PRIV) if the kernel itself sends it. */
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
		begun = stored(task);
		if (!begun || begun->ignored)
			return 0;
		keep_siginfo(begun->ignored_siginfo, number, (void *)context[1]);
		EXCHANGE(&begun->is_ignored, 1);
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
	struct task_struct *task = current_task();
	struct begun *begun = stored(task), *process;
	struct k_sigaction *action = (void *)context[2];
	s32 number = context[0];

	if (!begun || begun->ignored || !is_wanted_task(task))
		return 0;
	process = of_process(task);
	if (number != SIGKILL) {
		u32 is_default = !action->sa.sa_handler;

		if (process && is_default)
			process->fatal = number;
		send_signal(task, (void *)context[1], number, is_default ? DEFAULT : 0);
		return 0;
	}
	/* The exit event reports SIGKILL itself.  Another signal that kills the process is sent
	 * here, unless it was delivered to one of its threads. */
	if (!process || !(GET(GET(task, signal), flags) & SIGNAL_GROUP_EXIT))
		return 0;
	number = GET(GET(task, signal), group_exit_code) & 0x7f;
	if (!number || number == SIGKILL || *(s32 *)process->siginfo != number)
		return 0;
	if (EXCHANGE(&process->fatal, number) != number)
		send_signal(task, process->siginfo, number, DEFAULT);
	return 0;
}

/* A thread that calls `execve` takes on the number of its process. */
SEC("tp_btf/sched_process_exec")
int exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct begun *begun = stored(task);
	struct linux_binprm *program = (void *)context[2];
	s32 former = context[1];

	if (begun)
		begun->is_interpreted = GET(program, interp) != GET(program, filename);
	if (begun && !begun->ignored && former != GET(task, pid) && is_wanted_task(task))
		send_value(task, SUPERSEDED, former);
	return 0;
}

INLINE void send_exit(struct task_struct *task, struct begun *begun)
{
	if (!EXCHANGE(&begun->ended, 1) && !begun->ignored && is_wanted_task(task))
		send_value(task, ENDED, GET(task, exit_code));
}

/* The exit of a process's first thread is sent with that of the last: nobody can wait for it
 * before. If another thread has taken its number by an `execve`, its exit is never sent. */
SEC("tp_btf/sched_process_exit")
int end(u64 *context)
{
	struct task_struct *task = current_task(), *leader;
	struct begun *begun = stored(task);
	int is_last = !GET(GET(task, signal), live.counter), is_first = GET(task, pid) == GET(task, tgid);

	if (begun && (is_last || !is_first))
		send_exit(task, begun);
	if (begun && EXCHANGE(&begun->counted, 0))
		count(ALIVE, -1);
	if (!is_last || is_first)
		return 0;
	leader = GET(task, group_leader);
	begun = stored(leader);
	if (begun)
		send_exit(leader, begun);
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

	if (!task || GET(task, flags) & PF_EXITING || !is_named(task))
		return 0;
	begun = stored(task);
	if (!begun) {
		begun = watch(task);
		if (!begun)
			return 0;
		begun->ignored = settings.from_exec ? UNTIL_EXEC : NOT;
		begun->slot = IN_BETWEEN;
		begun->off_cpu_ns = off_cpu_ns(task);
		begun->start_ns = bpf_ktime_get_ns();
		/* `end` may have run for it meanwhile. */
		if (GET(task, flags) & PF_EXITING && EXCHANGE(&begun->counted, 0))
			count(ALIVE, -1);
	}
	id = GET(task, pid);
	bpf_seq_write(context->meta->seq, &id, sizeof(id));
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
