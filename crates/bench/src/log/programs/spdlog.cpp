// spdlog's asynchronous logger with its defaults: a queue of 8192 messages, a thread, a file.
#include "contest.hpp"
#define SPDLOG_COMPILED_LIB
#define SPDLOG_SHARED_LIB
#define SPDLOG_FMT_EXTERNAL
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

int main(int count, char **words)
{
    const contest::Arguments given = contest::arguments(count, words);
    auto log = spdlog::basic_logger_mt<spdlog::async_factory>("contest", given.folder + "/output");
    log->set_level(spdlog::level::info);
    auto rest = [&] {
        while (spdlog::thread_pool()->queue_size() > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    if (given.name == "three" || given.name == "paced")
        contest::run(given, [&](unsigned thread, unsigned number) {
            log->info("call {} {} {}", thread, number, number + 0.5);
        }, rest);
    else if (given.name == "text" || given.name == "paced text")
        contest::run(given, [&](unsigned, unsigned) { log->info("{}", contest::text()); }, rest);
    else if (given.name == "disabled")
        contest::run(given, [&](unsigned thread, unsigned number) {
            log->debug("call {} {} {}", thread, number, number + 0.5);
        }, rest);
    else
        return 2;
    spdlog::shutdown();
    return 0;
}
