//! Programs that log and then live, fork, end or are killed: what they wrote is found, once.
//!
//! Each case is a child process of this test: `child` below, with a role.  Its rings are read by
//! the parent, as a consumer would.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use logger::{
    ContextScope, FullPolicy, LogConfig, LogLevel, Logger, Tier, debug, log_at, log_debug,
    log_error, log_info, log_limited, log_warning, stop_watch, trace_scope,
};
use logring::{Batch, Doorbell, ProcessFile, RingDirectory, SiteRole, abi};
use reading::{
    Found, Read, TimeSpan, assert_all_completed, assert_throttled, folder, numbers, read_folder,
    read_more, read_ring, ring_sizes,
};

use testkit::{PATIENCE, Running, own_test};

mod growth;
mod reading;

const ROLE: &str = "WHIT_LOG_ROLE";
const FOLDER: &str = "WHIT_LOG_FOLDER";

/// Starts this program again, in a role.
fn start(role: &str, folder: &Path) -> Running {
    let mut command = own_test("child");
    Running::start(command.env(ROLE, role).env(FOLDER, folder).stdout(Stdio::piped()))
}

/// Runs a role to its end; gives what it printed.
fn run(role: &str, folder: &Path) -> String {
    let mut child = start(role, folder);
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.ended().success(), "{role}: {said}");
    said
}

fn config(folder: &Path) -> LogConfig {
    LogConfig::new(folder, "host", "test")
}

/// A small ring with one policy for all levels.
fn small(folder: &Path, policy: FullPolicy) -> LogConfig {
    let mut config = config(folder);
    config.rings.ring_bytes = 8192;
    config.rings.ring_bytes_max = 64 << 10;
    config.rings.block_timeout_ns = 200_000_000;
    config.set_policy(policy);
    config
}

/// Not a test of its own: what a child does.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    match role.as_str() {
        "everything" => everything(&folder),
        "endless" => endless(&folder),
        "fork" => fork(&folder),
        "churn" => churn(&folder),
        "signal" => signal(&folder),
        "late" => late(&folder),
        "clocks" => {
            let mut config = config(&folder);
            config.rings.tsc = Some(false);
            logger::start(config).unwrap();
            log_info!(Logger::new("clock").unwrap(), "{}", logring::clock::realtime_ns());
        }
        "cut" => {
            logger::start(small(&folder, FullPolicy::Block)).unwrap();
            log_info!(Logger::new("cut").unwrap(), "{} {}", 7, "x".repeat(100_000));
        }
        "full-drop" => fill(small(&folder, FullPolicy::DropNewest), 1000),
        "full-overwrite" => fill(small(&folder, FullPolicy::OverwriteOldest), 1000),
        "full-grow" => fill(small(&folder, FullPolicy::Grow), 1000),
        "full-block" => fill(small(&folder, FullPolicy::Block), 1000),
        "attached" => attached(&folder),
        "burst" => growth::burst(&folder),
        "flush" => flush(&folder),
        "throttle" => throttle(&folder),
        "report" => report(&folder),
        "exec" => exec(&folder),
        "exec-2" => log_info!(started(config(&folder)), "{} after exec", 2),
        "error" => {
            let log = started(config(&folder));
            println!("ready");
            testkit::wait_until("the consumer sleeps soon", || folder.join("go").exists());
            log_error!(log, "{}", 1);
        }
        "level" => {
            let log = started(config(&folder));
            log.set_levels(6, 6);
            println!("ready");
            while !log.is_enabled(LogLevel::Debug) {
                std::thread::sleep(Duration::from_millis(1));
            }
            log_debug!(log, "{} now", 1);
        }
        "overwrite-live" => {
            let log = started(small(&folder, FullPolicy::OverwriteOldest));
            for number in 0..2_000_000u64 {
                log_info!(log, "{}", number);
            }
        }
        "tmpfs" => tmpfs(&folder),
        other => panic!("{other}"),
    }
}

