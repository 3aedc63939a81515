// Writes the conformance list through the C++ client's macros.
#include "list.h"

#include "whit_log.hpp"

/// A logger that the list has made.
struct Made {
    const whit_log_logger *log;
    const whit_log_logger *get() const { return log; }
};

template <uint8_t level> static void log_at(const Made &log, const row *row)
{
    const auto i = row->i;
    switch (row->form) {
    case 0: WHIT_AT(log, level, "constant text"); break;
    case 1: WHIT_AT(log, level, "100% of {{braces}}"); break;
    case 2: WHIT_AT(log, level, "signed {}", i); break;
    case 3: WHIT_AT(log, level, "unsigned {}", row->u); break;
    case 4: WHIT_AT(log, level, "float {:.3f}", row->f); break;
    case 5: WHIT_AT(log, level, "text {}", row->t); break;
    case 6: WHIT_AT(log, level, "mixed {} {} {} {}", std::string(row->t), i, std::string_view(row->s), row->u); break;
    case 7:
        WHIT_WITH(log, level,
                  ({"Signed", i}, {"Unsigned", row->u}, {"Float", row->f}, {"Is", row->is != 0}, {"Text", row->t}),
                  "data {}", i);
        break;
    case 8:
        WHIT_WITH(log, level, ({"StackId", row->s}, {"StackLevel", i}, {"exception.stacktrace", row->t}),
                  "failed: {}", row->t);
        break;
    case 9:
        WHIT_AT(log, level, "many {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
        break;
    case 10: WHIT_AT(log, level, "{}", row->t); break;
    default: abort();
    }
}

static void log_row(const whit_log_logger *logger, const row *row)
{
    const Made log{logger};
    switch (row->level) {
    case 1: return log_at<1>(log, row);
    case 2: return log_at<2>(log, row);
    case 3: return log_at<3>(log, row);
    case 4: return log_at<4>(log, row);
    case 5: return log_at<5>(log, row);
    case 6: return log_at<6>(log, row);
    case 8: return log_at<8>(log, row);
    case 9: return log_at<9>(log, row);
    case 10: return log_at<10>(log, row);
    case 11: return log_at<11>(log, row);
    default: abort();
    }
}

int main(int count, char **words)
{
    if (count != 3) return 64;
    whit::log_start();
    return run_list(words[1], atol(words[2]));
}
