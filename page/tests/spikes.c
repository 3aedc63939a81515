// Processes that sleep, noise, and bursts of short children at random seconds, for the test of spikes.
//
// spikes SLEEPERS BURSTS APART SEED: each burst is told in a line, by the second in which it began.  All
// of it ends with standard input.

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/** CPU time of a child of a burst, and how many there are for each CPU. */
enum { CHILD_MS = 50, CHILDREN = 12 };

static unsigned seed;

static unsigned below(unsigned most)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % most;
}

/** A child of that name, which ends with its parent. */
static int child(const char *name)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(2);
    }
    if (pid > 0) return 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    if (getppid() != parent) _exit(1);
    return 1;
}

static void burn(long milliseconds)
{
    struct timespec used;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < milliseconds);
    _exit(0);
}

/** Waits until a time on the clock; whether standard input is still open. */
static int waits(time_t second, long milliseconds)
{
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        long rest = (second - now.tv_sec) * 1000 + milliseconds - now.tv_nsec / 1000000;
        if (rest <= 0) return 1;
        struct pollfd in = { .fd = 0, .events = POLLIN };
        if (poll(&in, 1, (int)rest) > 0) return 0;
    }
}

/** Short programs of many names, a few each second. */
static void noise(void)
{
    for (unsigned turn = 0;; ++turn) {
        char name[16];
        snprintf(name, sizeof name, "noise%u", turn % 7);
        if (child(name)) burn(2 + below(8));
        while (waitpid(-1, NULL, WNOHANG) > 0) {}
        usleep(100000 + below(200000));
    }
}

int main(int count, char **words)
{
    if (count != 5) return 2;
    int sleepers = atoi(words[1]), bursts = atoi(words[2]);
    unsigned apart = (unsigned)atoi(words[3]);
    seed = (unsigned)atoi(words[4]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int k = 0; k < sleepers; ++k)
        if (child("sleeper")) for (;;) pause();
    if (child("noises")) noise();
    long children = CHILDREN * sysconf(_SC_NPROCESSORS_ONLN);
    time_t at = time(NULL) + apart;
    for (int k = 0; k < bursts; ++k) {
        at += apart + below(apart);
        if (time(NULL) > at) at = time(NULL) + 1;
        if (!waits(at, 50)) return 0;
        for (long one = 0; one < children; ++one)
            if (child("burst")) burn(CHILD_MS);
        for (long one = 0; one < children;) one += wait(NULL) > 0;
        printf("%ld\n", (long)at);
    }
    // Samples after the last one say what is usual.
    if (waits(time(NULL) + apart + 2, 0)) puts("done");
    waits(time(NULL) + 1000000, 0);
    return 0;
}
