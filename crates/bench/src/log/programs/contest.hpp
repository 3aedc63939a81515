// What the programs in C++ share: threads that call at once, in bursts, or twenty calls after a pause.
// CASE THREADS CALLS TURNS FOLDER; prints the nanoseconds of a call, a line a turn.
#ifndef CONTEST_HPP
#define CONTEST_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace contest {

using Clock = std::chrono::steady_clock;

inline uint64_t ticks()
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
#endif
}

struct Arguments {
    std::string name;
    unsigned threads, calls, turns;
    std::string folder;
};

inline Arguments arguments(int count, char **words)
{
    if (count != 6) {
        std::fprintf(stderr, "CASE THREADS CALLS TURNS FOLDER\n");
        std::exit(2);
    }
    auto number = [](const char *word) { return static_cast<unsigned>(std::strtoul(word, nullptr, 10)); };
    return {words[1], number(words[2]), number(words[3]), number(words[4]), words[5]};
}

class Barrier {
public:
    explicit Barrier(unsigned count) : count_(count) {}
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        unsigned long turn = turn_;
        if (++waiting_ == count_) {
            waiting_ = 0;
            ++turn_;
            all_.notify_all();
        } else {
            all_.wait(lock, [&] { return turn_ != turn; });
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable all_;
    unsigned count_, waiting_ = 0;
    unsigned long turn_ = 0;
};

constexpr unsigned PACED_CALLS = 20, PACED_GROUP = 100;

// Calls by all threads at once; rest() after each burst, or after each hundredth pause.
template <class Call, class Rest> void run(const Arguments &given, Call call, Rest rest)
{
    const bool paced = given.name.compare(0, 5, "paced") == 0;
    const unsigned calls = paced ? PACED_CALLS : given.calls;
    const unsigned group = paced ? (given.turns < PACED_GROUP ? given.turns : PACED_GROUP) : 1;
    const unsigned groups = (given.turns + group - 1) / group;
    std::vector<std::vector<uint64_t>> all(given.threads, std::vector<uint64_t>(groups * group));
    Barrier barrier(given.threads + 1);
    // As in Rust: all threads are ready to run when the first goes on.
    std::atomic<unsigned> arrived{0};
    const auto began = Clock::now();
    const uint64_t first = ticks();
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < given.threads; ++thread)
        threads.emplace_back([&, thread] {
            uint64_t random = thread + 1;
            for (unsigned turn = 0; turn < groups * group; ++turn) {
                if (turn % group == 0) {
                    barrier.wait();
                    ++arrived;
                    while (static_cast<int>(arrived - given.threads * (turn / group + 1)) < 0)
                        std::this_thread::yield();
                }
                if (paced) {
                    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                    const auto until = Clock::now() + std::chrono::nanoseconds(2000000 + random % 200000);
                    while (Clock::now() < until) {
                    }
                }
                const uint64_t begin = ticks();
                for (unsigned number = 0; number < calls; ++number) call(thread, number);
                all[thread][turn] = ticks() - begin;
                if (turn % group == group - 1) barrier.wait();
            }
        });
    for (unsigned turn = 0; turn < groups; ++turn) {
        barrier.wait();
        barrier.wait();
        rest();
    }
    for (auto &thread : threads) thread.join();
    while (Clock::now() - began < std::chrono::milliseconds(10)) {
    }
    const double tick_ns = std::chrono::duration<double, std::nano>(Clock::now() - began).count() /
                           static_cast<double>(ticks() - first);
    for (unsigned turn = 0; turn < groups * group; ++turn) {
        double sum = 0;
        for (auto &one : all) sum += static_cast<double>(one[turn]);
        std::printf("%g\n", sum * tick_ns / calls / given.threads);
    }
}

// A text of forty bytes that the compiler does not know.
inline const std::string &text()
{
    static std::string text = "a text of forty bytes, which is copied..";
    asm volatile("" : : "r"(&text) : "memory");
    return text;
}

} // namespace contest

#endif
