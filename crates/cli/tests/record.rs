//! `whit record` as a user has it: the live recorder on this machine, killed, stopped, starved of
//! space, cut off from its readers.
//!
//! A short run kills 40 recorders, a long one 200.  What needs root or a program that is not there
//! says so and passes.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recording::{Damage, ReadOutcome, Reader};
use rustix::process::{Resource, Rlimit, setrlimit};
use sample::{Snapshot, SourceDef, State};
use testkit::{PATIENCE, Running};

pub(crate) fn whit(arguments: &[&str]) -> Command {
    let mut command = crate::whit();
    command.arg("record").args(arguments);
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    whit(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Waits until a file has been seen to grow so many times: each time is a sample at least.
fn wait_until_grown(path: &Path, times: usize) {
    let (mut length, mut grown) = (0, 0);
    testkit::wait_until("the recording grows", || {
        let now = path.metadata().map_or(0, |metadata| metadata.len());
        grown += usize::from(now > length);
        length = now.max(length);
        grown >= times
    });
}

/// The recordings in a folder, oldest first.
pub(crate) fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "whit");
    let mut paths: Vec<PathBuf> = entries.filter(is_ours).collect();
    paths.sort();
    paths
}

/// What a recording holds.
pub(crate) struct Content {
    samples: usize,
    /// The recorder's own count of samples, where a sample has it.
    counts: Vec<u64>,
    unwritten: u64,
    missed: u64,
    skipped: u64,
    pub(crate) damage: Damage,
}

pub(crate) fn read(path: &Path) -> Content {
    let known: Vec<Arc<SourceDef>> = source::definitions();
    let mut reader = Reader::open(path, &known).unwrap();
    let defs = reader.defs();
    let own = defs.iter().position(|def| def.name == "whit");
    let field = own.map(|own| defs[own].field("samples").unwrap());
    let mut snapshot = Snapshot::new(&defs);
    let mut content = Content {
        samples: 0,
        counts: Vec::new(),
        unwritten: 0,
        missed: 0,
        skipped: 0,
        damage: Damage::default(),
    };
    while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
        content.samples += 1;
        content.unwritten += snapshot.gap.samples_unwritten;
        content.missed += snapshot.gap.ticks_missed;
        let fresh = || snapshot.samples.iter().zip(&snapshot.fresh).filter(|(_, fresh)| **fresh);
        content.skipped += fresh().filter(|(s, _)| s.state == State::Skipped).count() as u64;
        if let (Some(own), Some(field)) = (own, field)
            && snapshot.fresh[own]
        {
            content.counts.extend(snapshot.samples[own].table.get(0, field));
        }
    }
    content.damage = reader.damage();
    content
}

#[test]
fn kills_lose_nothing() {
    let folder = folder();
    let seed = testkit::seed(20_261_123);
    let mut random = testkit::Random::from_seed(seed);
    let mut samples = 0;
    let rounds = testkit::share(200);
    for round in 0..rounds {
        let place = folder.path().join(format!("{round}/"));
        let interval = ["-i0", "-i0.001", "-i0"][round % 3];
        let place = place.to_str().unwrap();
        let child = Running::start(&mut whit(&["-scdnmw", interval, "-f", place]));
        let random_us = random.below(40_000);
        // Two of three are killed while they write, one perhaps before there is a file.
        if round % 3 < 2 {
            testkit::wait_until("there is a file", || {
                let path = Path::new(place);
                path.is_dir() && !recordings(path).is_empty()
            });
        }
        if round % 3 == 0 {
            wait_until_grown(&recordings(Path::new(place))[0], 20);
        }
        // At any moment, which is what this test is about.
        std::thread::sleep(Duration::from_micros(random_us));
        child.kill();
        let files = if Path::new(place).is_dir() { recordings(Path::new(place)) } else { vec![] };
        for path in files {
            if path.metadata().unwrap().len() == 0 {
                // Killed between making the file and its first byte.
                continue;
            }
            let content = read(&path);
            let mut damage = content.damage;
            // A write that crosses a page may be cut there: that sample was never complete.
            assert!(damage.samples_torn <= 1, "seed {seed} round {round}: {damage:?}");
            damage.samples_torn = 0;
            assert!(damage.is_none(), "seed {seed} round {round}: {damage:?}");
            let expected: Vec<u64> = (1..=content.samples as u64).collect();
            assert_eq!(
                content.counts, expected,
                "seed {seed} round {round}: every sample is there"
            );
            samples += content.samples;
        }
    }
    assert!(samples > 5 * rounds, "the kills came too early to show anything: {samples} samples");
}

