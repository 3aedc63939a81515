//! What each option changes: a command without it, the same with it, and what tells the outputs
//! apart.  The cases stand in the text files here, `cases.rs` has their form.
//!
//! A short run tries a tenth of the cases of `whit bench`, which take long, and all others.
//!
//! `src/every_option.rs` holds that each option of each verb has a case, or a test of its own that
//! `elsewhere.txt` names.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use regex::RegexBuilder;

use crate::{WHIT, whit};

mod cases;

/// Leads to another host's folder, with its environment, as `ssh HOST -- COMMAND` does.
const THERE: &str = "#!/bin/sh
cd \"${0%/*}/there.d\"; shift 2; exec env -i PATH=\"$PATH\" HOME=\"$PWD\" sh -c \"$*\"
";

/// The files that commands find in their folder.
fn prepare(folder: &Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if text.starts_with("#!") {
            testkit::write_program(&path, text).unwrap();
        } else {
            fs::write(&path, text).unwrap();
        }
    };
    write("values", "a\nb\n");
    write("numbers", &(1..100).map(|number| format!("{number}\n")).collect::<String>());
    write("passwd", "tester:x:0:0::/:/bin/sh\n");
    write("remote", "#!/bin/sh\necho by ssh \"$1\"\n");
    write("there", THERE);
    fs::create_dir(folder.join("there.d")).unwrap();
    // A machine of 64 CPUs, and one with an NFS client that does nothing.
    let cpus: String = (0..64).map(|cpu| format!("cpu{cpu} 1 1 1 1\n")).collect();
    write("many/proc/stat", &format!("cpu 1 1 1 1\n{cpus}btime 1\n"));
    write("nfs/proc/stat", "cpu 1 1 1 1\ncpu0 1 1 1 1\nbtime 1\n");
    write("nfs/proc/net/rpc/nfs", &format!("proc3 22{}\n", " 1".repeat(22)));
}

/// What a command line prints in a folder of its own, standard output and error together.
fn printed(line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let bin = Path::new(WHIT).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let testdata = tests.join("../../../testdata");
    let recordings = testdata.join("recordings");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec 2>&1 </dev/null\n{line}")]).current_dir(&folder);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PARALLEL") {
            command.env_remove(name);
        }
    }
    command.env_remove("XDG_CACHE_HOME").env_remove("NO_COLOR");
    command.env("PATH", &path).env("HOME", folder.path()).env("LC_ALL", "C").env("TZ", "UTC");
    command.env("TREE", testdata.join("proc/vm2")).env("RECORDED", &recordings);
    command.env("ALPHA", recordings.join("alpha-20261121-093009.raw.gz"));
    command.env("BETA", recordings.join("beta-20260301-235950.raw.gz"));
    command.env("GAMMA", recordings.join("gamma-20260101-100000.raw"));
    command.env("ZETA", recordings.join("zeta-20261121-131413.raw.gz"));
    command.env("ENVRULES", tests.join("envrules.txt"));
    command.env("TRACE", "whit trace --way ptrace -o -");
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

/// What each command line without an option printed: many cases share one, which runs once.
type Printed = HashMap<&'static str, OnceLock<String>>;

/// What is wrong with a case, if the outputs do not differ as it says.
fn failure(case: &cases::Case, known: &Printed) -> Option<String> {
    let pattern = RegexBuilder::new(case.pattern).multi_line(true).build().unwrap();
    let without = known[case.without].get_or_init(|| printed(case.without));
    let with = printed(case.with);
    let has = (pattern.is_match(without), pattern.is_match(&with));
    let (first, second) = (case.without, case.with);
    (has != (!case.adds, case.adds))
        .then(|| format!("{pattern}\n- {first}\n{without}\n+ {second}\n{with}"))
}

