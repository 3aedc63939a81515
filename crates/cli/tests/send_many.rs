//! `whit send` follows more recordings than it may have descriptors.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use feed::{Feed as _, LiveFeed};
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot};
use source::SourceContext;
use testkit::{Running, VictoriaMetrics, wait_until};

use crate::whit;

const RECORDINGS: usize = 200;
const DESCRIPTORS: usize = 64;
const SECOND_NS: i64 = 1_000_000_000;

/// Recordings of so many hosts, all of which go on.
struct Recorders {
    writers: Vec<Writer>,
    snapshot: Snapshot,
}

impl Recorders {
    fn begin(folder: &Path) -> Self {
        let memory = source::find("memory").unwrap();
        let mut feed = LiveFeed::open(Path::new("/"), &[memory], SourceContext::default());
        let mut snapshot = Snapshot::new(&feed.defs());
        assert!(feed.next(&mut snapshot).unwrap());
        let writer = |number: usize| {
            let mut meta = Meta::new();
            meta.set("host", format!("host{number}"));
            let options = WriterOptions::default();
            Writer::create(&path_of(folder, number), &meta, &feed.defs(), options).unwrap()
        };
        Recorders { writers: (0..RECORDINGS).map(writer).collect(), snapshot }
    }

    /// Everyone writes the sample of the next second.
    fn write(&mut self) {
        let snapshot = &mut self.snapshot;
        snapshot.realtime_ns += SECOND_NS;
        snapshot.monotonic_ns += SECOND_NS.cast_unsigned();
        for sample in &mut snapshot.samples {
            sample.realtime_ns += SECOND_NS;
            sample.monotonic_ns += SECOND_NS.cast_unsigned();
        }
        for writer in &mut self.writers {
            writer.append(snapshot).unwrap();
        }
    }
}

fn path_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("host{number}.whit"))
}

/// Starts a sender that follows, with a limit of descriptors as `ulimit` has it.
fn start(folder: &Path, to: &str, ulimit: &str) -> Running {
    let send = whit();
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit {ulimit} {DESCRIPTORS}; exec \"$0\" \"$@\"")]);
    limited.arg(send.get_program()).args(["send", "--follow", "--every=1s", to]).arg(folder);
    Running::start(limited.stderr(Stdio::piped()))
}

/// Waits until so many samples are acknowledged and none is left.
fn wait_until_sent(folder: &Path, samples: usize) {
    wait_until("all is sent", || {
        let status = ::send::status(folder).unwrap_or_default();
        status.first().is_some_and(|one| {
            one.cursor.samples_sent == samples as u64 && one.samples_waiting == 0
        })
    });
}

fn open_files(sender: &Running) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", sender.pid())).unwrap().count()
}

/// What it told before the last line, which says what the engine has.
fn ended(mut sender: Running) -> Vec<String> {
    sender.signal(libc::SIGTERM);
    let mut said = String::new();
    sender.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(sender.ended().success(), "{said}");
    let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
    assert!(lines.pop().is_some_and(|last| last.contains(": has ")), "{said}");
    lines
}

#[test]
fn more_recordings_than_descriptors_arrive() {
    let Some(victoria) = VictoriaMetrics::start() else { return };
    let to = format!("--to=remote-write=http://{}", victoria.address());
    let folder = tempfile::tempdir().unwrap();
    let mut recorders = Recorders::begin(folder.path());
    recorders.write();
    // A soft limit is raised.
    let sender = start(folder.path(), &to, "-S -n");
    wait_until_sent(folder.path(), RECORDINGS);
    assert!(open_files(&sender) > RECORDINGS, "{}", open_files(&sender));
    assert_eq!(ended(sender), [""; 0]);
    // Within a hard one, files that wait are closed.
    let sender = start(folder.path(), &to, "-n");
    for round in 2..5 {
        recorders.write();
        wait_until_sent(folder.path(), round * RECORDINGS);
        assert!(open_files(&sender) < DESCRIPTORS, "{}", open_files(&sender));
    }
    // One that was closed and has another name is read on; what is deleted then is told.
    let (moved, deleted) = (path_of(folder.path(), 150), path_of(folder.path(), 160));
    std::fs::rename(&moved, folder.path().join("moved.whit")).unwrap();
    std::fs::remove_file(&deleted).unwrap();
    recorders.write();
    wait_until_sent(folder.path(), 5 * RECORDINGS - 1);
    let said = ended(sender);
    let told = format!("{}: deleted; what came since the last look is not sent", deleted.display());
    assert!(said.len() == 1 && said[0].contains(&told), "{said:?}");
    victoria.flush();
    let verified = whit().args(["send", "--verify", &to]).arg(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success() && text.contains("all of them are there"), "{verified:?}");
}