#[test]
fn a_recording_has_what_was_asked_for() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let output = run(&["-scdnm", "-i0", "-c700", "-f", place, "--comment", "a b"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    let files = recordings(folder.path());
    let content = read(&files[0]);
    assert_eq!((files.len(), content.samples), (1, 701));
    assert_eq!(content.damage, Damage::default(), "closed, and whole");
    let reader = Reader::open(&files[0], &[]).unwrap();
    assert_eq!(reader.meta().get("comment"), Some("a b"));
    assert_eq!(reader.meta().subsystems(), "cdnm");
    let names: Vec<&str> = reader.schemas().iter().map(|schema| &*schema.name).collect();
    assert_eq!(names, ["cpu", "disk", "memory", "network", "whit"]);
    let name = files[0].file_name().unwrap().to_str().unwrap().to_owned();
    let parts: Vec<&str> = name.trim_end_matches(".whit").rsplitn(3, '-').collect();
    assert_eq!((parts[0].len(), parts[1].len()), (6, 8), "{name}");
}

#[test]
fn signals_stop_reopen_and_flush_within_a_long_interval() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    // The first sample is at a whole second; then nothing for an hour.
    let mut child =
        Running::start(whit(&["-sc", "-i3600", "-m", "-f", place]).stderr(Stdio::null()));
    testkit::wait_until("it records", || !recordings(folder.path()).is_empty());
    let log = || {
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let log = entries.filter(|path| path.extension().is_some_and(|e| e == "log")).last();
        log.map(|path| std::fs::read_to_string(path).unwrap()).unwrap_or_default()
    };
    testkit::wait_until("handlers are there", || log().contains("Starting"));
    // This one means nothing to a recorder.
    child.signal(libc::SIGUSR2);
    child.signal(libc::SIGUSR1);
    testkit::wait_until("it has flushed", || log().contains("USR1"));
    child.signal(libc::SIGHUP);
    testkit::wait_until("it has rolled", || recordings(folder.path()).len() == 2);
    child.signal(libc::SIGTERM);
    assert!(child.ended().success());
    for path in recordings(folder.path()) {
        assert!(!read(&path).damage.not_closed, "{}", path.display());
    }
    assert!(log().contains("Terminating"), "{}", log());
    let cost = "s of CPU time, start included, in ";
    assert!(log().contains(cost), "{}", log());
    assert!(log().contains("; no BPF programs ran in other processes"), "{}", log());
}

