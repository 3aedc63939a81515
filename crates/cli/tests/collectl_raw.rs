//! collectl recordings that are not at hand: slabs of `/sys/slab`, which no kernel here has, built
//! by hand from what collectl writes; and one that grows while it is played.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail; a skipped one says why"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use testkit::{Deadline, Running};

use crate::whit;

/// A recording of one cache under its made-up name, with constants in the first interval only.
const SLUB: &str = "\
################################################################################
# Collectl:   V4.3.1-1  HiRes: 1  Options: -sY -i1:1 -f /tmp
# Host:       slub  DaemonOpts:
# Date:       20260101-100000  Secs: 1767261600 TZ: +0000
# SubSys:     Y Options:  Interval: 1:1 NumCPUs: 1  NumBud: 0 Flags: is
# HZ:         100  Arch: x86_64-linux-thread-multi PageSize: 4096
# Kernel:     2.6.24  Memory: 1000000 kB  Swap: 0 kB
# NumSlabs:   2 Version: 2.1
################################################################################
#SLUB DATA
#:0000064 kmalloc-64 pid
#dentry dentry
################################################################################
>>> 1767261600.000 <<<
Slab :0000064 object_size 60
Slab :0000064 slab_size 64
Slab :0000064 order 0
Slab :0000064 objs_per_slab 64
Slab :0000064 objects 512
Slab :0000064 slabs 9
Slab dentry object_size 190
Slab dentry slab_size 192
Slab dentry order 1
Slab dentry objs_per_slab 42
Slab dentry objects 84
Slab dentry slabs 2
>>> 1767261601.000 <<<
Slab :0000064 objects 570
Slab :0000064 slabs 10
Slab dentry objects 84
Slab dentry slabs 2
>>> 1767261602.000 <<<
Slab :0000064 objects 640
Slab :0000064 slabs 10
Slab dentry objects 85
Slab dentry slabs 3
>>> 1767261603.000 <<<
";

#[test]
fn slabs_of_the_slub_tree_are_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slub-20260101-100000.raw");
    std::fs::write(&path, SLUB).unwrap();
    let shown = |switches: &[&str]| {
        let done = whit().arg("play").arg(&path).args(switches).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let fields = "slab.objects_active,slab.objects,slab.object_size,slab.slabs";
    let csv = shown(&["-sY", "--csv", "--utc", "--fields", fields]);
    let rows: Vec<&str> = csv.lines().collect();
    assert!(
        rows[0].starts_with("time,host,slab[dentry].objects_active,slab[kmalloc-64]."),
        "{csv}"
    );
    assert_eq!(rows[1], "1767261601.000,slub,84,570,84,640,192,64,2,10");
    assert_eq!(rows[2], "1767261602.000,slub,85,640,126,640,192,64,3,10");
    let lines = shown(&["-sY"]);
    assert!(lines.contains("SLAB DETAIL") && lines.contains("kmalloc-64"), "{lines}");
}

/// Waits for a line that begins with `start`.
fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, start: &str) {
    for line in lines {
        if line.unwrap().starts_with(start) {
            return;
        }
    }
    panic!("no line {start}");
}

#[test]
fn a_plain_recording_is_followed_while_it_grows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/recordings/gamma-20260101-100000.raw");
    let text = std::fs::read_to_string(source).unwrap();
    let markers: Vec<usize> = text.match_indices(">>> ").map(|(at, _)| at).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gamma-20260101-100000.raw");
    let mut file = File::create(&path).unwrap();
    // In the middle of the third interval.
    let (first, second) = (markers[2] + 100, markers[4] + 26);
    file.write_all(&text.as_bytes()[..first]).unwrap();
    let mut command = whit();
    command.args(["play", "-sc", "-oT", "--follow"]).arg(&path);
    let mut whit = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut lines = BufReader::new(whit.stdout.take().unwrap()).lines();
    wait_for(&mut lines, "10:00:01");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(whit.try_wait().unwrap().is_none(), "it waits as long as the file is open");
    file.write_all(&text.as_bytes()[first..second]).unwrap();
    wait_for(&mut lines, "10:00:02");
    wait_for(&mut lines, "10:00:03");
    drop(file);
    let deadline = Deadline::default();
    while whit.try_wait().unwrap().is_none() {
        if !deadline.is_ahead() {
            testkit::skip("another process's files", "they may not be looked at here");
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(whit.ended().success());
}

#[test]
fn a_compressed_recording_is_not_followed() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let path = recordings.join("beta-20260301-235950.raw.gz");
    let done = whit().args(["play", "--follow"]).arg(path).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(2) && text.contains("is compressed"), "{text}");
}

#[test]
fn the_heading_of_csv_is_shown_alone() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let run = |switches: &[&str]| {
        let path = recordings.join("beta-20260301-235950.raw.gz");
        whit().arg("play").arg(path).args(switches).output().unwrap()
    };
    let fields = ["-sc", "--csv", "--fields", "cpu.user"];
    let whole = String::from_utf8(run(&fields).stdout).unwrap();
    let heading = run(&[&fields[..], &["--showcolheaders"]].concat());
    assert_eq!(
        String::from_utf8(heading.stdout).unwrap().trim_end(),
        whole.lines().next().unwrap()
    );
    assert!(whole.starts_with("time,host,cpu.user\n"), "{whole}");
    let refused = run(&["-sc", "--json", "--showcolheaders"]);
    assert_eq!(refused.status.code(), Some(2));
}
