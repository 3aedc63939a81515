// What the tests of the C++ client run: a role and a directory.
#include <chrono>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "drain.h"
#include "whit_log.hpp"

static const char *directory;

enum class Colour : short { Red = -3 };

template <class T> void generic(const whit::Logger &log, T value)
{
    WHIT_INFO(log, "generic {}", value);
}

static void everything()
{
    whit::Logger log("CONTROL/PM01", {{"Array", "A1"}});
    std::string owned = "owned";
    const char *text = "text";
    WHIT_INFO(log, "nothing");
    WHIT_ERROR(log, "{} {} {} {} {} {} {} {}", -1, 2ull, 2.5f, true, 'x', text, owned, std::string_view("view"));
    WHIT_NOTICE(log, "{} {{}} {:>6}", Colour::Red, "literal");
    generic(log, 7);
    generic(log, "seven");
    generic(log, 8);
    {
        whit::ContextScope scope({{"Antenna", "DV01"}});
        WHIT_WARNING(log, "in scope {}", 1);
    }
    WHIT_WARNING(log, "out of scope {}", 2);
    std::thread([&] { WHIT_INFO(log, "thread {}", 3); }).join();
    log.set_levels(WHIT_LOG_LEVEL_OFF, WHIT_LOG_LEVEL_OFF);
    WHIT_EMERGENCY(log, "never {}", 1);
}

// As crates/logger/tests/features.rs does in Rust, and program.c in C.
static void spans(const whit::Logger &log)
{
    WHIT_TRACE_SCOPE(log);
    WHIT_STOP_WATCH(log, "reading");
    WHIT_INFO(log, "within");
}

static void guarded(const whit::Logger &log, whit::RepeatGuard &guard, const char *name, int calls)
{
    for (int call = 0; call < calls; call++)
        if (auto suppressed = guard.check(); suppressed >= 0) WHIT_INFO(log, "{} {} after {}", name, call, suppressed);
}

static void features()
{
    whit::Logger logger("CONTROL/PM01"), log("of/antenna", {{"Antenna", "DV01"}});
    const std::string name(300, 'n'), text(300000, 't');
    WHIT_WITH(logger, WHIT_LOG_LEVEL_ERROR,
              ({"FullPath", "/tmp/x"}, {"StackLevel", 2}, {"Ratio", 2.5}, {"Is", true}, {"", 7u}),
              "cannot open {}: {}", "x", 5);
    WHIT_WITH(log, WHIT_LOG_LEVEL_NOTICE, ({name.c_str(), text}), "long");
    WHIT_WITH(logger, WHIT_LOG_LEVEL_TRACE, ({"Never", std::string(1, 'n')}), "never");
    {
        whit::ContextScope outer({{"Array", "A1"}});
        WHIT_INFO(log, "outer");
        {
            whit::ContextScope inner({{"Audience", "Operator"}, {"Antenna", "DV02"}});
            WHIT_WITH(log, WHIT_LOG_LEVEL_WARNING, ({"Uri", "http://x"}), "inner {}", 1);
        }
        WHIT_INFO(log, "outer again");
    }
    WHIT_INFO(log, "out of scope");
    const int off = WHIT_LOG_LEVEL_OFF;
    for (auto [central, local] : {std::pair(2, 2), {1, 1}, {4, 1}, {4, off}}) {
        logger.set_levels(static_cast<uint8_t>(central), static_cast<uint8_t>(local));
        spans(logger);
    }
    for (int number = 0; number < 10; number++)
        WHIT_LIMITED(logger, WHIT_LOG_LEVEL_INFO, 3, 3600000, "limited {}", number);
    static auto by_count = whit::RepeatGuard::count(3), by_time = whit::RepeatGuard::interval(3600000),
                by_both = whit::RepeatGuard::both(2, 3600000), by_either = whit::RepeatGuard::either(3, 3600000);
    guarded(logger, by_count, "count", 7);
    guarded(logger, by_time, "time", 5);
    guarded(logger, by_both, "both", 5);
    guarded(logger, by_either, "either", 7);
    by_either.reset();
    guarded(logger, by_either, "reset", 2);
}

template <class Call> void burst(const char *name, Call call)
{
    std::vector<double> means;
    for (int round = 0; round < 51; ++round) {
        drain(directory);
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 10000; ++i) call(i);
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        means.push_back(took.count() / 10000);
    }
    std::sort(means.begin(), means.end());
    std::printf("%s %.2f\n", name, means[25]);
}

static void bench()
{
    whit::Logger log("bench");
    log.set_levels(4, 4);
    std::string text = "a text of forty bytes, which is copied..";
    burst("disabled", [&](int i) { WHIT_DEBUG(log, "{} {} {}", i, 2.5, i); });
    burst("three", [&](int i) { WHIT_INFO(log, "{} {} {}", i, static_cast<double>(i), -5); });
    burst("text", [&](int) { WHIT_INFO(log, "{}", text); });
}

int main(int count, char **words)
{
    if (count != 3) return 64;
    whit_log_settings settings;
    whit_log_defaults(&settings);
    settings.directory = directory = words[2];
    settings.host_name = "host";
    const bool has_features = !std::strcmp(words[1], "features");
    if (has_features) settings.ring_bytes = 1 << 18;
    std::memset(settings.policies, has_features ? WHIT_LOG_GROW : WHIT_LOG_OVERWRITE, sizeof settings.policies);
    if (!whit::log_start(&settings)) return 1;
    if (!std::strcmp(words[1], "everything")) everything();
    else if (has_features) features();
    else if (!std::strcmp(words[1], "bench")) bench();
    else return 64;
    return 0;
}
