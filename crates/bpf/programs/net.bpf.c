/* Bytes and packets of IP by process.
 *
 * Four programs.  `received` and `sent` run for each packet of a socket, at the root of the
 * unified hierarchy of control groups.  `created` runs when a process makes a socket.  `files`
 * is an iterator over all open files, which finds the sockets that were there before.
 *
 * A socket's owner is kept in its socket storage, which the kernel frees with it.  The owner is
 * the process that made the socket or, for TCP and UDP, the one that sent by it last.  A process
 * sends TCP while it has the socket's lock (`sk_lock.owned`); what the kernel sends by itself, or
 * for another socket in the same moment, finds the lock free.  So a connection that was accepted
 * belongs to a process at its first answer or its end.
 *
 * Until then its packets wait in the storage.  They are in `unowned`, and in `moved` too when an
 * owner is found: the difference is what has no process.
 *
 * Bytes are those of IP packets with their headers, without Ethernet's.  One large packet that
 * the device will cut into segments, or that it has joined from segments, counts as these
 * segments; on the loopback device one of less than 64 KiB stays one.
 */
#include "kernel.h"

#define MAP_LRU_HASH 9
#define MAP_SK_STORAGE 24
#define OWNERS_MAX 16384
#define FOUND_MAX 65536

#define FAMILY_4 2
#define FAMILY_6 10
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define STATE_LISTEN 10
#define LOOPBACK_INDEX 1
/* A packet of this length is cut into its segments even for the loopback device
 * (`gso_max_size`). */
#define WHOLE_MAX 65536
#define PF_KTHREAD 0x200000
#define SOCKFS_MAGIC 0x534F434B
#define PASS 1

/* The counts of a packet: of its protocol and direction. */
enum protocol { TCP, UDP, OTHER };
enum direction { RECEIVED, SENT };
#define COUNTS 12
#define PLACE(protocol, direction) (4 * (protocol) + 2 * (direction))

/* What programs of this type see of a packet and of a socket (linux/bpf.h). */
struct __sk_buff {
	u32 len, before_protocol[3], protocol, before_ifindex[5], ifindex, before_gso_segs[30], gso_segs;
	struct bpf_sock *sk;
};
struct bpf_sock {
	u32 bound_dev_if, family, type, protocol, before_state[14], state;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block { unsigned long s_magic; };
struct inode { unsigned short i_mode; struct super_block *i_sb; };
struct file { struct inode *f_inode; void *private_data; };
typedef struct { s64 counter; } atomic64;
struct sock_common { unsigned short skc_family; atomic64 skc_cookie; };
typedef struct { int owned; } socket_lock;
struct sock { struct sock_common __sk_common; socket_lock sk_lock; };
struct socket { struct sock *sk; };
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};
#pragma clang attribute pop

static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static struct bpf_sock *(*bpf_sk_fullsock)(struct bpf_sock *sk) = (void *)95;
static u64 (*bpf_get_socket_cookie)(void *context) = (void *)46;
static long (*bpf_skb_load_bytes)(void *skb, u32 offset, void *to, u32 size) = (void *)26;

/* A process, by its number and the start of its first thread in 2^20 ns: one word, so that
 * a change of owner is never seen in halves.  0 is nobody. */
typedef u64 owner_key;
#define START_BITS 42

struct who {
	u64 start_boottime_ns, cgroup;
	s32 pid;
	u32 uid;
	char command[16];
};

struct owner {
	u64 counts[COUNTS];
	struct who who;
};

struct {
	int (*type)[MAP_HASH];
	int (*map_flags)[NO_PREALLOC];
	int (*max_entries)[OWNERS_MAX];
	owner_key *key;
	struct owner *value;
} owners SEC(".maps");

/* Sockets that sent or received without an owner, by their cookies.  The value is 0 until the
 * iterator has found a process that has the socket open. */
struct {
	int (*type)[MAP_LRU_HASH];
	int (*max_entries)[FOUND_MAX];
	u64 *key;
	owner_key *value;
} found SEC(".maps");

struct stored {
	owner_key owner;
	/* The owner's thread that sent last, by its address; the socket's address. */
	u64 sender, address;
	/* Bytes and packets without an owner, by direction. */
	u64 waiting[4];
};

struct {
	int (*type)[MAP_SK_STORAGE];
	int (*map_flags)[NO_PREALLOC];
	int *key;
	struct stored *value;
} sockets SEC(".maps");

