/* Makes a child that is a child of this program's parent (CLONE_PARENT), which did not ask for it.
 * The words: for how many milliseconds the child lives, for how many this program does, and the
 * signal of the child's exit.  Exits with 3, the child with 7. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void live(const char *milliseconds)
{
	struct timespec time = {0, atol(milliseconds) * 1000000};

	nanosleep(&time, NULL);
}

int main(int count, char **words)
{
	if (count < 4)
		return 1;
	long child = syscall(SYS_clone, CLONE_PARENT | atoi(words[3]), 0, 0, 0, 0);

	if (child < 0)
		return 2;
	live(words[child ? 2 : 1]);
	_exit(child ? 3 : 7);
}