#[test]
fn what_a_machine_has_not_is_told_and_has_no_headings() {
    let machine = folder();
    std::fs::create_dir_all(machine.path().join("proc")).unwrap();
    std::fs::write(machine.path().join("proc/stat"), "cpu  9 0 1 5\ncpu0 9 0 1 5\n").unwrap();
    let root = machine.path().to_str().unwrap();
    for letters in ["-sX", "-sE", "-sxE"] {
        let output = run(&["--root", root, letters, "-i0.01", "-c1"]);
        assert_eq!(output.status.code(), Some(2), "{letters}");
        assert_eq!(text(&output.stdout), "");
        let said = text(&output.stderr);
        assert!(said.contains("no subsystems selected"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let output = run(&["--root", root, "-scX", "-i0.01", "-c1"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("# CPU SUMMARY"));
    assert!(!text(&output.stdout).contains("INFINIBAND"));
    let said = text(&output.stderr);
    assert_eq!(said.matches("no InfiniBand adapter").count(), 1, "{said}");
    let place = folder();
    let folder = place.path().to_str().unwrap();
    assert!(run(&["--root", root, "-sX", "-i0.01", "-c2", "-f", folder]).status.success());
    let play = crate::whit().arg("play").arg(folder).output().unwrap();
    assert_eq!(play.status.code(), Some(2));
    assert_eq!(text(&play.stdout), "");
    assert!(text(&play.stderr).contains("the recorded machine had no InfiniBand adapter"));
}

#[test]
fn the_second_recorder_of_a_file_is_refused_with_the_pid_of_the_first() {
    for _ in 0..10 {
        let folder = folder();
        let place = folder.path().to_str().unwrap();
        let begin = || Running::start(whit(&["-sc", "-i0.05", "-f", place]).stderr(Stdio::piped()));
        let (mut one, mut other) = (begin(), begin());
        testkit::wait_until("a file is made", || !recordings(folder.path()).is_empty());
        let mut refused = None;
        testkit::wait_until("one is refused, or both record", || {
            refused =
                [&mut one, &mut other].iter_mut().position(|c| c.try_wait().unwrap().is_some());
            refused.is_some() || recordings(folder.path()).len() == 2
        });
        let Some(refused) = refused else {
            // They began in different seconds: other names, nothing to refuse.
            continue;
        };
        let (mut refused, running) =
            if refused == 0 { (one, &mut other) } else { (other, &mut one) };
        let mut said = String::new();
        refused.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(refused.ended().code(), Some(2));
        running.signal(libc::SIGTERM);
        assert_eq!(said.lines().count(), 1, "{said}");
        if !said.contains("process ") {
            // On a busy machine the other one has the lock and has not written its number yet.
            continue;
        }
        assert!(said.contains(&format!("process {}", running.id())), "{said}");
        assert!(running.ended().success());
        assert!(read(&recordings(folder.path())[0]).damage.is_none());
        return;
    }
    panic!("of ten pairs of recorders none began in the same second, with a number");
}

#[test]
fn a_second_recorder_of_a_folder_is_refused_later_too() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let mut one = Running::start(&mut whit(&["-sc", "-i0.05", "--quiet", "-f", place]));
    testkit::wait_until("a recording", || !recordings(folder.path()).is_empty());
    let path = recordings(folder.path()).remove(0);
    wait_until_grown(&path, 3);
    // In another second, so that its file has another name.
    let seconds = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let begun = seconds();
    testkit::wait_until("another second", || seconds() > begun + 1);
    let refused = run(&["-sc", "-i0.05", "-c1", "-f", place]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = text(&refused.stderr);
    assert!(said.contains(&format!("process {} is already recording there", one.id())), "{said}");
    assert_eq!(recordings(folder.path()), [path], "no second file");
    // Another prefix is another recording.
    let beside = run(&["-sc", "-i0.05", "-c1", "-f", &format!("{place}/other")]);
    assert!(beside.status.success(), "{beside:?}");
    one.signal(libc::SIGTERM);
    assert!(one.ended().success());
}

#[test]
fn the_start_line_says_what_is_recorded_and_what_is_not() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let said = |arguments: &[&str]| {
        let output = run(&[arguments, &["-i0.05", "-c1", "-f", place]].concat());
        assert!(output.status.success(), "{output:?}");
        text(&output.stderr)
    };
    let all = said(&["--all"]);
    assert!(all.contains(&format!("to {place}/")) && all.contains("recording -s "), "{all}");
    assert!(all.contains("not recorded: ") && all.contains("/process/"), "{all}");
    let chosen = said(&["-sc"]);
    assert!(chosen.contains("recording -s c to ") && !chosen.contains("not recorded"), "{chosen}");
    assert!(chosen.contains(".whit every 0.05 s\n"), "{chosen}");
    let (_, end) = chosen.split_once('\n').unwrap();
    assert!(end.contains(" samples, ") && end.contains(" bytes written; used "), "{end}");
    assert_eq!(said(&["-sc", "--quiet"]), "");
}

#[test]
fn one_live_reading_of_what_needs_two_is_said() {
    for (view, headings) in [("--verbose", 0), ("-P", 1)] {
        let output = run(&["-sZ", "-i0.05:60", "-c2", view]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(text(&output.stdout).lines().count(), headings, "{output:?}");
        let said = "nothing to show: there was one reading of process, process_total, and a change";
        assert!(text(&output.stderr).contains(said), "{output:?}");
    }
}

/// A command with a limit of its process.
fn limited(resource: Resource, bytes: u64, arguments: &[&str]) -> Output {
    use std::os::unix::process::CommandExt as _;
    let mut command = whit(arguments);
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    // SAFETY: setrlimit(2) may be called between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(resource, limit)?));
    }
    command.output().unwrap()
}

#[test]
fn a_small_stack_is_enough() {
    let output = limited(Resource::Stack, 64 << 10, &["-scdn", "-i0.05", "-c1"]);
    assert!(output.status.success(), "{output:?}");
    let output = limited(Resource::Stack, 64 << 10, &["-sl"]);
    assert_eq!(output.status.code(), Some(2), "the code is that of the work: {output:?}");
}

#[test]
fn little_memory_is_enough_for_processes() {
    // The kernel's types alone take more.
    let output = limited(Resource::Data, 32 << 20, &["-sZ", "-i0.05:0.05", "-c1"]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("PROCESS SUMMARY"), "{output:?}");
    // Who may load no programs hears of that.
    let said = text(&output.stderr);
    assert!(said.contains("processes are read from /proc"), "{said}");
}

#[test]
fn little_memory_for_programs_of_the_kernel_is_told_without_other_advice() {
    let output = limited(Resource::Data, 32 << 20, &["-sk", "-i0.05", "-c1"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said.contains("-s kK: syscall: "), "{said}");
    assert!(said.ends_with("nothing that was asked for can be read here\n"), "{said}");
}

#[test]
fn what_can_read_nothing_leaves_no_file() {
    let (machine, place) = (folder(), folder());
    std::fs::create_dir(machine.path().join("proc")).unwrap();
    let (root, prefix) = (machine.path().to_str().unwrap(), place.path().join("x"));
    for letters in ["-scd", "-s+m"] {
        let words = ["--root", root, letters, "-i0.01", "-c2", "-f", prefix.to_str().unwrap()];
        let output = run(&words);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            text(&output.stderr).contains("nothing that was asked for can be read"),
            "{output:?}"
        );
        assert_eq!(recordings(place.path()), Vec::<PathBuf>::new(), "{letters}");
    }
}

#[test]
fn a_full_disk_is_told_once_survived_and_counted() {
    let Some(disk) = testkit::SmallDisk::mount(1024) else { return };
    let place = disk.path().to_str().unwrap();
    let mut child =
        Running::start(whit(&["-scdnmw", "-i0.001", "-f", place]).stderr(Stdio::piped()));
    testkit::wait_until("there is a file", || !recordings(disk.path()).is_empty());
    let recording = recordings(disk.path()).remove(0);
    wait_until_grown(&recording, 20);
    disk.fill();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("recording -s cdnmw to "), "{line}");
    line.clear();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("no space left"), "{line}");
    disk.free();
    line.clear();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("written again after"), "told once, then that it goes on: {line}");
    wait_until_grown(&recording, 20);
    child.signal(libc::SIGTERM);
    assert!(child.ended().success());
    let content = read(&recording);
    assert!(content.damage.is_none(), "{:?}", content.damage);
    assert!(content.unwritten > 0, "the gap is in the file");
    // Every sample taken is either there or counted as lost.
    let (first, last) = (content.counts[0], *content.counts.last().unwrap());
    assert_eq!(last - first + 1, content.samples as u64 + content.unwritten);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let mut command = whit(&["-sc", "-i0.01"]);
    let mut child = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with('#'));
    drop(lines);
    assert!(child.ended().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn bad_input_is_one_line_and_exit_2() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let in_a_file = format!("{}/x/", file.display());
    let cases: &[(&[&str], &str)] = &[
        (&["-s", "q9"], "'9'"),
        (&["-i", "x"], "'x'"),
        (&["-i2:3", "-sy"], "multiple"),
        (&["-R", "5"], "-R"),
        (&["-f", "/no/such/folder/x"], "/no/such/folder"),
        (&["-f", &in_a_file], &in_a_file),
        (&["-f", "/proc/", "-sc"], "/proc/"),
        (&["-f", "/tmp", "-r", "25:00"], "-r 25:00"),
        (&["--keep", "7x", "-f", "/tmp"], "--keep"),
        (&["--budget", "0"], "--budget"),
        (&["--budget", "5", "-i0"], "--budget"),
        (&["-A", "localhost:0x"], "-A"),
        (&["-D"], "-D"),
        (&["--tworaw"], "--tworaw"),
        (&["--import", "hello"], "--import"),
        (&["--rawtoo", "-f", "/tmp"], "--rawtoo"),
        (&["--rawdskfilt", "(", "-sd", "-c1"], "--rawdskfilt"),
        (&["--root", "/no/such/root", "-sc", "-c1"], "/no/such/root"),
        (&["--umask", "9", "-c1", "-sc"], "--umask"),
    ];
    for (arguments, says) in cases {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.starts_with("whit: ") && said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn plot_files_and_a_recording_besides() {
    let folder = folder();
    let prefix = folder.path().join("run");
    let prefix = prefix.to_str().unwrap();
    let output = run(&["-scdnmC", "-i0.02", "-c5", "-P", "-oz", "--rawtoo", "-f", prefix]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let extensions: Vec<&str> = names.iter().map(|name| name.rsplit('.').next().unwrap()).collect();
    assert_eq!(extensions, ["whit", "cpu", "tab"], "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("run-")), "{names:?}");
    for name in &names[1..] {
        let plot = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(plot.lines().filter(|line| !line.starts_with('#')).count(), 5, "{name}: {plot}");
    }
    assert_eq!(read(&recordings(folder.path())[0]).samples, 6);
}

#[test]
fn lines_over_a_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let mut child = Running::start(whit(&["-sc", "-i0.05", "-A", &address]).stdout(Stdio::piped()));
    let (peer, _) = listener.accept().unwrap();
    let host = rustix::system::uname().nodename().to_str().unwrap().to_owned();
    let host = host.split('.').next().unwrap().to_owned();
    let mut lines = BufReader::new(peer).lines();
    for _ in 0..4 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(&format!("{host} ")), "{line}");
    }
    drop(lines);
    assert!(child.ended().success(), "a peer that goes away ends it");
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "", "nothing on the screen");
}

