//! Processes of this machine, by both ways, against `/proc` read at the same moment; and the bad
//! luck that a reader of processes meets.
#![allow(clippy::print_stderr, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "all of this is test")]

mod lock;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::str::FromStr as _;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, mpsc};

use procfs::Host;
use procfs::pid::{parse_io, parse_stat, parse_status};
use sample::{State, Table};
use source::ProcessMethod::{self, Iterator, Proc};
use source::{Choice, ProcessOptions, Source, SourceContext};
use testkit::Running;

const CYCLES: usize = 5;

/// Command lines and the like are read with a deadline, which a process that holds its memory's lock
/// uses up: the test that starts one must not run beside those that count on them.
static LOCK_HOLDERS: RwLock<()> = RwLock::new(());

fn without_lock_holders() -> RwLockReadGuard<'static, ()> {
    LOCK_HOLDERS.read().unwrap_or_else(PoisonError::into_inner)
}

struct Reader {
    host: Host,
    source: Box<dyn Source>,
    context: Arc<SourceContext>,
    table: Table,
}

fn open(host: Host, process: ProcessOptions) -> Reader {
    let entry = source::find("process").unwrap();
    let mut host = host;
    let context = Arc::new(SourceContext::with_process(process));
    let source = (entry.open)(&mut host, &context);
    Reader { host, source, context, table: Table::new(entry.fields.len()) }
}

/// Opens one method on this machine; `None`, and why, where it is not to be had.
fn open_method(method: ProcessMethod, options: ProcessOptions) -> Option<Reader> {
    let reader = open(Host::new("/"), ProcessOptions { method: Some(method), ..options });
    let processes = &reader.context.shared.processes;
    if method == Iterator && processes.method() != Some("iterator") {
        testkit::skip_refused("the BPF iterator", &processes.method_reason());
        return None;
    }
    Some(reader)
}

impl Reader {
    fn read(&mut self) -> State {
        self.host.begin_tick();
        self.source.read(&mut self.host, &mut self.table)
    }

    fn row(&self, pid: u32) -> Option<usize> {
        let start = format!("{pid}\x1f");
        (0..self.table.rows()).find(|&row| self.table.name(row).starts_with(start.as_bytes()))
    }

    fn get(&self, row: usize, field: &str) -> Option<i64> {
        self.table.get(row, place(field)).map(u64::cast_signed)
    }

