//! What happens at the limits: full disks, readers that are gone, a thousand loud jobs, few
//! descriptors, a runner that is killed.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use run::collect::{CollectError, JobText, Mode};
use testkit::SmallDisk;

use super::support::{self, Bench, close_error, collector, device, options, pipe, write};

#[test]
fn a_full_standard_output_is_told_once_and_the_jobs_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for mode in [Mode::Group, Mode::LineBuffer] {
        for length in [10, 1_000_000] {
            if mode == Mode::LineBuffer && length > 60_000 {
                // More than a pipe holds.
                continue;
            }
            let options = options(mode, false, folder.path());
            let mut collector = collector(options, device("/dev/full"), device("/dev/null"));
            for seq in 1..=2 {
                let streams = collector.open(1, seq, &JobText::default()).expect("streams");
                write(streams.stdout, vec![b'x'; length]);
                collector.close(support::finished(1, seq), false).expect("the jobs go on");
                let told: Vec<_> = collector.take_losses().map(|loss| loss.to_string()).collect();
                let full = "cannot write to standard output: No space left on device (os error 28)";
                let expected: &[&str] = if seq == 1 { &[full] } else { &[] };
                assert_eq!(told, expected, "{mode:?} {length} {seq}");
            }
        }
    }
}

#[test]
fn a_reader_that_is_gone_ends_it_quietly() {
    let folder = tempfile::tempdir().expect("a folder");
    for length in [10, 1_000_000] {
        let (reading, writing) = pipe();
        drop(reading);
        let options = options(Mode::Group, false, folder.path());
        let mut collector = collector(options, writing, device("/dev/null"));
        let error = close_error(&mut collector, &vec![b'x'; length]);
        assert!(matches!(error, CollectError::ReaderGone), "{error}");
    }
}

/// Writes until nothing more fits, as a job does that does not look.
fn fill(descriptor: i32) -> u64 {
    let file = support::borrowed(descriptor);
    let mut written = 0;
    while let Ok(count) = rustix::io::write(file, &[b'x'; 10_000]) {
        written += count as u64;
    }
    written
}

#[test]
fn an_output_that_a_full_disk_has_cut_is_an_error_that_says_so() {
    let Some(disk) = SmallDisk::mount(256) else { return };
    let mut bench = Bench::with(|_| options(Mode::Group, false, disk.path()));
    // The look of this second is taken: it is the output's length that is suspected.
    bench.open(1, 9, None);
    bench.close(1, 9);
    let streams = bench.open(1, 1, None);
    assert!(fill(streams.stdout.unwrap()) > 100_000);
    let error = bench.collector.close(support::finished(1, 1), false).expect_err("full");
    let start = format!("no space left for {}: free some", disk.path().display());
    assert!(error.to_string().starts_with(&start), "{error}");

    // A job that could write nothing at all is noticed too, once a second.
    let mut bench = Bench::with(|_| options(Mode::Group, false, disk.path()));
    let other = std::fs::File::create(disk.path().join("other")).expect("a file");
    bench.open(1, 1, None);
    fill(std::os::fd::AsRawFd::as_raw_fd(&other));
    let error = bench.collector.close(support::finished(1, 1), false).expect_err("full");
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn a_disk_that_is_not_full_is_no_error_whatever_the_length() {
    let Some(disk) = SmallDisk::mount(256) else { return };
    let mut bench = Bench::with(|_| options(Mode::Group, false, disk.path()));
    for (seq, length) in [4096, 8192, 65_536, 65_537, 0, 1].into_iter().enumerate() {
        let streams = bench.open(1, seq as u64, None);
        write(streams.stdout, vec![b'x'; length]);
        bench.close(1, seq as u64);
    }
    assert_eq!(bench.stdout().len(), 4096 + 8192 + 65_536 + 65_537 + 1);
}

/// A thousand slots with a pair of pipes each are 4,000 descriptors.
fn allow_descriptors(count: u64) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.map_or(count, |current| current.max(count));
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit }).is_ok()
}

#[test]
fn a_thousand_loud_jobs_are_never_mixed() {
    if !allow_descriptors(8192) {
        testkit::skip("many descriptors", "8,192 are not allowed");
        return;
    }
    for (mode, keep_order) in [(Mode::Group, false), (Mode::Group, true), (Mode::LineBuffer, false)]
    {
        let mut bench = Bench::new(mode, keep_order);
        let streams: Vec<_> = (1..=1000).map(|seq| bench.open(seq as u32, seq, None)).collect();
        std::thread::scope(|scope| {
            for jobs in streams.chunks(250).zip(0..) {
                scope.spawn(move || loud(jobs.0, jobs.1 * 250));
            }
        });
        // Their ends come in an order that has nothing to do with their numbers.
        for at in 0..1000_u64 {
            let seq = at * 7 % 1000 + 1;
            bench.close(seq as u32, seq);
        }
        let stdout = bench.stdout();
        let lines: Vec<&str> = stdout.lines().collect();
        assert_eq!(lines.len(), 20_000);
        for (at, job) in lines.chunks(20).enumerate() {
            let seq = if keep_order { at + 1 } else { at * 7 % 1000 + 1 };
            for (number, line) in job.iter().enumerate() {
                assert_eq!(*line, format!("job {seq} line {number} {}", "x".repeat(number * 3)));
            }
        }
        assert_eq!(bench.written().len(), 1000);
    }
}