#[test]
fn clients_come_and_go_at_a_server() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("server:{free}");
    let mut child = Running::start(&mut whit(&["-sc", "-i0.02", "-A", &address]));
    for _ in 0..3 {
        let mut client = None;
        testkit::wait_until("it listens", || {
            client = TcpStream::connect(("127.0.0.1", free)).ok();
            client.is_some()
        });
        let client = client.unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut lines = BufReader::new(client).lines();
        for _ in 0..3 {
            assert!(!lines.next().unwrap().unwrap().is_empty());
        }
    }
    child.signal(libc::SIGINT);
    assert!(child.ended().success());
}

#[test]
fn a_daemon_reports_its_start_and_holds_its_pid_file() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let name = format!("test{}", std::process::id());
    let arguments = ["-D", "--pname", &name, "-i1", "-sc", "-f", place];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(recordings(folder.path()).len(), 1, "it has opened its file when the start is over");
    let file = format!("whit-{name}.pid");
    let paths = [Path::new("/run").join(&file), folder.path().join(&file)];
    let path = paths.iter().find(|path| path.exists()).unwrap();
    let pid = std::fs::read_to_string(path).unwrap();
    let second = run(&arguments);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains(pid.trim()) && said.lines().count() == 1, "{said}");
    let failed = run(&["-D", "--pname", "other", "-sc", "-f", "/no/such/folder/x"]);
    assert_eq!(failed.status.code(), Some(2), "the start tells of the daemon's error");
    assert!(text(&failed.stderr).contains("/no/such/folder"), "{}", text(&failed.stderr));
    let raw = pid.trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    testkit::wait_until("it is gone", || !path.exists());
    let recording = &recordings(folder.path())[0];
    testkit::wait_until("it is closed", || !read(recording).damage.not_closed);
}