struct cpu {
	u64 unowned[COUNTS], moved[COUNTS];
	/* Sockets added to `found`; processes that did not fit in `owners`; packets whose socket
	 * got no storage. */
	u64 sought, owners_lost, sockets_lost;
	/* To a multiple of a cache line. */
	u64 unused[5];
};

/* One for each CPU; user space maps it. */
struct {
	int (*type)[MAP_ARRAY];
	int (*map_flags)[MMAPABLE];
	int (*max_entries)[1];
	u32 *key;
	struct cpu *value;
} cpus SEC(".maps");

INLINE struct cpu *this_cpu(void)
{
	u32 number = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &number);
}

INLINE void add(u64 *to, u64 count)
{
	__sync_fetch_and_add(to, count);
}

INLINE owner_key key_of(u32 pid, u64 start_boottime_ns)
{
	return (u64)pid << START_BITS | (start_boottime_ns >> 20 & ((1ULL << START_BITS) - 1));
}

/* Everything here is copied, because not every program type trusts the pointer to a task. */
INLINE void fill_who(struct who *who, struct task_struct *leader)
{
	const struct cred *cred;
	struct css_set *groups;
	struct cgroup *group;
	struct kernfs_node *node;

	READ(who->start_boottime_ns, leader->start_boottime);
	READ(who->pid, leader->tgid);
	READ(who->command, leader->comm);
	READ(cred, leader->real_cred);
	READ(who->uid, cred->uid.val);
	READ(groups, leader->cgroups);
	READ(group, groups->dfl_cgrp);
	READ(node, group->kn);
	READ(who->cgroup, node->id);
}

/* The process of a task as an owner, noted in `owners`; 0 for a thread of the kernel, and
 * without room. */
INLINE owner_key owner_of(struct task_struct *task)
{
	struct owner owner = {};
	struct task_struct *leader;
	unsigned int flags = 0;
	owner_key key;

	READ(flags, task->flags);
	if (flags & PF_KTHREAD)
		return 0;
	READ(leader, task->group_leader);
	fill_who(&owner.who, leader);
	key = key_of(owner.who.pid, owner.who.start_boottime_ns);
	if (!bpf_map_lookup_elem(&owners, &key) &&
	    bpf_map_update_elem(&owners, &key, &owner, NEW_ELEMENT) &&
	    !bpf_map_lookup_elem(&owners, &key)) {
		struct cpu *cpu = this_cpu();

		if (cpu)
			add(&cpu->owners_lost, 1);
		return 0;
	}
	return key;
}

/* Gives what waits in the storage to its owner. */
INLINE void move_waiting(struct stored *stored, struct owner *owner, u32 place)
{
	struct cpu *cpu = this_cpu();
	u32 from = place & ~3;

	if (!cpu || from > COUNTS - 4)
		return;
	for (int i = 0; i < 4; i++) {
		u64 count = stored->waiting[i];

		if (!count)
			continue;
		add(&stored->waiting[i], -count);
		add(&owner->counts[from + i], count);
		add(&cpu->moved[from + i], count);
	}
}

/* The current process if it is the one that sends by this socket, otherwise the owner that it had.
 * Only the kernel's own sockets send UDP in the context of others, and these have no owner. */
INLINE owner_key sender(struct stored *stored, struct bpf_sock *sk, u32 protocol)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct sock *address;
	owner_key key = stored->owner;
	int owned = 0;
	u32 pid = 0;

	/* Nearly always; whether it sends or another does in its context, the owner is the same. */
	if (key && stored->sender == (u64)task)
		return key;
	if (protocol == TCP) {
		/* The verifier lets nobody look behind this pointer; a number can be copied from. */
		*(volatile u64 *)&stored->address = (u64)sk;
		address = (void *)*(volatile u64 *)&stored->address;
		READ(owned, address->sk_lock.owned);
	} else {
		owned = key != 0;
	}
	if (!owned)
		return key;
	READ(pid, task->tgid);
	if (!key || pid != key >> START_BITS)
		key = owner_of(task);
	if (!key)
		return stored->owner;
	stored->sender = (u64)task;
	return key;
}

/* The owner that the iterator has found for a socket; 0 if it has not, and then it will seek. */
INLINE owner_key found_owner(struct __sk_buff *skb)
{
	u64 cookie = bpf_get_socket_cookie(skb);
	owner_key *known = bpf_map_lookup_elem(&found, &cookie), none = 0;
	struct cpu *cpu;

	if (known)
		return *known;
	cpu = this_cpu();
	if (!bpf_map_update_elem(&found, &cookie, &none, NEW_ELEMENT) && cpu)
		add(&cpu->sought, 1);
	return 0;
}

