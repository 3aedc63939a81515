// Logging into rings in shared memory, for C++17: `{}`-style macros on whit_log.h.
//
//     whit::log_start();
//     whit::Logger log("CONTROL/PM01");
//     WHIT_INFO(log, "antenna {} at {:.3f} degrees", 7, 45.25);
//
// The compiler counts the placeholders.  Arguments may be integers, enumerations, floats, bool, char,
// std::string, std::string_view, C texts and pointers.
#ifndef WHIT_LOG_HPP
#define WHIT_LOG_HPP

#include <cerrno>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "whit_log.h"

namespace whit {

/// Starts logging; false: the rings do not survive the process.  Throws std::system_error.
inline bool log_start(const whit_log_settings *settings = nullptr)
{
    int result = whit_log_start(settings);
    if (result < 0) throw std::system_error(errno, std::generic_category(), "start of logging");
    return result == 0;
}

/// A named logger.
class Logger {
public:
    explicit Logger(const char *name, std::initializer_list<whit_log_pair> pairs = {})
    {
        if (whit_log_logger_make(&logger_, name, pairs.begin(), pairs.size()) != 0)
            throw std::system_error(errno, std::generic_category(), name);
    }
    const whit_log_logger *get() const { return &logger_; }
    void set_levels(uint8_t central, uint8_t local) const { whit_log_set_levels(&logger_, central, local); }

private:
    whit_log_logger logger_;
};

/// ACS's repeat guard: `static whit::RepeatGuard guard = whit::RepeatGuard::count(100);`, and then
/// `if (auto suppressed = guard.check(); suppressed >= 0) ...`.
class RepeatGuard {
public:
    static constexpr RepeatGuard count(uint64_t every) { return RepeatGuard(WHIT_LOG_GUARD_COUNT(every)); }
    static constexpr RepeatGuard interval(uint64_t interval_ms)
    {
        return RepeatGuard(WHIT_LOG_GUARD_INTERVAL(interval_ms));
    }
    static constexpr RepeatGuard both(uint64_t every, uint64_t interval_ms)
    {
        return RepeatGuard(WHIT_LOG_GUARD_BOTH(every, interval_ms));
    }
    static constexpr RepeatGuard either(uint64_t every, uint64_t interval_ms)
    {
        return RepeatGuard(WHIT_LOG_GUARD_EITHER(every, interval_ms));
    }
    /// Counts a call.  -1: do not log; else log, and say that so many calls before it were suppressed.
    int64_t check() { return whit_log_guard_check(&guard_); }
    /// Begins anew, as if there had been no call.
    void reset() { whit_log_guard_reset(&guard_); }

private:
    explicit constexpr RepeatGuard(whit_log_repeat_guard guard) : guard_(guard) {}
    whit_log_repeat_guard guard_;
};

/// Names and values for all records of this thread, before those of scopes around it, until the end of the
/// block.
class ContextScope {
public:
    explicit ContextScope(std::initializer_list<whit_log_pair> pairs)
        : before_(whit_log_enter_scope(pairs.begin(), pairs.size())) {}
    ~ContextScope() { whit_log_set_scope(before_); }
    ContextScope(const ContextScope &) = delete;
    ContextScope &operator=(const ContextScope &) = delete;

private:
    uint32_t before_;
};

namespace log_detail {

template <class T> constexpr uint8_t type_of()
{
    using U = std::decay_t<T>;
    if constexpr (std::is_same_v<U, bool>) return WHIT_LOG_BOOL;
    else if constexpr (std::is_same_v<U, char>) return WHIT_LOG_CHAR;
    else if constexpr (std::is_enum_v<U>) return type_of<std::underlying_type_t<U>>();
    else if constexpr (std::is_integral_v<U>) return std::is_signed_v<U> ? WHIT_LOG_SIGNED : WHIT_LOG_UNSIGNED;
    else if constexpr (std::is_same_v<U, float>) return WHIT_LOG_FLOAT32;
    else if constexpr (std::is_floating_point_v<U>) return WHIT_LOG_FLOAT;
    // It would convert to a text without an end.
    else if constexpr (std::is_null_pointer_v<U>) return WHIT_LOG_POINTER;
    else if constexpr (std::is_convertible_v<const U &, std::string_view>) return WHIT_LOG_TEXT;
    else if constexpr (std::is_pointer_v<U>) return WHIT_LOG_POINTER;
    else return 0;
}

template <class T> WHIT_LOG_INLINE whit_log_value value_of(const T &argument)
{
    using U = std::decay_t<T>;
    constexpr uint8_t type = type_of<T>();
    static_assert(type != 0, "a log argument is a number, bool, char, text or pointer");
    if constexpr (type == WHIT_LOG_TEXT) {
        if constexpr (std::is_pointer_v<U>) {
            return whit_log_of_text(argument);
        } else {
            std::string_view view(argument);
            return whit_log_of_bytes(view.data(), view.size());
        }
    } else if constexpr (type == WHIT_LOG_FLOAT || type == WHIT_LOG_FLOAT32) {
        return whit_log_of_float(static_cast<double>(argument));
    } else if constexpr (type == WHIT_LOG_POINTER) {
        whit_log_value value = {reinterpret_cast<uint64_t>(static_cast<const void *>(argument)), nullptr, 0, type};
        return value;
    } else if constexpr (type == WHIT_LOG_CHAR) {
        whit_log_value value = {static_cast<unsigned char>(argument), nullptr, 0, type};
        return value;
    } else {
        whit_log_value value = {static_cast<uint64_t>(argument), nullptr, 0, type};
        return value;
    }
}

/// A name and a value of one record.
struct Attribute : whit_log_attribute {
    template <class T> Attribute(const char *name, const T &value) : whit_log_attribute{name, value_of(value)} {}
};

/// Placeholders of a format; -1: it is malformed, or names or numbers one.
constexpr int placeholders(std::string_view format)
{
    int count = 0;
    for (size_t at = 0; at < format.size(); ++at) {
        if (format[at] == '}') {
            if (at + 1 >= format.size() || format[at + 1] != '}') return -1;
            ++at;
        } else if (format[at] == '{') {
            if (at + 1 < format.size() && format[at + 1] == '{') {
                ++at;
                continue;
            }
            size_t inner = at + 1;
            if (inner < format.size() && format[inner] != '}' && format[inner] != ':') return -1;
            while (inner < format.size() && format[inner] != '}') {
                if (format[inner] == '{') return -1;
                ++inner;
            }
            if (inner >= format.size()) return -1;
            at = inner;
            ++count;
        }
    }
    return count;
}

template <class... T> struct Types {
    static constexpr uint8_t list[sizeof...(T) + 1] = {type_of<T>()..., 0};
};

template <uint8_t Level, class... V>
WHIT_LOG_INLINE void write(whit_log_site &site, const whit_log_logger *logger, const char *routine,
                           const V... values)
{
    whit_log_state *state = whit_log_current;
    const uint64_t size = (uint64_t(24) + ... + whit_log_value_bytes(&values));
    unsigned char *to = whit_log_begin(state, &site, size);
    if (__builtin_expect(to != nullptr, 1)) {
        unsigned char *next = to + 24;
        ((next = whit_log_value_store(next, &values)), ...);
        (void)next;
        whit_log_commit(state, to, &site, logger, Level, size);
    } else {
        const whit_log_value all[] = {values..., {0, nullptr, 0, 0}};
        __atomic_store_n(&site.routine, routine, __ATOMIC_RELAXED);
        whit_log_slow(&site, logger, Level, all, sizeof...(V));
    }
}

/// The site of a call: `Place` makes one for each call, `T` for each set of types.
template <uint8_t Level, class Place, class... T> WHIT_LOG_INLINE whit_log_site &site_of()
{
    static whit_log_site site = {0, Place::line(), Place::file(), nullptr, Place::format(), Types<T...>::list,
                                 Level, sizeof...(T), 4, 0};
    static_assert(sizeof...(T) <= 16, "a log call takes up to 16 arguments");
    static_assert(placeholders(Place::format()) >= 0, "a log format has {} or {:...} only");
    static_assert(placeholders(Place::format()) == static_cast<int>(sizeof...(T)),
                  "as many arguments as placeholders");
    return site;
}

template <uint8_t Level, class Place, class... T>
WHIT_LOG_INLINE void call(Place, const whit_log_logger *logger, const char *routine, const T &...arguments)
{
    write<Level>(site_of<Level, Place, T...>(), logger, routine, value_of(arguments)...);
}

/// The most records in an interval, and the state of that; `state` is null: there is no limit.
struct Limit {
    whit_log_limit *state;
    uint64_t count_max, interval_ms;
};

template <uint8_t Level, class Place, class... T>
void call_slowly(Place, const whit_log_logger *logger, const char *routine, Limit limit,
                 std::initializer_list<Attribute> attributes, const T &...arguments)
{
    whit_log_site &site = site_of<Level, Place, T...>();
    __atomic_store_n(&site.routine, routine, __ATOMIC_RELAXED);
    if (limit.state &&
        !whit_log_limit_admits(limit.state, limit.count_max, limit.interval_ms, &site, logger, Level))
        return;
    static_assert(sizeof(Attribute) == sizeof(whit_log_attribute), "an array of one is an array of the other");
    const whit_log_value all[] = {value_of(arguments)..., {0, nullptr, 0, 0}};
    whit_log_slow_with(&site, logger, Level, all, sizeof...(T), attributes.begin(),
                       static_cast<unsigned>(attributes.size()));
}

} // namespace log_detail
} // namespace whit