/// System calls a sample, counted from outside: the difference of two runs of other lengths, so
/// that the start does not count.
fn calls_a_sample(arguments: &[&str]) -> f64 {
    let count = |samples: u64| {
        let folder = folder();
        let out = folder.path().join("calls");
        let status = Command::new("strace")
            .args(["-f", "-c", "-U", "calls", "-o"])
            .arg(&out)
            .arg(crate::WHIT)
            .args(["record", "-f"])
            .arg(folder.path())
            .arg(format!("-c{samples}"))
            .args(arguments)
            .status()
            .unwrap();
        assert!(status.success());
        let counted = std::fs::read_to_string(&out).unwrap();
        let total = counted.lines().last().unwrap().split_whitespace().next().unwrap();
        total.parse::<f64>().unwrap()
    };
    (count(600) - count(200)) / 400.0
}

#[test]
fn system_calls_a_sample_are_the_files_and_two() {
    // The six files of -scdnm, one write, one sleep; at -i0 no sleep.  On top of these each
    // interface's speed or state is asked in turn, twice a second.
    // The kernel gives no more than a page at once: where a text is longer, as /proc/vmstat after
    // days, each further page is a read more.
    if !testkit::is_installed("strace", "strace") {
        return;
    }
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output().unwrap();
    if !traced.status.success() {
        return testkit::skip_refused("strace", &text(&traced.stderr));
    }
    let files = ["stat", "loadavg", "meminfo", "vmstat", "diskstats", "net/dev"];
    let length = |file| std::fs::read(format!("/proc/{file}")).unwrap_or_default().len();
    let further: f64 = files.map(|file| (length(file) / 4000) as f64).iter().sum();
    for (arguments, most) in [(["-scdnm", "-i0"], 8.0), (["-scdnm", "-i0.002"], 8.05)] {
        let most = most + further;
        let calls = calls_a_sample(&arguments);
        assert!(calls <= most, "{arguments:?}: {calls} calls a sample");
    }
}