/// Twenty lines of each job, written in halves, the jobs by turns.
fn loud(jobs: &[run::collect::Streams], first: usize) {
    for number in 0..20 {
        for (at, streams) in jobs.iter().enumerate() {
            write(streams.stdout, format!("job {} line ", first + at + 1));
            write(streams.stdout, format!("{number} {}\n", "x".repeat(number * 3)));
        }
    }
}

/// Descriptors of files in this folder; other tests have theirs meanwhile.
fn descriptors(folder: &Path) -> usize {
    let opened = std::fs::read_dir("/proc/self/fd").expect("procfs");
    let targets = opened.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(folder)).count()
}

#[test]
fn outputs_that_wait_take_few_descriptors_and_little_memory() {
    let mut bench = Bench::new(Mode::Group, true);
    bench.open(1, 1, None);
    let folder = bench.folder.path().to_path_buf();
    let before = descriptors(&folder);
    let line = "0123456789abcdef".repeat(5000);
    for seq in 2..=1500 {
        let streams = bench.open(2, seq, None);
        // Most are small, some are larger than what is kept in memory.
        let length = if seq % 3 == 0 { line.len() } else { 20_000 };
        write(streams.stdout, &line[..length - 1]);
        write(streams.stdout, "\n");
        bench.close(2, seq);
    }
    let held = descriptors(&folder) - before;
    assert!((200..=256 + 3).contains(&held), "{held} descriptors");
    bench.close(1, 1);
    let stdout = bench.stdout();
    assert_eq!(bench.written().len(), 1500);
    for (line, seq) in stdout.lines().zip(2..) {
        let length = if seq % 3 == 0 { 80_000 } else { 20_000 };
        assert_eq!(line.len() + 1, length, "job {seq}");
    }
    assert_eq!(stdout.lines().count(), 1499);
    assert!(descriptors(&folder) <= before + 3);
}

#[test]
fn nothing_is_ever_in_the_folder_of_temporary_files() {
    let mut bench = Bench::new(Mode::Group, true);
    for seq in 1..=3 {
        let streams = bench.open(seq as u32, seq, None);
        write(streams.stdout, vec![b'x'; 100_000]);
    }
    bench.close(3, 3);
    bench.close(2, 2);
    // Whenever the runner is killed, this is what it leaves.
    assert_eq!(std::fs::read_dir(bench.folder.path()).expect("a folder").count(), 0);
}

#[test]
fn a_pipe_that_is_set_not_to_block_gets_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let (reading, writing) = pipe();
    rustix::fs::fcntl_setfl(&writing, rustix::fs::OFlags::NONBLOCK).expect("a flag");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::fs::File::from(reading).read_to_end(&mut bytes).expect("read");
        bytes
    });
    let mut collector =
        collector(options(Mode::Group, false, folder.path()), writing, device("/dev/null"));
    let mut expected = Vec::new();
    for (seq, tag) in [(1, None), (2, Some(&b"t"[..]))] {
        let text = JobText { tag, ..JobText::default() };
        let streams = collector.open(1, seq, &text).expect("streams");
        write(streams.stdout, "line of a job\n".repeat(50_000));
        collector.close(support::finished(1, seq), false).expect("written");
        while collector.next_written().expect("written").is_some() {}
        let line = if seq == 1 { "line of a job\n" } else { "t\tline of a job\n" };
        expected.extend_from_slice(line.repeat(50_000).as_bytes());
    }
    drop(collector);
    assert!(reader.join().expect("a reader") == expected);
}

#[test]
fn an_output_that_is_appended_to_gets_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("output");
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).expect("a file");
    let options = options(Mode::Group, false, Path::new("/tmp"));
    let mut collector = collector(options, OwnedFd::from(file), device("/dev/null"));
    for seq in 1..=2 {
        let streams = collector.open(1, seq, &JobText::default()).expect("streams");
        write(streams.stdout, vec![b'a' + seq as u8; 300_000]);
        collector.close(support::finished(1, seq), false).expect("written");
        while collector.next_written().expect("written").is_some() {}
    }
    let bytes = std::fs::read(path).expect("text");
    assert!(bytes == [vec![b'b'; 300_000], vec![b'c'; 300_000]].concat());
}
