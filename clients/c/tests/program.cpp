// What the tests of the C++ client run: a role and a directory.
#include <chrono>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
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
    std::memset(settings.policies, WHIT_LOG_OVERWRITE, sizeof settings.policies);
    if (!whit::log_start(&settings)) return 1;
    if (!std::strcmp(words[1], "everything")) everything();
    else if (!std::strcmp(words[1], "bench")) bench();
    else return 64;
    return 0;
}