fn everything(folder: &Path) {
    let mut config = config(folder);
    config.set_acs("quiet:minLogLevel", "ERROR").unwrap();
    config.set_acs("quiet:minLogLevelLocal", "ERROR").unwrap();
    let _logging = logger::start(config).unwrap();
    let log = Logger::new("CONTROL/PM01").unwrap();
    let quiet = Logger::new("quiet").unwrap();
    log_warning!(quiet, "never {}", panic_if_evaluated());
    for level in LogLevel::ALL {
        // A macro's level is a constant; this is the same place for all of them.
        match level {
            LogLevel::Emergency => log_at!(log, LogLevel::Emergency, "level {}", level.number()),
            LogLevel::Trace => logger::log_trace!(log, "not made: {}", level.number()),
            _ => log_info!(log, "level {}", level.number()),
        }
    }
    let text = String::from("owned");
    log_error!(log, "{} {} {} {} {} {} {}", -1i8, u64::MAX, 2.5f32, true, 'ä', "text", &text);
    log_info!(log, "{} {:>8}", debug(&Some(3)), "");
    log_error!(log, data: {"FullPath" => "/tmp/x", "StackLevel" => 2}, "cannot open {}", 5);
    let antenna = log.with(&[("Antenna", "DV01"), ("Audience", "Operator")]);
    log_debug!(antenna, "at antenna {}", 1);
    {
        let _scope = ContextScope::enter(&[("Array", "A1")]);
        log_info!(antenna, "in scope {}", 2);
    }
    log_info!(antenna, "out of scope {}", 3);
    log.set_levels(1, 1);
    {
        let _trace = trace_scope!(log);
        let _watch = stop_watch!(log, "reading");
    }
    for number in 0..10 {
        log_limited!(log, LogLevel::Info, 3 per 60000 ms, "limited {}", number);
    }
    generic(&log, 7u64);
    generic(&log, "seven");
    generic(&log, 8u64);
}

fn panic_if_evaluated() -> u32 {
    panic!("an argument of a disabled call was evaluated")
}

fn generic<T: logger::Argument + std::fmt::Display>(log: &Logger, value: T) {
    log_info!(log, "generic {}", value);
}

/// Logs numbers; after each call notes in a file how many calls were completed.
fn endless(folder: &Path) {
    let log = started(config(folder));
    let note = std::fs::File::create(folder.join("completed")).unwrap();
    for number in 0u64..1_000_000 {
        log_info!(log, "{} {}", number, "some text");
        note.write_all_at(&(number + 1).to_le_bytes(), 0).unwrap();
        if number == 0 {
            println!("ready");
        }
    }
}

fn started(config: LogConfig) -> Logger {
    logger::start(config).unwrap();
    Logger::new("test").unwrap()
}

/// Logs, forks without exec, and goes on in parent and children; the children also find new places.
fn fork(folder: &Path) {
    let log = started(config(folder));
    log_info!(log, "{} before", 0);
    for child in 1..=3u64 {
        // SAFETY: the child only logs and leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => {
                for number in 0..1000 {
                    log_info!(log, "{} in the child", child * 10_000 + number);
                }
                log_warning!(Logger::new("of the child").unwrap(), "{} new place", child);
                std::thread::spawn(move || log_info!(log, "{} thread of the child", child))
                    .join()
                    .unwrap();
                // SAFETY: ends this process.
                unsafe { libc::_exit(0) };
            }
            pid => {
                for number in 0..100 {
                    log_info!(log, "{} in the parent", child * 100 + number);
                }
                // SAFETY: waits for the child that was made.
                unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
            }
        }
    }
    log_info!(log, "{} after", 999);
}

