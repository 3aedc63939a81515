/* Calls that take 3 ms, of memory that was not touched before and is gone after. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words)
{
	int file = open(words[count - 1], O_RDONLY);

	for (int i = 0; i < 100; i++) {
		void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);

		syscall(SYS_nanosleep, page, NULL);
		munmap(page, 4096);
	}
	return 0;
}