    fn text(&self, row: usize, field: &str) -> Option<String> {
        let text = self.table.text(row, place(field))?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

fn place(field: &str) -> usize {
    source::find("process").unwrap().field(field).unwrap()
}

/// What `/proc` says of a process, by our names.
fn from_proc(pid: i32) -> Option<HashMap<&'static str, i64>> {
    let mut values = HashMap::new();
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = parse_stat(&text)?;
    values.insert("state", i64::from(stat.state[0]));
    for (name, number) in [
        ("parent", 4),
        ("minor_faults", 10),
        ("child_minor_faults", 11),
        ("major_faults", 12),
        ("child_major_faults", 13),
        ("user_time", 14),
        ("system_time", 15),
        ("child_user_time", 16),
        ("child_system_time", 17),
        ("priority", 18),
        ("nice", 19),
        ("threads", 20),
        ("start_time", 22),
        ("processor", 39),
        ("realtime_priority", 40),
        ("policy", 41),
    ] {
        values.insert(name, stat.field(number)?.cast_signed());
    }
    values.insert("virtual", (stat.field(23)? / 1024).cast_signed());
    let page_kib = rustix::param::page_size() as i64 / 1024;
    values.insert("resident", stat.field(24)?.cast_signed() * page_kib);
    let is_alone = stat.field(20) == Some(1);
    let text = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = parse_status(&text);
    for (name, value) in [
        ("uid", status.uid.map(u64::from)),
        ("locked", status.locked_kib),
        ("data", status.data_kib),
        ("stack", status.stack_kib),
        ("code", status.code_kib),
        ("libraries", status.libraries_kib),
        ("swap", status.swap_kib),
        ("peak_resident", status.peak_resident_kib),
        ("voluntary_switches", status.voluntary_switches.filter(|_| is_alone)),
        ("involuntary_switches", status.involuntary_switches.filter(|_| is_alone)),
    ] {
        if let Some(value) = value {
            values.insert(name, value.cast_signed());
        }
    }
    let text = std::fs::read(format!("/proc/{pid}/io")).unwrap_or_default();
    let names = [
        "read_chars",
        "write_chars",
        "read_calls",
        "write_calls",
        "read_bytes",
        "write_bytes",
        "cancelled_write_bytes",
    ];
    for (name, value) in names.iter().zip(parse_io(&text)) {
        if let Some(value) = value {
            values.insert(name, value.cast_signed());
        }
    }
    Some(values)
}

fn pids() -> Vec<i32> {
    let names = std::fs::read_dir("/proc").unwrap().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// By how much a value may differ: `status` adds up what each CPU still holds of a count of
/// pages, `stat` and the iterator do not (`percpu_counter_sum` and `percpu_counter_read`).
fn tolerance(field: &str, with_status: bool) -> i64 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as i64;
    let held_pages = cpus * (2 * cpus).max(32);
    match field {
        "swap" => held_pages * 4,
        "resident" if with_status => 3 * held_pages * 4,
        "peak_resident" => 3 * held_pages * 4,
        _ => 0,
    }
}

/// What a process that runs may change and change back between two looks: a compiler starts a thread
/// and ends it.
const REVERSIBLE: [&str; 8] =
    ["threads", "virtual", "resident", "data", "stack", "locked", "libraries", "swap"];

/// What stands still only if a process does not run, or not for long.  A thread that begins touches
/// its stack, which is a fault.
const RUNNING: [&str; 5] =
    ["minor_faults", "user_time", "system_time", "read_calls", "write_calls"];

/// Compares all that a method gives with `/proc` before and after; what has changed in between is
/// left out.  Gives the number of values compared.
fn compare(mut reader: Reader, with_status: bool) -> usize {
    let mut compared = 0;
    let mut seen: HashMap<&'static str, usize> = HashMap::new();
    let mut outcomes: HashMap<(i32, &'static str), (usize, usize)> = HashMap::new();
    for _ in 0..CYCLES {
        let before: Vec<_> = pids().into_iter().map(|pid| (pid, from_proc(pid))).collect();
        assert_eq!(reader.read(), State::Ok);
        for (pid, before) in before {
            let (Some(before), Some(after)) = (before, from_proc(pid)) else { continue };
            let Some(row) = reader.row(pid.cast_unsigned()) else { continue };
            for (&field, &value) in &before {
                let is_equal = |field: &&str| before.get(field) == after.get(field);
                let slept = is_equal(&"voluntary_switches");
                let same = before["start_time"] == after["start_time"]
                    && after.get(field) == Some(&value)
                    && (!REVERSIBLE.contains(&field) || RUNNING.iter().all(is_equal))
                    // One that woke up and fell asleep again looks as before.
                    && (!matches!(field, "state" | "processor") || slept && before["threads"] == 1);
                if !same {
                    continue;
                }
                let ours = match field {
                    "state" => {
                        reader.text(row, field).map(|letter| i64::from(letter.as_bytes()[0]))
                    }
                    _ => reader.get(row, field),
                };
                let ours = ours.unwrap_or_else(|| panic!("{pid} has no {field}"));
                // Of threads that have ended `status` says nothing, the iterator does.
                if field.ends_with("_switches") && !with_status {
                    assert!(ours >= value, "{pid}: {field} is {value} by /proc, {ours} by us");
                    continue;
                }
                let differs = (ours - value).abs() > tolerance(field, with_status);
                let (same, wrong) = outcomes.entry((pid, field)).or_default();
                compared += 1;
                if differs {
                    eprintln!("{pid}: {field} is {value} by /proc, {ours} by us");
                    *wrong += 1;
                } else {
                    *same += 1;
                }
                *seen.entry(field).or_default() += 1;
            }
        }
    }
    // A value may go there and back between two looks (a thread that begins and ends), but not
    // most of the time.
    for ((pid, field), (same, wrong)) in &outcomes {
        assert!(*wrong < 2 || same > wrong, "{pid}: {field} differs {wrong} times");
    }
    let wrong: usize = outcomes.values().map(|(_, wrong)| wrong).sum();
    assert!(wrong * 1000 <= compared, "{wrong} of {compared} values differ");
    eprintln!("{compared} values agree, of {} fields", seen.len());
    assert!(seen.len() >= 31, "{seen:?}");
    compared
}

#[test]
fn the_iterator_says_what_proc_says() {
    let Some(reader) = open_method(Iterator, ProcessOptions::default()) else { return };
    assert!(compare(reader, false) > 1000);
}

#[test]
fn the_files_say_what_proc_says() {
    let options = ProcessOptions { status: true, ..ProcessOptions::default() };
    let reader = open_method(Proc, options).unwrap();
    assert!(compare(reader, true) > 1000);
}

#[test]
fn files_give_the_exact_times_and_the_group_that_the_iterator_gives() {
    let _quiet = without_lock_holders();
    let wanted = || ProcessOptions { schedstat: true, ..ProcessOptions::default() };
    let Some(mut iterator) = open_method(Iterator, wanted()) else { return };
    let true = testkit::is_installed("python3", "python3") else { return };
    let mut files = open_method(Proc, wanted()).unwrap();
    // One that works, with one thread; one that has had another; this one has several.
    let work = "import threading,sys\n\
        def work():\n  for i in range(3000000): pass\n\
        if sys.argv[1] == '2':\n  t = threading.Thread(target=work); t.start(); t.join()\n\
        else: work()\n\
        print(flush=True); sys.stdin.read()";
    let begin = |threads: &str| {
        let mut child = Command::new("python3");
        child.args(["-c", work, threads]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Running::start(&mut child);
        let output = child.stdout.take().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        assert_eq!(line, "\n");
        child
    };
    let (one, two) = (begin("1"), begin("2"));
    // Both sleep; what they have used stands still.
    std::thread::sleep(std::time::Duration::from_millis(50));
    std::thread::scope(|scope| {
        // The thread ends when its sender is dropped: at the end, or when an assertion fails.
        let (_sender, receiver) = mpsc::channel::<()>();
        scope.spawn(move || receiver.recv());
        for reader in [&mut iterator, &mut files] {
            (0..3).for_each(|_| assert_eq!(reader.read(), State::Ok));
        }
    });
    let times = |reader: &Reader, pid: u32| {
        let row = reader.row(pid).unwrap();
        ["run_time", "run_delay"].map(|field| reader.get(row, field))
    };
    let exact = times(&iterator, one.id());
    assert!(exact[0] > Some(1_000_000), "{exact:?}");
    assert_eq!(times(&files, one.id()), exact);
    for pid in [two.id(), std::process::id()] {
        assert_eq!(times(&files, pid), [None, None], "what its threads used is in no file");
        assert!(times(&iterator, pid)[0].is_some());
    }
    // Not asked for, not read.
    let mut plain = open_method(Proc, ProcessOptions::default()).unwrap();
    plain.read();
    assert_eq!(times(&plain, one.id()), [None, None]);
    // Group by group, where the unified hierarchy is mounted.
    let mut groups = 0;
    for row in 0..files.table.rows() {
        let pid: u32 = String::from_utf8_lossy(files.table.name(row))
            .split('\x1f')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let Some(id) = files.get(row, "cgroup_id") else { continue };
        let Some(other) = iterator.row(pid) else { continue };
        assert_eq!(Some(id), iterator.get(other, "cgroup_id"), "{pid}");
        groups += 1;
    }
    match procfs::mountinfo::unified_hierarchy() {
        Some(_) => assert!(groups > 2, "{groups}"),
        None => testkit::skip("control groups", "the unified hierarchy is not mounted"),
    }
}

#[test]
fn a_process_that_is_moved_to_another_group_is_found_there() {
    let _quiet = without_lock_holders();
    let Some(hierarchy) = procfs::mountinfo::unified_hierarchy() else {
        testkit::skip("control groups", "the unified hierarchy is not mounted");
        return;
    };
    let group = hierarchy.join(format!("whit-test-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir(&group) {
        let said = format!("cannot make {}: {error}", group.display());
        testkit::skip_refused("control groups", &said);
        return;
    }
    let child = Running::start(Command::new("sleep").arg("65"));
    let mut reader = open_method(Proc, ProcessOptions::default()).unwrap();
    let id = |reader: &mut Reader| {
        reader.read();
        reader.row(child.id()).and_then(|row| reader.get(row, "cgroup_id"))
    };
    let before = id(&mut reader);
    let moved = std::fs::write(group.join("cgroup.procs"), child.id().to_string());
    let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&group).unwrap());
    let found = (0..140).find(|_| id(&mut reader) == Some(inode.cast_signed()));
    drop(child);
    std::fs::remove_dir(&group).unwrap();
    moved.unwrap();
    assert!(before.is_some() && before != Some(inode.cast_signed()), "{before:?}");
    assert!(found.is_some(), "not found in its new group");
}

fn both_methods(options: impl Fn() -> ProcessOptions) -> Vec<Reader> {
    [Iterator, Proc].into_iter().filter_map(|method| open_method(method, options())).collect()
}

#[test]
fn names_of_any_bytes_come_out_as_they_are() {
    let _quiet = without_lock_holders();
    let true = testkit::is_installed("python3", "python3") else { return };
    let hostile: [&[u8]; 4] = [b"ev) R 1 x", b"a\nb) S 2", b"\xff\xfe\x80", b"\x1b[31mred"];
    let script = "import ctypes, sys, time, os\n\
        name = os.fsencode(sys.argv[1])\n\
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)\n\
        print(flush=True)\n\
        time.sleep(60)";
    for name in hostile {
        let child = Command::new("python3")
            .args(["-c", script])
            .arg(std::ffi::OsStr::from_bytes(name))
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Running::from(child.unwrap());
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        for mut reader in both_methods(ProcessOptions::default) {
            assert_eq!(reader.read(), State::Ok);
            let row = reader.row(child.id()).unwrap();
            assert_eq!(reader.table.text(row, place("command")), Some(name));
            assert_eq!(reader.text(row, "state").unwrap(), "S");
            assert_eq!(reader.get(row, "parent"), Some(std::process::id().into()));
            let line = reader.table.text(row, place("command_line")).unwrap();
            let starts = String::from_utf8_lossy(line).contains("python3 -c import");
            assert!(starts && line.ends_with(name), "{line:?}");
            assert!(reader.text(row, "executable").unwrap().contains("python3"));
            assert!(reader.text(row, "cgroup").unwrap().starts_with('/'));
            assert!(!reader.text(row, "user").unwrap().is_empty());
        }
    }
}

#[test]
fn facts_are_read_again_after_an_exec() {
    let _quiet = without_lock_holders();
    for mut reader in both_methods(ProcessOptions::default) {
        let child = Command::new("sh")
            .args(["-c", "read line; exec sleep 61"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut child = Running::from(child);
        let id = child.id();
        let told = |reader: &mut Reader, wanted: &str| {
            testkit::wait_until(wanted, || {
                reader.read();
                let row = reader.row(id);
                let line = row.and_then(|row| reader.text(row, "command_line"));
                line.is_some_and(|line| line == wanted)
            });
        };
        told(&mut reader, "sh -c read line; exec sleep 61");
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
        told(&mut reader, "sleep 61");
        // The command line may have been read a moment after the name.
        reader.read();
        let row = reader.row(id).unwrap();
        assert_eq!(reader.text(row, "command").unwrap(), "sleep");
    }
}

#[test]
fn threads_have_rows_when_asked_for() {
    let _quiet = without_lock_holders();
    // When another thread of this program ends in the middle of a read, the kernel's iterator may
    // pass over the rest of its threads.
    testkit::undisturbed(threads_have_rows);
}

fn threads_have_rows() {
    let options = || ProcessOptions { threads: true, ..ProcessOptions::default() };
    std::thread::scope(|scope| {
        // Each ends when its sender is dropped: at the end, or when an assertion fails.
        let (tids, started) = mpsc::channel();
        let _senders: Vec<mpsc::Sender<()>> = (0..3)
            .map(|_| {
                let (sender, receiver) = mpsc::channel();
                let tids = tids.clone();
                scope.spawn(move || {
                    tids.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
                    receiver.recv()
                });
                sender
            })
            .collect();
        let own = i64::from(std::process::id());
        let tids: Vec<i64> = started.iter().take(3).map(i64::from).chain([own]).collect();
        let is_ours = |reader: &Reader, row| reader.get(row, "tgid") == Some(own);
        for mut reader in both_methods(options) {
            assert_eq!(reader.read(), State::Ok);
            for tid in &tids {
                let row = reader.row(u32::try_from(*tid).unwrap()).unwrap();
                assert!(is_ours(&reader, row) && reader.get(row, "user_time").is_some());
                assert!(reader.get(row, "read_chars").is_some());
            }
        }
        for mut reader in both_methods(ProcessOptions::default) {
            reader.read();
            let rows = 0..reader.table.rows();
            assert_eq!(rows.filter(|&row| is_ours(&reader, row)).count(), 1);
        }
    });
}

/// A program whose id is the last one before ids begin again, so that its threads have lower ones; `None`
/// if this machine's ids cannot be set.
fn with_lower_threads() -> Option<(Running, Vec<u32>)> {
    let last = u32::from_str(std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap().trim());
    let last = last.unwrap();
    // Other programs take ids meanwhile.
    for _ in 0..1000 {
        let wanted = (last - 2).to_string();
        if let Err(error) = std::fs::write("/proc/sys/kernel/ns_last_pid", wanted) {
            testkit::skip_refused("ids of processes that begin again", &error.to_string());
            return None;
        }
        let threads = "import threading, time\n\
            for _ in range(3): threading.Thread(target=time.sleep, args=(3600,)).start()\n\
            print('ready', flush=True)";
        let mut command = Command::new("python3");
        let mut child = Running::start(command.args(["-c", threads]).stdout(Stdio::piped()));
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let tasks = tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap());
        let tasks: Vec<u32> = tasks.collect();
        assert_eq!(tasks.len(), 4);
        if tasks.iter().any(|tid| *tid < child.id()) {
            return Some((child, tasks));
        }
    }
    panic!("no program got one of the last ids");
}

#[test]
fn threads_with_lower_ids_than_their_process_have_rows() {
    if !testkit::is_installed("ids of processes that begin again", "python3") {
        return;
    }
    let _quiet = without_lock_holders();
    let Some((child, tasks)) = with_lower_threads() else { return };
    let by_command_line = |candidate: &source::Candidate<'_>| match candidate.command_line {
        None => Choice::AskCommandLine,
        Some(line) if String::from_utf8_lossy(line).contains("-c import threading") => {
            Choice::KeepWithThreads
        }
        Some(_) => Choice::Leave,
    };
    let all = || ProcessOptions { threads: true, ..ProcessOptions::default() };
    let chosen = move || ProcessOptions {
        choose: Some(Box::new(by_command_line)),
        ..ProcessOptions::default()
    };
    for mut reader in both_methods(all).into_iter().chain(both_methods(chosen)) {
        for reading in 0..3 {
            assert_eq!(reader.read(), State::Ok);
            for tid in &tasks {
                let row = reader.row(*tid).unwrap_or_else(|| panic!("no row of {tid}: {tasks:?}"));
                assert_eq!(reader.get(row, "tgid"), Some(i64::from(child.id())));
                // The facts of the process may come after the first rows of its threads.
                let line = reader.text(row, "command_line").unwrap_or_default();
                assert!(reading == 0 || line.contains("-c import threading"), "{line}");
            }
        }
    }
}

#[test]
fn only_what_is_wanted_has_rows() {
    let _quiet = without_lock_holders();
    let wanted = || {
        let child = Command::new("sleep").arg("62.5").spawn().unwrap();
        Running::from(child)
    };
    let (one, other) = (wanted(), wanted());
    // By the command line, by the parent, by the name.
    type Chooser = fn(&source::Candidate<'_>) -> Choice;
    let choosers: [Chooser; 3] = [
        |candidate| match candidate.command_line {
            None => Choice::AskCommandLine,
            Some(b"sleep 62.5") => Choice::Keep,
            Some(_) => Choice::Leave,
        },
        |candidate| {
            let ours = candidate.parent.cast_unsigned() == std::process::id();
            if ours && candidate.command == b"sleep" { Choice::Keep } else { Choice::Leave }
        },
        |candidate| if candidate.command == b"sleep" { Choice::Keep } else { Choice::Leave },
    ];
    for chooser in choosers {
        let options = || ProcessOptions { choose: Some(Box::new(chooser)), ..Default::default() };
        for mut reader in both_methods(options) {
            for _ in 0..40 {
                reader.read();
                assert!(reader.row(std::process::id()).is_none());
                assert!(reader.row(one.id()).is_some() && reader.row(other.id()).is_some());
            }
        }
    }
}

#[test]
fn nothing_new_is_looked_for_when_only_the_first_are_wanted() {
    let _quiet = without_lock_holders();
    let options = || ProcessOptions { only_first: true, ..ProcessOptions::default() };
    for mut reader in both_methods(options) {
        let first = Running::start(Command::new("sleep").arg("63"));
        reader.read();
        let second = Running::start(Command::new("sleep").arg("63"));
        for _ in 0..3 {
            assert_eq!(reader.read(), State::Ok);
            assert!(reader.row(first.id()).is_some());
            assert!(reader.row(second.id()).is_none());
        }
    }
}

#[test]
fn a_process_that_ended_has_no_row_and_its_number_starts_anew() {
    let _quiet = without_lock_holders();
    for mut reader in both_methods(ProcessOptions::default) {
        let child = Running::start(Command::new("sleep").arg("64"));
        let id = child.id();
        // Often enough for its descriptors to be kept.
        (0..5).for_each(|_| assert_eq!(reader.read(), State::Ok));
        assert!(reader.row(id).is_some());
        drop(child);
        assert_eq!(reader.read(), State::Ok);
        assert!(reader.row(id).is_none());
    }
    let mut reader = open(Host::in_memory(), ProcessOptions::default());
    let line = |start: u64, ticks: u64| {
        format!("7 (x) S 1 7 7 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 4096 1 0\n")
    };
    for (start, name) in [(100, "7\x1f100"), (200, "7\x1f200")] {
        reader.host.put("/proc/7/stat", Some(line(start, 5).as_bytes()));
        assert_eq!(reader.read(), State::Ok);
        assert_eq!(reader.table.rows(), 1);
        assert_eq!(reader.table.name(0), name.as_bytes());
        assert_eq!(reader.get(0, "user_time"), Some(5));
        assert_eq!(reader.get(0, "read_chars"), None, "missing is not 0");
        assert_eq!(reader.get(0, "uid"), None);
    }
    reader.host.put("/proc/7/cmdline", Some(b"x\0y\0"));
    reader.host.put("/proc/7/status", Some(b"Uid:\t5\t5\nVmSwap:\t 8 kB\n"));
    reader.host.put("/proc/7/io", Some(b"rchar: 9\n"));
    reader.read();
    assert_eq!(reader.text(0, "command_line").unwrap(), "x y");
    assert_eq!((reader.get(0, "swap"), reader.get(0, "read_chars")), (Some(8), Some(9)));
    reader.host.put("/proc/7/stat", None);
    reader.host.put("/proc/7/stat", Some(b"7 (x"));
    assert_eq!(reader.read(), State::Ok);
    assert_eq!(reader.table.rows(), 0, "what makes no sense is no row");
}

#[test]
fn processes_that_end_during_the_pass_leave_no_wrong_number() {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let births = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let children: Vec<_> =
                    (0..8).filter_map(|_| Command::new("true").spawn().ok()).collect();
                children.into_iter().for_each(|mut child| drop(child.wait()));
            }
        }
    });
    for mut reader in both_methods(ProcessOptions::default) {
        let mut before: HashMap<Vec<u8>, [i64; 2]> = HashMap::new();
        for _ in 0..100 {
            assert_eq!(reader.read(), State::Ok);
            let mut now = HashMap::new();
            for row in 0..reader.table.rows() {
                let name = reader.table.name(row).to_vec();
                let values =
                    ["user_time", "minor_faults"].map(|field| reader.get(row, field).unwrap());
                if let Some(before) = before.get(&name) {
                    assert!(values[0] >= before[0] && values[1] >= before[1], "{name:?}");
                }
                assert!(reader.text(row, "command").is_some());
                assert!(now.insert(name, values).is_none(), "one row each");
            }
            before = now;
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    births.join().unwrap();
}

/// Says how processes are read and with what result, for the tests below, which run this test in a
/// process of its own under some restriction.
#[test]
#[ignore = "run by other tests, under restrictions"]
fn what_is_read_here() {
    let mut reader = open(Host::new("/"), ProcessOptions::default());
    // Read twice, as what is denied must stay so.
    let state = (reader.read(), reader.read()).1;
    let rows = 0..reader.table.rows();
    let with = |field: &str| rows.clone().filter(|row| reader.get(*row, field).is_some()).count();
    let counters = &reader.context.shared.processes;
    eprintln!(
        "told: {state:?} {:?} rows {} io {} times {} because {}",
        counters.method(),
        rows.len(),
        with("read_chars"),
        with("user_time"),
        counters.method_reason()
    );
}

/// Runs the test above with the rights that `before` leaves; `None`, and why, if that is not
/// possible here.
fn under(before: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        testkit::skip("fewer rights", "only root can give up rights");
        return None;
    }
    // Nobody may look into the folder that the test was built in, so it gets a copy; made by a
    // process of its own, as a file open for writing here, in a child forked meanwhile by another
    // test too, cannot be executed.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("test");
    let test = std::env::current_exe().unwrap();
    assert!(
        Command::new("cp").args([test.as_os_str(), copy.as_os_str()]).status().unwrap().success()
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let script = format!(
        "{before} {} --ignored --exact --nocapture processes::what_is_read_here 2>&1",
        copy.display()
    );
    let out = Command::new("sh").args(["-c", &script]).output().unwrap();
    let out = String::from_utf8_lossy(&out.stdout).into_owned();
    let told = out.lines().find(|line| line.contains("told: ")).map(str::to_owned);
    if told.is_none() {
        testkit::skip_refused("fewer rights", &format!("`{before}`: {out}"));
    }
    eprintln!("{before}: {told:?}");
    told
}

#[test]
fn without_capabilities_the_rest_is_missing_and_the_way_says_so() {
    let nobody = "exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all";
    let Some(told) = under(nobody) else { return };
    assert!(told.contains("Ok Some(\"unprivileged\")"), "{told}");
    assert!(told.contains("I/O of others may not be read"), "{told}");
    assert!(told.contains("CAP_BPF"), "{told}");
    let count = |name: &str| -> usize {
        let mut words = told.split(' ').skip_while(|word| *word != name);
        words.nth(1).unwrap().parse().unwrap()
    };
    // Its own I/O at least, never that of all; the times of everybody.
    assert!(count("io") >= 1 && count("io") < count("rows"), "{told}");
    assert_eq!(count("times"), count("rows"));
}

#[test]
fn hidden_processes_are_said_to_be_hidden() {
    let hidden = "exec unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec setpriv \
        --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \"$@\"' sh";
    let Some(told) = under(hidden) else { return };
    if told.contains("CAP_SYS_PTRACE") {
        testkit::skip("hidden processes", "this kernel does not hide them here");
        return;
    }
    assert!(told.contains("Ok Some(\"unprivileged\")"), "{told}");
    assert!(told.contains("processes of others are hidden"), "{told}");
}

#[test]
fn without_types_of_the_kernel_files_are_read() {
    let without = "exec unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec \"$@\"' sh";
    let Some(told) = under(without) else { return };
    assert!(told.contains("Ok Some(\"proc\")"), "{told}");
    assert!(told.contains("no BTF of this kernel"), "{told}");
}

#[test]
fn where_seccomp_forbids_bpf_files_are_read() {
    // Loads a filter that answers EPERM to bpf(2), and runs what follows.
    let script = "import ctypes,os,platform,struct,sys\n\
        number = {\"x86_64\": 321, \"aarch64\": 280}[platform.machine()]\n\
        code = [(32, 0, 0, 0), (21, 0, 1, number), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)]\n\
        code = b\"\".join(struct.pack(\"HBBI\", *line) for line in code)\n\
        room = ctypes.create_string_buffer(code)\n\
        head = struct.pack(\"HxxxxxxP\", 4, ctypes.addressof(room))\n\
        libc = ctypes.CDLL(None)\n\
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, head, 0, 0) == 0\n\
        os.execv(sys.argv[1], sys.argv[1:])";
    let true = testkit::is_installed("python3", "python3") else { return };
    let Some(told) = under(&format!("exec python3 -c '{script}'")) else { return };
    assert!(told.contains("Ok Some(\"proc\")"), "{told}");
    assert!(told.contains("not allowed to load BPF programs"), "{told}");
}

/// CPU time of this process in nanoseconds.
fn own_cpu_ns() -> u64 {
    let usage = procfs::usage::usage(procfs::usage::Whose::Own);
    (usage.user_us + usage.system_us) * 1000
}

#[test]
#[ignore = "a measurement: run it in a release build"]
fn what_a_process_costs() {
    let many = std::env::var("PROCESSES").ok().and_then(|many| many.parse().ok()).unwrap_or(1000);
    let children: Vec<Running> =
        (0..many).map(|_| Running::start(Command::new("sleep").arg("600"))).collect();
    let filtered = || -> ProcessOptions {
        let choose = |candidate: &source::Candidate<'_>| {
            if candidate.command == b"init" { Choice::Keep } else { Choice::Leave }
        };
        ProcessOptions { choose: Some(Box::new(choose)), ..ProcessOptions::default() }
    };
    for (name, options) in [("all", ProcessOptions::default as fn() -> _), ("one", filtered)] {
        for mut reader in both_methods(options) {
            (0..12).for_each(|_| assert_eq!(reader.read(), State::Ok));
            let before = own_cpu_ns();
            (0..64).for_each(|_| assert_eq!(reader.read(), State::Ok));
            let each = (own_cpu_ns() - before) / 64;
            let counters = &reader.context.shared.processes;
            let processes = counters.totals().map_or(1, |totals| totals.processes);
            eprintln!("{name} {:?}: {} ns a process", counters.method(), each / processes);
        }
    }
    drop(children);
}