#define WHIT_PLACE(text)                                               \
    struct WhitLogPlace {                                              \
        static constexpr const char *format() { return text; }         \
        static constexpr const char *file() { return __FILE__; }       \
        static constexpr uint32_t line() { return __LINE__; }          \
    }

#define WHIT_AT(logger, level, text, ...)                                                            \
    do {                                                                                             \
        const whit_log_logger *whit_log_l = (logger).get();                                          \
        if (__builtin_expect(whit_log_is_enabled(whit_log_l, (level)), 1)) {                         \
            WHIT_PLACE(text);                                                                        \
            ::whit::log_detail::call<(level)>(WhitLogPlace(), whit_log_l, __func__, ##__VA_ARGS__);  \
        }                                                                                            \
    } while (0)

// Logs with attributes, names and values of this record alone: WHIT_WITH(log, WHIT_LOG_LEVEL_ERROR,
// ({"FullPath", path}, {"Line", 7}), "cannot open {}", name);
#define WHIT_WITH(logger, level, attributes, text, ...)                                              \
    do {                                                                                             \
        const whit_log_logger *whit_log_l = (logger).get();                                          \
        if (__builtin_expect(whit_log_is_enabled(whit_log_l, (level)), 1)) {                         \
            WHIT_PLACE(text);                                                                        \
            ::whit::log_detail::call_slowly<(level)>(WhitLogPlace(), whit_log_l, __func__, {nullptr, 0, 0}, \
                                                     {WHIT_LOG_UNPACK attributes}, ##__VA_ARGS__);   \
        }                                                                                            \
    } while (0)

// Logs at most so many records in so many milliseconds; what was suppressed is said with the next one.
#define WHIT_LIMITED(logger, level, count, interval_ms, text, ...)                                   \
    do {                                                                                             \
        const whit_log_logger *whit_log_l = (logger).get();                                          \
        if (__builtin_expect(whit_log_is_enabled(whit_log_l, (level)), 1)) {                         \
            static whit_log_limit whit_log_m;                                                        \
            WHIT_PLACE(text);                                                                        \
            ::whit::log_detail::call_slowly<(level)>(WhitLogPlace(), whit_log_l, __func__,           \
                                                     {&whit_log_m, (count), (interval_ms)}, {}, ##__VA_ARGS__); \
        }                                                                                            \
    } while (0)

// As WHIT_LOG_TRACE_SCOPE, WHIT_LOG_STOP_WATCH and WHIT_LOG_SYNC.
#define WHIT_TRACE_SCOPE(logger) WHIT_LOG_TRACE_SCOPE((logger).get())
#define WHIT_STOP_WATCH(logger, what) WHIT_LOG_STOP_WATCH((logger).get(), what)
#define WHIT_SYNC(logger, level, tier, timeout_ns, ...) \
    __extension__({                                     \
        WHIT_AT(logger, level, __VA_ARGS__);            \
        whit_log_flush((tier), (timeout_ns));           \
    })

#define WHIT_TRACE(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_TRACE, __VA_ARGS__)
#define WHIT_DELOUSE(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_DELOUSE, __VA_ARGS__)
#define WHIT_DEBUG(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define WHIT_INFO(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_INFO, __VA_ARGS__)
#define WHIT_NOTICE(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_NOTICE, __VA_ARGS__)
#define WHIT_WARNING(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_WARNING, __VA_ARGS__)
#define WHIT_ERROR(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_ERROR, __VA_ARGS__)
#define WHIT_CRITICAL(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_CRITICAL, __VA_ARGS__)
#define WHIT_ALERT(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_ALERT, __VA_ARGS__)
#define WHIT_EMERGENCY(logger, ...) WHIT_AT(logger, WHIT_LOG_LEVEL_EMERGENCY, __VA_ARGS__)

#endif
