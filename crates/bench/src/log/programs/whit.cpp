// Whit's client in C++, beside others.  A proxy reads the rings.
#include "contest.hpp"
#include "whit_log.hpp"

int main(int count, char **words)
{
    const contest::Arguments given = contest::arguments(count, words);
    whit_log_settings settings;
    whit_log_defaults(&settings);
    settings.directory = given.folder.c_str();
    settings.process_name = "contest";
    if (!whit::log_start(&settings)) return 3;
    whit::Logger log("contest");
    log.set_levels(WHIT_LOG_LEVEL_INFO, WHIT_LOG_LEVEL_INFO);
    bool lost = false;
    auto rest = [&] { lost |= !whit_log_flush(WHIT_LOG_TIER_READ, 60000000000); };
    if (given.name == "three" || given.name == "paced")
        contest::run(given, [&](unsigned thread, unsigned number) {
            WHIT_INFO(log, "call {} {} {}", thread, number, number + 0.5);
        }, rest);
    else if (given.name == "text" || given.name == "paced text")
        contest::run(given, [&](unsigned, unsigned) { WHIT_INFO(log, "{}", contest::text()); }, rest);
    else if (given.name == "disabled")
        contest::run(given, [&](unsigned thread, unsigned number) {
            WHIT_DEBUG(log, "call {} {} {}", thread, number, number + 0.5);
        }, rest);
    else
        return 2;
    whit_log_end();
    return lost ? 4 : 0;
}
