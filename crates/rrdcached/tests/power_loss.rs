//! `--ack disk` when the power fails: a real file system on a block device of its own is cut off at
//! random moments, and nothing that was acknowledged is missing when it is mounted again.
//!
//! The file system is ext4 in an image, through a loop device, in a mount namespace of this test.
//! `EXT4_IOC_SHUTDOWN` with `NOLOGFLUSH`, which the file systems' own tests use, ends it as the end
//! of the power does: what was not synced is dropped, data, sizes and names, and the journal of the
//! file system is not flushed.  Before that, single pages of random files are written, so that the
//! disk has any of them in any order.  The next mount recovers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Client, rows, seed, settings, start};
use rrdcached::Acknowledge;
use testkit::{Random, Running, own_test};

/// Names the folder in which this program, started again, is a daemon.
const DAEMON: &str = "WHIT_TEST_DAEMON";
/// Names the folder of the image, in a mount namespace of its own.
const INNER: &str = "WHIT_TEST_DISK";
/// How often the power fails: 6 times in a short run, 30 in a long one, 200 before a release.
const CUTS: &str = "WHIT_CUTS";

const FILES: usize = 6;
/// Rows of the archive that is looked at.
const ROWS: u64 = 400_000;
const START: u64 = 1_600_000_000;
/// `EXT4_IOC_SHUTDOWN` is `_IOR('X', 125, __u32)`; 2 is `EXT4_GOING_FLAGS_NOLOGFLUSH`.
const SHUTDOWN: libc::c_ulong = 0x8004_587d;
const NO_LOG_FLUSH: u32 = 2;

/// No test: the daemon.
#[test]
fn as_a_daemon() {
    let Some(path) = std::env::var_os(DAEMON).map(PathBuf::from) else { return };
    let mut settings = settings(&path);
    // Files are written, and segments ended and removed, all the time.
    settings.write_seconds = 1;
    settings.crowded_write_seconds = 1;
    settings.scan_seconds = 1;
    let _server = start(&path, settings, Acknowledge::Disk);
    loop {
        std::thread::park();
    }
}