#[test]
fn memory_stays_small() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let mut child = Running::start(&mut whit(&["--all", "-i0.001", "-f", place]));
    testkit::wait_until("there is a file", || !recordings(folder.path()).is_empty());
    // Enough for blocks to be closed and compressed.
    wait_until_grown(&recordings(folder.path())[0], 300);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    child.signal(libc::SIGTERM);
    assert!(child.ended().success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // 8 MiB in a release build; pages of an unoptimised binary are not what is measured here.
    assert!(peak <= 24 << 10, "{peak} kB");
}

#[test]
fn another_root_is_another_machine() {
    let host = testkit::FakeHost::new().unwrap();
    host.put("/proc/stat", "cpu  100 0 50 1000 5 0 2 0 0 0\ncpu0 100 0 50 1000\nctxt 7\n").unwrap();
    host.put("/proc/sys/kernel/hostname", "elsewhere.example\n").unwrap();
    let folder = folder();
    let (root, place) = (host.root().to_str().unwrap(), folder.path().to_str().unwrap());
    let output = run(&["-scd", "-i0", "-c3", "--root", root, "-f", place]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let path = &recordings(folder.path())[0];
    assert!(path.file_name().unwrap().to_str().unwrap().starts_with("elsewhere-"));
    let known: Vec<Arc<SourceDef>> = source::definitions();
    let mut reader = Reader::open(path, &known).unwrap();
    let defs = reader.defs();
    let mut snapshot = Snapshot::new(&defs);
    assert_eq!(reader.next(&mut snapshot).unwrap(), ReadOutcome::Sample);
    let state = |name| snapshot.samples[defs.iter().position(|d| d.name == name).unwrap()].state;
    assert_eq!(state("cpu"), State::Ok);
    assert_eq!(state("disk"), State::Absent, "missing is not zero");
}

#[test]
fn over_budget_sources_are_skipped_and_say_so() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let output = run(&["-scdnmw", "-i0.01", "-c60", "--budget", "0.01", "-f", place]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let content = read(&recordings(folder.path())[0]);
    assert_eq!(content.samples, 61);
    assert!(content.skipped > 60, "{}", content.skipped);
    assert_eq!(content.counts.len(), 61, "the recorder's own source is never left out");
}

#[test]
fn a_source_is_read_at_the_third_interval_if_asked_for() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    run(&["-scs", "-i0:1:10", "-c30", "--third-interval", "socket", "-f", place]);
    let mut reader = Reader::open(&recordings(folder.path())[0], &[]).unwrap();
    let defs = reader.defs();
    let socket = defs.iter().position(|def| def.name == "socket").unwrap();
    assert_eq!(defs[socket].cadence, sample::Cadence::Third);
    let (mut snapshot, mut fresh) = (Snapshot::new(&defs), 0);
    while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
        fresh += usize::from(snapshot.fresh[socket]);
    }
    assert!((3..=4).contains(&fresh), "{fresh} of 31");
    let output = run(&["-scs", "-i0", "-c1", "--third-interval", "disk,desk"]);
    assert!(text(&output.stderr).contains("--third-interval desk: no such source"), "{output:?}");
}