/* The headers of a segment: IP and, after it, TCP or UDP. */
INLINE u32 header_bytes(struct __sk_buff *skb, u32 protocol)
{
	u8 first = 0, offset = 0;
	u32 ip = 40;

	if (bpf_skb_load_bytes(skb, 0, &first, 1))
		return 0;
	if (first >> 4 == 4)
		ip = (first & 15) * 4;
	if (protocol != TCP)
		return ip + 8;
	if (bpf_skb_load_bytes(skb, ip + 12, &offset, 1))
		return 0;
	return ip + (offset >> 4) * 4;
}

INLINE void count(struct __sk_buff *skb, u32 direction)
{
	struct bpf_sock *sk = skb->sk;
	u32 protocol, place;
	u64 bytes = skb->len, packets = 1;
	struct stored *stored;
	struct owner *owner = NULL;
	struct cpu *cpu;
	owner_key key;

	if (sk)
		sk = bpf_sk_fullsock(sk);
	if (!sk)
		return;
	protocol = sk->protocol == PROTOCOL_TCP ? TCP : sk->protocol == PROTOCOL_UDP ? UDP : OTHER;
	place = PLACE(protocol, direction);
	if (skb->gso_segs > 1 && (skb->ifindex != LOOPBACK_INDEX || skb->len >= WHOLE_MAX)) {
		packets = skb->gso_segs;
		bytes += (packets - 1) * header_bytes(skb, protocol);
	}
	stored = bpf_sk_storage_get(&sockets, sk, NULL, STORAGE_CREATE);
	if (stored) {
		key = stored->owner;
		if (direction == SENT && protocol != OTHER && sk->state != STATE_LISTEN)
			key = sender(stored, sk, protocol);
		if (!key) {
			stored->sender = 0;
			key = found_owner(skb);
		}
		if (key)
			owner = bpf_map_lookup_elem(&owners, &key);
		if (key != stored->owner || (key && !owner))
			stored->owner = owner ? key : 0;
	}
	if (owner) {
		add(&owner->counts[place], bytes);
		add(&owner->counts[place + 1], packets);
		if (stored->waiting[1] | stored->waiting[3])
			move_waiting(stored, owner, place);
		return;
	}
	cpu = this_cpu();
	if (!cpu)
		return;
	add(&cpu->unowned[place], bytes);
	add(&cpu->unowned[place + 1], packets);
	if (!stored) {
		add(&cpu->sockets_lost, 1);
		return;
	}
	add(&stored->waiting[2 * direction], bytes);
	add(&stored->waiting[2 * direction + 1], packets);
}

SEC("cgroup_skb/ingress")
int received(struct __sk_buff *skb)
{
	count(skb, RECEIVED);
	return PASS;
}

SEC("cgroup_skb/egress")
int sent(struct __sk_buff *skb)
{
	count(skb, SENT);
	return PASS;
}

SEC("cgroup/sock_create")
int created(struct bpf_sock *sk)
{
	struct stored *stored;
	owner_key key = owner_of((void *)bpf_get_current_task());

	if (!key)
		return PASS;
	stored = bpf_sk_storage_get(&sockets, sk, NULL, STORAGE_CREATE);
	if (stored)
		stored->owner = key;
	return PASS;
}

/* Gives each socket in `found` that has no owner to the first process that has it open.  Writes
 * nothing: the reader reads the iterator's file to its end. */
SEC("iter/task_file")
int files(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct super_block *super;
	struct socket *socket;
	unsigned long magic = 0;
	unsigned short family = 0;
	struct inode *inode;
	struct sock *sk;
	owner_key *known, key;
	u64 cookie = 0;

	if (!task || !file)
		return 0;
	READ(inode, file->f_inode);
	READ(super, inode->i_sb);
	READ(magic, super->s_magic);
	if (magic != SOCKFS_MAGIC)
		return 0;
	READ(socket, file->private_data);
	READ(sk, socket->sk);
	READ(family, sk->__sk_common.skc_family);
	if (family != FAMILY_4 && family != FAMILY_6)
		return 0;
	READ(cookie, sk->__sk_common.skc_cookie.counter);
	known = bpf_map_lookup_elem(&found, &cookie);
	if (!known)
		return 0;
	key = *known;
	if (key && bpf_map_lookup_elem(&owners, &key))
		return 0;
	key = owner_of(task);
	if (key)
		bpf_map_update_elem(&found, &cookie, &key, 0);
	return 0;
}

char program_license[] SEC("license") = "Dual MIT/GPL";