/// A thousand threads, 20 at once.
fn churn(folder: &Path) {
    let log = started(config(folder));
    for round in 0..50u64 {
        let threads: Vec<_> = (0..20u64)
            .map(|at| std::thread::spawn(move || log_info!(log, "{}", round * 20 + at)))
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

static SIGNAL_LOGGER: OnceLock<Logger> = OnceLock::new();
static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: i32) {
    let number = SIGNALS.fetch_add(1, Ordering::Relaxed);
    if let Some(log) = SIGNAL_LOGGER.get() {
        log_info!(log, "{} in the handler", number);
    }
}

/// A timer's signal interrupts log calls, and its handler logs.
fn signal(folder: &Path) {
    let mut config = config(folder);
    config.rings.ring_bytes = 64 << 20;
    let log = started(config);
    SIGNAL_LOGGER.set(log).unwrap();
    log_info!(log, "{} first", 0);
    // Not shorter: each signal makes the sleep below longer, by the slack of timers (50 us).
    let timer = signal_this_thread(250_000);
    let mut own = 1u64;
    while SIGNALS.load(Ordering::Relaxed) < 500 {
        log_info!(log, "{} own", own);
        own += 1;
        if own > 1_200_000 {
            break;
        }
        if own.is_multiple_of(50_000) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // SAFETY: the timer is the one made above, and is deleted once.
    unsafe { libc::timer_delete(timer) };
    println!("own={own} signals={}", SIGNALS.load(Ordering::Relaxed));
}

/// Sends SIGALRM to this thread every `interval_ns`.  A signal to the process would go to the main
/// thread, which waits for the tests and logs nothing.
fn signal_this_thread(interval_ns: i64) -> libc::timer_t {
    // SAFETY: the structures are plain numbers and outlive the calls; the handler only logs.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()), 0);
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
        let interval = libc::timespec { tv_sec: 0, tv_nsec: interval_ns };
        let time = libc::itimerspec { it_interval: interval, it_value: interval };
        assert_eq!(libc::timer_settime(timer, 0, &time, std::ptr::null_mut()), 0);
        timer
    }
}

struct LogsWhenDropped(Logger);

impl Drop for LogsWhenDropped {
    fn drop(&mut self) {
        log_info!(self.0, "{} destructor", 2);
    }
}

extern "C" fn at_exit() {
    log_info!(SIGNAL_LOGGER.get().unwrap(), "{} at exit", 3);
}

extern "C" fn key_ends(_: *mut libc::c_void) {
    log_info!(SIGNAL_LOGGER.get().unwrap(), "{} after the ring", 4);
}

/// Destructors of a thread, keys of a thread whose ring was given back, and functions at exit log.
fn late(folder: &Path) {
    thread_local!(static LATE: RefCell<Option<LogsWhenDropped>> = const { RefCell::new(None) });
    let log = started(config(folder));
    SIGNAL_LOGGER.set(log).unwrap();
    std::thread::spawn(move || {
        let mut key = 0;
        // SAFETY: made after the ring's key, so its destructor runs after that one's.
        unsafe {
            libc::pthread_key_create(&mut key, Some(key_ends));
            libc::pthread_setspecific(key, std::ptr::dangling());
        }
        LATE.with(|late| *late.borrow_mut() = Some(LogsWhenDropped(log)));
        log_info!(log, "{} in the thread", 1);
    })
    .join()
    .unwrap();
    // SAFETY: the function is of this program.
    unsafe { libc::atexit(at_exit) };
}

/// Fills a ring without a reader.
fn fill(config: LogConfig, count: u64) {
    let log = started(config);
    for number in 0..count {
        log_info!(log, "{}", number);
    }
}

/// A thread that logs, one that asks for its whole ring, and one more for which there is no room.
fn attached(folder: &Path) {
    let mut config = config(folder);
    config.rings.ring_bytes = 256 << 10;
    config.rings.process_bytes_max = 400 << 10;
    let log = started(config);
    log_info!(log, "{}", 0);
    let log = &log;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            logger::attach_thread();
            let other = scope.spawn(move || {
                logger::attach_thread();
                log_info!(log, "{}", 1);
            });
            other.join().unwrap();
            for number in 2..2000u64 {
                log_info!(log, "{}", number);
            }
        });
    });
}

/// Drops, is read, and goes on: what was dropped is said before the next record.
fn report(folder: &Path) {
    let log = started(small(folder, FullPolicy::DropNewest));
    for round in 0..3u64 {
        for number in 0..500u64 {
            log_info!(log, "{}", round * 1000 + number);
        }
        log_warning!(log, "{}", round * 1000 + 999);
        let (process, rings) = logring::writer::local_files().unwrap();
        let mut found = Found::default();
        for mut ring in rings {
            read_ring(&mut ring, &process, &mut found);
        }
        let kept = found.records.len() as u64;
        let said: u64 = found.reported.values().sum();
        println!("round={round} kept={kept} said={said} missing={}", found.missing);
    }
    log_info!(log, "{}", 5000);
}