/// CPU time of another process so far, by its CPU-time clock.
fn cpu_time_of(child: &Child) -> Duration {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    let pid = child.id().cast_signed();
    // SAFETY: the pointer is to what the call fills.
    assert_eq!(unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) }, 0);
    // SAFETY: the pointer is to what the call fills.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// What recording uses after its first second, in per cent of one CPU.
fn percent_used(interval: &str, budget: &[&str]) -> f64 {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let fixed = ["-scCdDnNmMjJtTsEfiypg", "--quiet", "-i", interval, "-f", place];
    let mut child = Running::start(&mut whit(&[&fixed, budget].concat()));
    std::thread::sleep(Duration::from_secs(1));
    let (begin, before) = (Instant::now(), cpu_time_of(&child));
    std::thread::sleep(Duration::from_secs(8));
    let (passed, used) = (begin.elapsed(), cpu_time_of(&child) - before);
    child.signal(libc::SIGTERM);
    assert!(child.ended().success());
    used.as_secs_f64() / passed.as_secs_f64() * 100.0
}

/// Measures a recorder without and with this budget; the error says what is not as it should be.
fn budget_holds(percent: f64, interval: &'static str) -> Result<(), String> {
    let budget = percent.to_string();
    let without = std::thread::spawn(move || percent_used(interval, &[]));
    let with = percent_used(interval, &["--budget", &budget]);
    let without = without.join().unwrap();
    let said = format!("budget {percent} %: {with:.3} % used, {without:.3} % without it");
    // Without a budget it uses more; with it hardly more than the budget, and most of that.
    let holds = without > percent * 1.3 && with < percent * 1.1 && with > percent * 0.7;
    if holds { Ok(()) } else { Err(said) }
}

/// Beside other work a recorder misses ticks, and a reading takes more CPU time than the one before:
/// so it may be measured three times.
#[test]
fn a_budget_holds_all_that_the_recorder_uses() {
    let cases = [(0.3, "0.05"), (1.0, "0.02")].map(|(percent, interval)| {
        std::thread::spawn(move || {
            let mut said = Vec::new();
            while said.len() < 3 {
                match budget_holds(percent, interval) {
                    Ok(()) => return,
                    Err(error) => said.push(error),
                }
            }
            panic!("{}", said.join("; "));
        })
    });
    for case in cases {
        case.join().unwrap();
    }
}