/// Holds of each case that the outputs differ as it says.  Many cases sleep: four at once.
fn outputs_differ(cases: &[cases::Case]) {
    let known: Printed = cases.iter().map(|case| (case.without, OnceLock::new())).collect();
    let wrong = testkit::side_by_side(cases, 4, |case| failure(case, &known));
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn all(text: &'static str) -> Vec<cases::Case> {
    cases::of(text).collect()
}

#[test]
fn every_view_for_programs_changes_what_is_printed() {
    let values = |entry: &&&view::ViewEntry| entry.class == view::ViewClass::Values;
    for entry in view::ALL.iter().filter(values) {
        for line in ["whit play $GAMMA -sc", "whit record -sc -i0.05 -c2"] {
            let (without, with) = (printed(line), printed(&format!("{line} --{}", entry.name)));
            // A heading of the default view, and what a program is told of the CPU.
            assert!(without.contains("CPU") && !with.contains("<----CPU"), "{line}: {with}");
            assert!(with.contains("cpu") && !with.contains("--help"), "{line}: {with}");
        }
    }
}

/// Whether a command can be traced; says so if not.
fn can_trace(what: &str, options: &[&str]) -> bool {
    let mut command = whit();
    command.arg("trace").args(options).args(["-qq", "-o", "/dev/null", "true"]);
    let output = command.output().unwrap();
    if !output.status.success() {
        testkit::skip_refused(what, &String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

#[test]
fn options_of_run() {
    outputs_differ(&all(cases::RUN));
}

#[test]
fn options_of_record() {
    outputs_differ(&all(cases::RECORD));
}

#[test]
fn options_of_play() {
    outputs_differ(&all(cases::PLAY));
}

#[test]
fn options_of_doctor_and_link() {
    outputs_differ(&all(cases::REST));
}

#[test]
fn the_verdict_of_doctor_is_first() {
    let output = crate::whit().args(["doctor", "-n1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let verdict = text.lines().nth(2).unwrap_or_default();
    let known = ["Fine: ", "Dear: ", "Too slow: "];
    assert!(known.iter().any(|word| verdict.starts_with(word)), "{text}");
}

#[test]
fn options_of_bench() {
    outputs_differ(&testkit::share_of(all(cases::BENCH)).collect::<Vec<_>>());
}

#[test]
fn options_of_trace() {
    if can_trace("ptrace", &["--way", "ptrace"]) {
        outputs_differ(&all(cases::TRACE));
    }
}

#[test]
fn options_of_trace_in_the_kernel() {
    if can_trace("BPF programs", &["--way", "kernel", "-c"]) {
        outputs_differ(&all(cases::KERNEL));
    }
}

#[test]
fn samples_reach_the_disk_when_asked() {
    if !can_trace("ptrace", &["--way", "ptrace"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let calls = |options: &[&str]| {
        let mut command = whit();
        command.args(["trace", "--way", "ptrace", "-cf", "-e", "trace=fdatasync", "-o", "-"]);
        command.args([WHIT, "record", "-sc", "-i0.05", "-c2", "-f", "./"]);
        command.args(options).current_dir(&folder);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let row = text.lines().find(|line| line.ends_with(" fdatasync"));
        let calls = row.map(|row| row.split_whitespace().nth(3).unwrap().parse().unwrap());
        calls.unwrap_or(0u32)
    };
    let plain = calls(&[]);
    for option in ["--sync", "--flush"] {
        let synced = calls(&[option, "0", "--pname", option.trim_start_matches('-')]);
        assert!(synced >= plain + 2, "{option}: {synced}, without {plain}");
    }
}

#[test]
fn an_option_that_changes_nothing_is_accepted() {
    let mut command = whit();
    let output = command.args(["record", "-sc", "-i0.05", "-c1", "--nohup"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), 3, "{output:?}");
}

#[test]
fn the_kernels_text_is_kept_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |name: &str, options: &[&str]| {
        let mut command = whit();
        command.args(["record", "-sc", "-i0.05", "-c2", "-f", name]).args(options);
        assert!(command.current_dir(&folder).status().unwrap().success());
        let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap());
        let is_ours = |file: &fs::DirEntry| file.file_name().to_string_lossy().starts_with(name);
        files.filter(is_ours).map(|file| file.metadata().unwrap().len()).sum::<u64>()
    };
    let (plain, raw) = (bytes("plain", &[]), bytes("kept", &["--raw"]));
    assert!(raw > plain + 300, "{raw} bytes, without the text {plain}");
}
