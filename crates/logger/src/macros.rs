//! `log_info!(logger, "text {} {}", a, b)` and its nine relatives.
//!
//! Arguments are evaluated only when the level is enabled.  Numbers, `bool`, `char`, texts and what
//! is wrapped by `debug(&x)` or `display(&x)` can be arguments; up to 16.  The format is checked
//! when the program is compiled.

/// Logs at a level: `log_at!(logger, LogLevel::Info, "text {}", a)`, or with attributes:
/// `log_at!(logger, LogLevel::Info, data: {"name" => value}, "text {}", a)`.
#[macro_export]
macro_rules! log_at {
    ($logger:expr, $level:expr, data: {$($name:expr => $value:expr),* $(,)?},
     $format:literal $(, $argument:expr)* $(,)?) => {{
        let logger: &$crate::Logger = &$logger;
        if logger.is_enabled($level) {
            static SITE: $crate::CallSite = $crate::call_site!($level, $format $(, $argument)*);
            if false {
                let _ = ::core::format_args!($format $(, $argument)*);
            }
            $crate::__private::emit_with(
                $level,
                &SITE,
                logger,
                ($(&$argument,)*),
                &[$(($name, $crate::__private::AsLogValue::as_log_value(&$value))),*],
            );
        }
    }};
    ($logger:expr, $level:expr, $format:literal $(, $argument:expr)* $(,)?) => {{
        let logger: &$crate::Logger = &$logger;
        if logger.is_enabled($level) {
            static SITE: $crate::CallSite = $crate::call_site!($level, $format);
            if false {
                let _ = ::core::format_args!($format $(, $argument)*);
            }
            $crate::emit($level, &SITE, logger, &($(&$argument,)*));
        }
    }};
}

/// Logs at a level and waits until the record is as safe as a tier says, not for longer than a
/// time-out: `log_sync!(logger, LogLevel::Alert, Tier::Central, Duration::from_secs(1), "text {}", a)`
/// gives a `FlushResult`.  A disabled level waits for nothing that was not logged before.
#[macro_export]
macro_rules! log_sync {
    ($logger:expr, $level:expr, $tier:expr, $timeout:expr, $($rest:tt)*) => {{
        $crate::log_at!($logger, $level, $($rest)*);
        $crate::flush($tier, $timeout)
    }};
}

/// The static of a log call.
#[doc(hidden)]
#[macro_export]
macro_rules! call_site {
    ($level:expr, $format:literal $(, $argument:expr)*) => {{
        const _: () = $crate::check_format($format);
        fn here() {}
        fn routine() -> &'static str {
            ::core::any::type_name_of_val(&here)
        }
        $crate::CallSite::new(::core::file!(), ::core::line!(), routine, $level, $format)
    }};
}

/// What macros need.
#[doc(hidden)]
pub mod __private {
    pub use crate::site::emit_with;
    use logring::LogValue;

    /// A value of an attribute.
    pub trait AsLogValue {
        fn as_log_value(&self) -> LogValue<'_>;
    }

    macro_rules! values {
        ($($type:ty, $value:ident => $made:expr;)*) => {$(
            impl AsLogValue for $type {
                fn as_log_value(&self) -> LogValue<'_> {
                    let $value = self;
                    $made
                }
            }
        )*};
    }

    values! {
        i8, value => LogValue::Signed(i64::from(*value));
        i16, value => LogValue::Signed(i64::from(*value));
        i32, value => LogValue::Signed(i64::from(*value));
        i64, value => LogValue::Signed(*value);
        isize, value => LogValue::Signed(*value as i64);
        u8, value => LogValue::Unsigned(u64::from(*value));
        u16, value => LogValue::Unsigned(u64::from(*value));
        u32, value => LogValue::Unsigned(u64::from(*value));
        u64, value => LogValue::Unsigned(*value);
        usize, value => LogValue::Unsigned(*value as u64);
        f32, value => LogValue::Float(f64::from(*value));
        f64, value => LogValue::Float(*value);
        bool, value => LogValue::Bool(*value);
        char, value => LogValue::Char(*value);
        str, value => LogValue::Text(value.as_bytes());
        String, value => LogValue::Text(value.as_bytes());
    }

    impl<T: AsLogValue + ?Sized> AsLogValue for &T {
        fn as_log_value(&self) -> LogValue<'_> {
            T::as_log_value(self)
        }
    }
}

macro_rules! level_macros {
    ($dollar:tt $($name:ident $level:ident $text:literal;)*) => {$(
        #[doc = concat!("Logs at level ", $text, ": `", stringify!($name), "!(logger, \"text {}\", a)`.")]
        #[macro_export]
        macro_rules! $name {
            ($dollar logger:expr, $dollar($dollar rest:tt)*) => {
                $dollar crate::log_at!($dollar logger, $dollar crate::LogLevel::$level, $dollar($dollar rest)*)
            };
        }
    )*};
}

level_macros! { $
    log_trace Trace "TRACE";
    log_delouse Delouse "DELOUSE";
    log_debug Debug "DEBUG";
    log_info Info "INFO";
    log_notice Notice "NOTICE";
    log_warning Warning "WARNING";
    log_error Error "ERROR";
    log_critical Critical "CRITICAL";
    log_alert Alert "ALERT";
    log_emergency Emergency "EMERGENCY";
}

/// Logs at most so many records in so many milliseconds:
/// `log_limited!(logger, LogLevel::Info, 10 per 1000 ms, "text {}", a)`.  What was suppressed is
/// said with the next record, or when the interval has passed.
#[macro_export]
macro_rules! log_limited {
    ($logger:expr, $level:expr, $count:literal per $millis:literal ms,
     $format:literal $(, $argument:expr)* $(,)?) => {{
        let logger: &$crate::Logger = &$logger;
        if logger.is_enabled($level) {
            static LIMIT: $crate::RateLimit = $crate::RateLimit::new($count, $millis);
            static SITE: $crate::CallSite = $crate::call_site!($level, $format);
            if false {
                let _ = ::core::format_args!($format $(, $argument)*);
            }
            LIMIT.emit($level, &SITE, logger, &($(&$argument,)*));
        }
    }};
}

/// Logs that a function begins, and at the end of the block that it ends, with its time:
/// `let _trace = trace_scope!(logger);`.
#[macro_export]
macro_rules! trace_scope {
    ($logger:expr) => {{
        static ENTRY: $crate::CallSite =
            $crate::call_site!($crate::LogLevel::Trace, "").with_role(1);
        static EXIT: $crate::CallSite =
            $crate::call_site!($crate::LogLevel::Trace, "").with_role(2);
        $crate::TraceScope::enter(&$logger, &ENTRY, &EXIT)
    }};
}

/// Measures until the end of the block, and logs the time at level DEBUG:
/// `let _watch = stop_watch!(logger, "reading");`.
#[macro_export]
macro_rules! stop_watch {
    ($logger:expr, $what:literal) => {{
        static SITE: $crate::CallSite = $crate::CallSite::new(
            ::core::file!(),
            ::core::line!(),
            || ::core::module_path!(),
            $crate::LogLevel::Debug,
            $what,
        )
        .with_role(3);
        $crate::StopWatch::begin(&$logger, &SITE)
    }};
}
