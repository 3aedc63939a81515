/* Gives the kernel memory that was not touched before, and structures that end where their mapping
 * ends, or beyond it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

/* A copy of this memory that ends where a mapping ends. */
static char *at_the_end(const void *from, size_t bytes)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + PAGE, PAGE);
	return memcpy(pages + PAGE - bytes, from, bytes);
}

static void untouched(int file, int out)
{
	char *pages = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);

	write(out, pages, 40);
	/* The second page of two. */
	pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	*(volatile char *)pages;
	madvise(pages + PAGE, PAGE, MADV_DONTNEED);
	write(out, pages + PAGE - 16, 32);
	pages = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	struct iovec vectors[2] = {{pages, 8}, {pages + 8, 8}};
	writev(out, vectors, 2);
	/* What is read is not there either before it is. */
	pages = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pread(file, pages, 40, 0);
}

static void addresses(void)
{
	int internet = socket(AF_INET, SOCK_DGRAM, 0), local = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_un name = {AF_UNIX, "/nowhere"};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	char *at = at_the_end(&address, sizeof(address));
	connect(internet, (void *)at, sizeof(address));
	connect(internet, (void *)at, sizeof(address) + 12);
	at = at_the_end(&name, 2 + sizeof("/nowhere"));
	connect(local, (void *)at, 1 + sizeof("/nowhere"));
	connect(local, (void *)at, 2 + sizeof("/nowhere"));
	connect(local, (void *)at, sizeof(name));
	struct msghdr message = {.msg_iov = &(struct iovec){"data", 4}, .msg_iovlen = 1};
	at = at_the_end(&message, sizeof(message));
	sendmsg(internet, (void *)at, 0);
	sendmsg(internet, (void *)(at + 8), 0);
}

static void times_and_sets(int file)
{
	struct timespec time = {0, 1000};
	char *at = at_the_end(&time, sizeof(time));

	syscall(SYS_nanosleep, at, NULL);
	syscall(SYS_nanosleep, at + 8, NULL);
	syscall(SYS_ppoll, NULL, 0, at, NULL, 8);
	unsigned long set = 1UL << (SIGUSR1 - 1);
	at = at_the_end(&set, sizeof(set));
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, at, NULL, 8);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, at + 4, NULL, 8);
	unsigned long descriptors = 1UL << file;
	at = at_the_end(&descriptors, sizeof(descriptors));
	struct timeval none = {0, 0};
	select(file + 1, (void *)at, NULL, NULL, &none);
	/* The kernel reads as much as the table of descriptors holds: 64 of them, then more. */
	select(70, (void *)at, NULL, NULL, &none);
	dup2(file, 100);
	select(70, (void *)at, NULL, NULL, &none);
}

static void arrays(int in, int out)
{
	struct iovec vectors[2] = {{"one", 3}, {"two", 3}};
	char *at = at_the_end(vectors, sizeof(vectors));

	writev(out, (void *)at, 2);
	writev(out, (void *)at, 3);
	writev(out, (void *)(at + 16), 2);
	struct pollfd polled[2] = {{in, POLLIN}, {out, POLLOUT}};
	at = at_the_end(polled, sizeof(polled));
	poll((void *)at, 2, 0);
	poll((void *)at, 3, 0);
	char *arguments[3] = {"x", "y", NULL};
	at = at_the_end(arguments, 2 * sizeof(*arguments));
	execve("/nowhere", (void *)at, NULL);
	execve("/nowhere", arguments, (void *)at);
}

static void texts(int out)
{
	char *at = at_the_end("nowhere", 8);

	open(at, O_RDONLY);
	write(out, at, 8);
	at[7] = 'x';
	open(at, O_RDONLY);
	write(out, at, 8);
	write(out, at, 9);
}

int main(int count, char **words)
{
	int file = open(words[count - 1], O_RDONLY), pipes[2];

	pipe(pipes);
	untouched(file, pipes[1]);
	addresses();
	times_and_sets(file);
	arrays(pipes[0], pipes[1]);
	texts(pipes[1]);
	return 0;
}