struct Daemon(#[expect(dead_code, reason = "held so that it ends with this")] Running);

impl Daemon {
    fn start(path: &Path, boot: usize) -> Self {
        let mut command = own_test("power_loss::as_a_daemon");
        command.env(DAEMON, path);
        command.env("WHIT_TEST_BOOT", format!("boot {boot}"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self(Running::start(&mut command));
        testkit::connect(&path.join("socket"));
        daemon
    }
}

/// A file system that is mounted.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Result<Self, String> {
        let disk = Self { image: folder.join("image"), mount: folder.join("mount") };
        let file = std::fs::File::create(&disk.image).map_err(|error| error.to_string())?;
        file.set_len(96 << 20).map_err(|error| error.to_string())?;
        std::fs::create_dir(&disk.mount).map_err(|error| error.to_string())?;
        run(Command::new("mkfs.ext4").arg("-q").arg(&disk.image))?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        run(Command::new("mount")
            .args(["-t", "ext4", "-o", "loop"])
            .args([&self.image, &self.mount]))
    }

    fn cut(&self) {
        let folder = std::fs::File::open(&self.mount).expect("mount");
        let flags = NO_LOG_FLUSH;
        // SAFETY: the descriptor is open, and the call reads one `u32`.
        let done = unsafe { libc::ioctl(folder.as_raw_fd(), SHUTDOWN, &raw const flags) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }

    fn mount_again(&self) {
        run(Command::new("umount").arg(&self.mount)).expect("umount");
        self.mount().expect("mount");
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

/// What became of a file's readings: reading `n` is `n` seconds after the start and has the value `n`.
#[derive(Default)]
struct Progress {
    sent: u64,
    acknowledged: BTreeSet<u64>,
}

/// Sends readings until the daemon or its disk is gone.  What is acknowledged while the power fails
/// does not count: the file system may say that a sync was done which it has just given up.
fn load(
    path: &Path,
    files: &[usize],
    progress: &[Mutex<Progress>],
    batch: u64,
    is_over: &AtomicBool,
) {
    let Ok(stream) = UnixStream::connect(path.join("socket")) else { return };
    let mut writer = stream.try_clone().expect("clone");
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
    };
    loop {
        for file in files {
            let first = progress[*file].lock().expect("lock").sent + 1;
            let last = first + batch - 1;
            let mut text = String::from("BATCH\n");
            for number in first..=last {
                text.push_str(&format!("UPDATE {file}.rrd {}:{number}\n", START + number));
            }
            text.push_str(".\n");
            progress[*file].lock().expect("lock").sent = last;
            if writer.write_all(text.as_bytes()).is_err() {
                return;
            }
            let Some(answer) = line().and_then(|_| line()) else { return };
            if is_over.load(Ordering::SeqCst) {
                return;
            }
            assert!(answer.starts_with("0 errors"), "{answer}");
            progress[*file].lock().expect("lock").acknowledged.extend(first..=last);
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Has the disk take single pages of files, whatever was written first.
fn write_back_pages(path: &Path, mut chance: Random, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        let file = path.join(format!("base/{}.rrd", chance.below(FILES as u64)));
        if let Ok(file) = std::fs::File::open(file) {
            let pages = file.metadata().map_or(1, |metadata| metadata.len() / 4096 + 1);
            // The head is in the first page, and changes with every write.
            let page = if chance.below(3) == 0 { 0 } else { chance.below(pages) };
            let (offset, flags) = ((page * 4096) as i64, libc::SYNC_FILE_RANGE_WRITE);
            // SAFETY: the descriptor is open; the call takes numbers.
            unsafe { libc::sync_file_range(file.as_raw_fd(), offset, 4096, flags) };
        }
        std::thread::sleep(Duration::from_micros(chance.below(3000)));
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "what was tried")]
fn the_end_of_the_power_loses_nothing_that_was_acknowledged() {
    let Some(folder) = std::env::var_os(INNER).map(PathBuf::from) else {
        return in_a_namespace();
    };
    let disk = match Disk::new(&folder) {
        Ok(disk) => disk,
        Err(error) => return testkit::skip("ext4 on a loop device", error.trim()),
    };
    let cuts = testkit::setting(CUTS, testkit::share(30) as u64) as usize;
    let path = disk.mount.clone();
    let mut chance = Random::from_seed(seed());
    let progress: Vec<Mutex<Progress>> = (0..FILES).map(|_| Mutex::default()).collect();
    std::fs::create_dir(path.join("base")).expect("folder");
    let daemon = Daemon::start(&path, 0);
    for file in 0..FILES {
        let rows = format!("RRA:LAST:0:1:{ROWS} RRA:AVERAGE:0.5:10:40000 RRA:MAX:0.5:60:4000");
        let words = format!("CREATE {file}.rrd -b {START} -s 1 DS:x:GAUGE:100000:U:U {rows}");
        assert_eq!(Client::connect(&path).ask(&words), "0 RRD created OK\n");
    }
    drop(daemon);
    for cut in 1..=cuts {
        let daemon = Daemon::start(&path, cut);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (progress, path, is_over) = (&progress[..], &path, &is_over);
            scope.spawn(move || load(path, &[0, 1, 2], progress, 3, is_over));
            scope.spawn(move || load(path, &[3, 4, 5], progress, 40, is_over));
            let random = Random::from_seed(chance.bits());
            scope.spawn(move || write_back_pages(path, random, is_over));
            // Some fail while the daemon still brings back what the one before has left.
            let longest = if chance.below(4) == 0 { 20_000 } else { 2_500_000 };
            std::thread::sleep(Duration::from_micros(chance.below(longest)));
            is_over.store(true, Ordering::SeqCst);
            disk.cut();
            drop(daemon);
        });
        disk.mount_again();
        if cut % 3 == 0 || cut == cuts {
            check(&path, cuts + cut, &progress);
        }
    }
    let total: usize =
        progress.iter().map(|one| one.lock().expect("lock").acknowledged.len()).sum();
    eprintln!("{cuts} ends of the power, {total} readings acknowledged, none lost");
    assert!(total > 0);
    run(Command::new("umount").arg(&disk.mount)).expect("umount");
}

/// Every reading that was acknowledged is in its file, after the daemon has come back.
fn check(path: &Path, boot: usize, progress: &[Mutex<Progress>]) {
    let daemon = Daemon::start(path, boot);
    for (file, progress) in progress.iter().enumerate() {
        let answer = Client::connect(path).ask(&format!("FLUSH {file}.rrd"));
        assert!(answer.starts_with("0 "), "{answer}");
        let progress = progress.lock().expect("lock");
        let rows = rows(&path.join(format!("base/{file}.rrd")));
        // A row between has the value of the reading after it.
        let found: BTreeMap<i64, f64> = rows.into_iter().collect();
        let is_lost = |number: &&u64| {
            found.get(&((START + **number) as i64)).is_none_or(|value| *value != **number as f64)
        };
        // After many cuts the archive is full, and has lost its oldest rows by itself.
        let kept = progress.acknowledged.range(progress.sent.saturating_sub(ROWS - 1000)..);
        let lost: Vec<&u64> = kept.filter(is_lost).collect();
        let (count, first) = (lost.len(), lost.iter().take(5));
        assert!(lost.is_empty(), "file {file}: {count} are lost: {first:?} of {}", progress.sent);
    }
    drop(daemon);
}

/// Runs the test again where its mounts end with it.
fn in_a_namespace() {
    let folder = tempfile::tempdir().expect("folder");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    let inner = own_test("power_loss::the_end_of_the_power_loses_nothing_that_was_acknowledged");
    command.arg(inner.get_program()).args(inner.get_args()).env(INNER, folder.path());
    let done = match command.output() {
        Ok(done) => done,
        Err(error) => return testkit::skip("ext4 on a loop device", &error.to_string()),
    };
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if said.contains("unshare failed") {
        return testkit::skip("ext4 on a loop device", said.trim());
    }
    assert!(done.status.success(), "{said}");
    print_report(&said);
}

#[allow(clippy::print_stderr, reason = "what was tried")]
fn print_report(said: &str) {
    for line in said.lines().filter(|line| line.contains("power") || line.contains("SEED")) {
        eprintln!("{line}");
    }
}