/// Four threads and a child of `fork` log more than the limit of records in a second.
fn throttle(folder: &Path) {
    let mut config = config(folder);
    config.set_acs("maxLogsPerSecond", "50").unwrap();
    let logging = logger::start(config).unwrap();
    let log = Logger::new("test").unwrap();
    let burst = move |from: u64| {
        for number in 0..500 {
            log_at!(log, LogLevel::Info, "{}", from + number);
            log_error!(log, "{} error", from + number);
        }
    };
    let threads: Vec<_> =
        (0..4).map(|thread| std::thread::spawn(move || burst(thread * 1000))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // SAFETY: the child only logs and leaves by `_exit`.
    unsafe {
        match libc::fork() {
            0 => {
                burst(4000);
                libc::_exit(0);
            }
            pid => libc::waitpid(pid, std::ptr::null_mut(), 0),
        };
    }
    std::thread::sleep(Duration::from_millis(1100));
    burst(5000);
    drop(logging);
}

/// Another program in the same process: it has files of its own.
fn exec(folder: &Path) {
    use std::os::unix::process::CommandExt as _;
    log_info!(started(config(folder)), "{} before exec", 1);
    let error = own_test("child").env(ROLE, "exec-2").exec();
    panic!("{error}");
}

/// Flushes with nobody there, then with a consumer.
fn flush(folder: &Path) {
    let log = started(config(folder));
    log_info!(log, "{}", 1);
    assert!(logger::flush(Tier::Ring, Duration::ZERO).is_safe);
    let nobody = logger::flush(Tier::Read, Duration::from_millis(20));
    assert!(!nobody.is_safe && nobody.remaining_bytes > 0);
    let (mut process, rings) = logring::writer::local_files().unwrap();
    assert!(process.claim().unwrap());
    let consumer = std::thread::spawn(move || {
        let mut batch = Batch::default();
        std::thread::sleep(Duration::from_millis(30));
        for mut ring in rings {
            ring.read(&mut batch, 0).unwrap();
            ring.commit(Tier::Read, batch.end()).unwrap();
            ring.commit(Tier::Central, batch.end()).unwrap();
        }
        process.announce().unwrap();
        process.set_state(logger::ConsumerState::Degraded, 28, "no space on /var").unwrap();
        process.add_undeliverable(1, 5, 10, 20).unwrap();
        process
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    let watch = logger::on_status(move |status| sender.send(status.clone()).unwrap()).unwrap();
    assert!(logger::flush(Tier::Central, Duration::from_secs(60)).is_safe);
    assert!(!logger::flush(Tier::Synced, Duration::from_millis(5)).is_safe);
    let process = consumer.join().unwrap();
    let told = receiver.iter().find(|status| status.range_count == 1).unwrap();
    assert_eq!((told.state, told.failure), (logger::ConsumerState::Degraded, 28));
    assert_eq!(told.message, "no space on /var");
    let range = told.ranges[0];
    assert_eq!(
        (range.ring, range.reason, range.first_sequence, range.last_sequence),
        (1, 5, 10, 20)
    );
    drop(process);
    let lost = receiver.iter().find(|status| status.state == logger::ConsumerState::Lost).unwrap();
    assert!(lost.message.contains("is gone"), "{}", lost.message);
    drop(watch);
}

/// In a mount namespace of its own, on a tmpfs that is full.
fn tmpfs(folder: &Path) {
    let path = std::ffi::CString::new(folder.to_str().unwrap()).unwrap();
    // SAFETY: names end with NUL; the namespace is this process's own.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(
                c"none".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"size=600k,mode=700".as_ptr().cast(),
            ) == 0
    };
    if !mounted {
        println!("refused: {}", std::io::Error::last_os_error());
        return;
    }
    let logging = logger::start(config(folder)).unwrap();
    let log = Logger::new("test").unwrap();
    println!("private={}", logging.private_because.is_some());
    let threads: Vec<_> = (0..30u64)
        .map(|at| {
            std::thread::spawn(move || {
                log_info!(log, "{}", at);
                std::thread::sleep(Duration::from_millis(100));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let (process, rings) = logring::writer::local_files().unwrap();
    let mut found = Found::default();
    for mut ring in rings {
        read_ring(&mut ring, &process, &mut found);
    }
    let mut numbers = numbers(&found);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).collect::<Vec<u64>>());
    println!("found={} rings={}", numbers.len(), found.threads);
}

#[test]
fn all_kinds_of_calls_are_found_as_they_were_made() {
    let folder = folder();
    let times = TimeSpan::begin();
    run("everything", folder.path());
    let found = read_folder(folder.path());
    assert!(found.faults.is_empty() && found.missing == 0, "{found:?}");
    let of = |format: &str| -> Vec<&Read> {
        found.records.iter().filter(|record| record.format == format).collect()
    };
    assert_eq!(of("level {}").len(), 9);
    assert_eq!(of("not made: {}").len(), 0);
    assert_eq!(of("level {}").last().unwrap().level, Some(LogLevel::Emergency));
    let values = &of("{} {} {} {} {} {} {}")[0].values;
    assert_eq!(*values, ["-1", "18446744073709551615", "2.5", "true", "ä", "text", "owned"]);
    assert_eq!(of("{} {:>8}")[0].values, ["Some(3)", ""]);
    let with = of("cannot open {}")[0];
    let pairs = |pairs: &[(String, String)]| -> Vec<String> {
        pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
    };
    assert_eq!(pairs(&with.attributes), ["FullPath=/tmp/x", "StackLevel=2"]);
    assert_eq!((with.values.len(), with.logger.as_str()), (1, "CONTROL/PM01"));
    assert!(with.routine.ends_with("life::everything"), "{}", with.routine);
    assert_eq!(pairs(&of("at antenna {}")[0].pairs), ["Antenna=DV01", "Audience=Operator"]);
    let scoped = &of("in scope {}")[0];
    assert_eq!(pairs(&scoped.pairs), ["Array=A1", "Antenna=DV01", "Audience=Operator"]);
    assert_eq!(scoped.logger, "CONTROL/PM01");
    assert_eq!(of("out of scope {}")[0].pairs.len(), 2);
    let roles: Vec<SiteRole> = found.records.iter().map(|record| record.role).collect();
    let marked = [SiteRole::Entry, SiteRole::StopWatch, SiteRole::Exit];
    assert!(roles.windows(3).any(|three| three == marked), "{roles:?}");
    assert_eq!(of("limited {}").len(), 3);
    let generic: Vec<&str> = of("generic {}").iter().map(|one| one.values[0].as_str()).collect();
    assert_eq!(generic, ["7", "seven", "8"]);
    assert!(found.records.iter().all(|one| times.contains(one.realtime_ns)));
    assert!(found.records.is_sorted_by_key(|one| (one.ring, one.sequence)));
}

#[test]
fn what_was_completed_before_a_kill_is_found_once() {
    let mut random = testkit::Random::from_seed(20_261_122);
    for round in 0..testkit::share(40) {
        let folder = folder();
        let mut child = start("endless", folder.path());
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        while !line.contains("ready") && said.read_line(&mut line).unwrap() > 0 {}
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        child.kill();
        assert_all_completed(folder.path(), round);
    }
}

#[test]
fn a_fork_without_exec_goes_on_logging() {
    let folder = folder();
    run("fork", folder.path());
    let found = read_folder(folder.path());
    assert_eq!((found.missing, found.faults.len()), (0, 0));
    let of = |format: &str| found.records.iter().filter(|one| one.format == format).count();
    assert_eq!((of("{} before"), of("{} after")), (1, 1));
    assert_eq!((of("{} in the child"), of("{} in the parent")), (3000, 300));
    assert_eq!((of("{} new place"), of("{} thread of the child")), (3, 3));
    let pids: BTreeMap<u32, usize> = found.records.iter().map(|one| (one.pid, 0)).collect();
    assert_eq!(pids.len(), 4);
    let places = found.records.iter().filter(|one| one.format == "{} new place");
    assert!(places.clone().all(|one| one.logger == "of the child"));
    let mut keys: Vec<(u32, u32, u64)> =
        found.records.iter().map(|one| (one.pid, one.ring, one.sequence)).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), found.records.len());
}

#[test]
fn a_thousand_threads_share_few_rings() {
    let folder = folder();
    run("churn", folder.path());
    let found = read_folder(folder.path());
    let mut numbers = numbers(&found);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
    assert_eq!((found.threads, found.missing), (1000, 0));
    assert!(found.rings <= 21, "{}", found.rings);
}

#[test]
fn a_handler_that_interrupts_a_log_call_logs_aside() {
    let folder = folder();
    let said = run("signal", folder.path());
    let number = |name: &str| -> u64 {
        let rest = said.split(name).nth(1).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    let (own, signals) = (number("own="), number("signals="));
    let found = read_folder(folder.path());
    let count =
        |format: &str| found.records.iter().filter(|one| one.format == format).count() as u64;
    let dropped: u64 = found.counted.values().sum();
    assert_eq!(found.faults.len(), 0);
    assert_eq!(count("{} own"), own - 1);
    assert_eq!(count("{} in the handler") + dropped, signals);
    let aside = found.records.iter().filter(|one| one.flags & abi::FLAG_ASIDE != 0).count();
    assert!(aside > 0, "no signal interrupted a call: {said}");
}

#[test]
fn destructors_and_exit_functions_log() {
    let folder = folder();
    run("late", folder.path());
    let mut numbers = numbers(&read_folder(folder.path()));
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[test]
fn stamps_without_a_tsc_are_times_too() {
    let folder = folder();
    run("clocks", folder.path());
    let found = read_folder(folder.path());
    let said: u64 = numbers(&found)[0];
    assert!(found.records[0].realtime_ns.abs_diff(said) < 10_000_000_000, "{found:?}");
}

#[test]
fn a_record_that_is_too_long_is_cut_and_says_so() {
    let folder = folder();
    run("cut", folder.path());
    let found = read_folder(folder.path());
    let record = &found.records[0];
    assert!(record.flags & abi::FLAG_CUT != 0);
    assert_eq!(record.values[0], "7");
    assert!((1000..4096).contains(&record.values[1].len()), "{}", record.values[1].len());
}

#[test]
fn a_full_ring_drops_the_newest_and_counts_them() {
    let folder = folder();
    run("full-drop", folder.path());
    let found = read_folder(folder.path());
    let numbers = numbers(&found);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
    let dropped = 1000 - numbers.len() as u64;
    assert!(dropped > 0);
    assert_eq!(found.counted[&4], dropped);
}

#[test]
fn a_full_ring_overwrites_the_oldest_and_counts_them() {
    let folder = folder();
    run("full-overwrite", folder.path());
    let found = read_folder(folder.path());
    let numbers = numbers(&found);
    let dropped = 1000 - numbers.len() as u64;
    assert!(dropped > 0 && numbers.iter().copied().eq(dropped..1000), "{numbers:?}");
    assert_eq!(found.counted[&4], dropped);
    assert!(found.missing >= dropped);
}

#[test]
fn a_full_ring_grows() {
    let folder = folder();
    run("full-grow", folder.path());
    let found = read_folder(folder.path());
    assert_eq!(numbers(&found), (0..1000).collect::<Vec<u64>>());
    assert_eq!((found.counted[&4], found.missing), (0, 0));
    assert!(found.rings > 2);
}

#[test]
fn a_thread_that_asks_for_it_has_its_whole_ring_at_once() {
    let folder = folder();
    run("attached", folder.path());
    let kib = ring_sizes(folder.path()).into_iter().map(|bytes| bytes >> 10);
    assert_eq!(kib.collect::<Vec<_>>(), [16, 16, 32, 256]);
    let mut numbers = numbers(&read_folder(folder.path()));
    numbers.sort_unstable();
    assert_eq!(numbers, (0..2000).collect::<Vec<u64>>());
}

#[test]
fn a_full_ring_waits_for_its_reader_and_then_drops() {
    let folder = folder();
    run("full-block", folder.path());
    let found = read_folder(folder.path());
    // Nobody read: one wait of 0.2 s, and then none.
    let kept = numbers(&found).len() as u64;
    assert_eq!(found.counted[&4], 1000 - kept);

    // With a reader every record arrives.
    let folder = self::reading::folder();
    let mut child = start("full-block", folder.path());
    let mut found = Found::default();
    while child.try_wait().unwrap().is_none() {
        read_more(folder.path(), &mut found);
    }
    read_more(folder.path(), &mut found);
    assert_eq!(numbers(&found), (0..1000).collect::<Vec<u64>>());
    assert_eq!(found.missing, 0);
}

#[test]
fn what_was_dropped_is_said_in_the_stream_exactly() {
    let folder = folder();
    let said = run("report", folder.path());
    let sum = |name: &str| -> u64 {
        let numbers = said.split(name).skip(1);
        numbers.map(|rest| rest.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
    };
    let last = read_folder(folder.path());
    let reported = sum("said=") + last.reported.values().sum::<u64>();
    let kept = sum("kept=") + last.records.len() as u64;
    let counted: u64 = last.counted.values().sum();
    assert!(counted > 0, "{said}");
    assert_eq!((reported, kept + counted), (counted, 3 * 501 + 1), "{said}");
    assert_eq!(sum("missing=") + last.missing, counted, "{said}");
    // Levels are apart.
    assert_eq!(last.counted[&6], 3);
}

#[test]
fn what_a_limit_of_records_in_a_second_suppresses_is_counted_and_said() {
    let folder = folder();
    run("throttle", folder.path());
    assert_throttled(folder.path());
}

#[test]
fn a_program_that_executes_another_leaves_its_records() {
    let folder = folder();
    run("exec", folder.path());
    let found = read_folder(folder.path());
    let formats: Vec<&str> = found.records.iter().map(|one| one.format.as_str()).collect();
    assert_eq!(formats.len(), 2, "{formats:?}");
    assert_eq!(RingDirectory::scan(folder.path()).unwrap().processes.len(), 2);
}

#[test]
fn an_error_wakes_a_consumer_and_levels_are_set_from_outside() {
    let folder = folder();
    let bell = Doorbell::open(folder.path()).unwrap();
    let ready = |role| {
        let mut child = start(role, folder.path());
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        while !line.contains("ready") && said.read_line(&mut line).unwrap() > 0 {}
        (child, said)
    };
    let (mut child, _said) = ready("error");
    let number = bell.number();
    std::fs::write(folder.path().join("go"), "").unwrap();
    bell.sleep(number, PATIENCE.as_nanos() as u64);
    assert_ne!(bell.number(), number, "nobody rang");
    child.ended();

    let (mut child, _said) = ready("level");
    for path in RingDirectory::scan(folder.path()).unwrap().processes {
        ProcessFile::open(&path).unwrap().set_levels(0, 2, 99).unwrap();
    }
    assert!(child.ended().success());
    let found = read_folder(folder.path());
    assert!(found.records.iter().any(|one| one.format == "{} now"));
}

#[test]
fn a_reader_of_a_ring_that_is_overwritten_reads_whole_records() {
    let folder = folder();
    let mut child = start("overwrite-live", folder.path());
    let mut found = Found::default();
    while child.try_wait().unwrap().is_none() {
        read_more(folder.path(), &mut found);
    }
    read_more(folder.path(), &mut found);
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    let numbers = numbers(&found);
    assert!(numbers.is_sorted_by(|one, next| one < next));
    assert_eq!(numbers.last(), Some(&1_999_999));
    assert!(found.missing >= 2_000_000 - numbers.len() as u64);
}

#[test]
fn a_flush_waits_for_its_tier_and_a_watch_is_told() {
    let folder = folder();
    run("flush", folder.path());
}

#[test]
fn a_full_tmpfs_gives_private_rings() {
    let folder = folder();
    let said = run("tmpfs", folder.path());
    if let Some((_, refused)) = said.split_once("refused: ") {
        testkit::skip_refused("a mount namespace", refused);
        return;
    }
    assert!(said.contains("private=false") && said.contains("found=30 rings=30"), "{said}");
}
