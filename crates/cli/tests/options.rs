//! Options that no other test gives by their long names: a command without the option, the same
//! with it, and what only the second prints.
//!
//! `src/every_option.rs` holds that each option of each verb is in some test.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::path::Path;
use std::process::Command;

use regex::RegexBuilder;

/// Commands for `sh`: without the option, with it, and what the second prints and the first does
/// not, stdout and stderr together.
type Case = (&'static str, &'static str, &'static str);

/// Jobs: values, replacement strings, packing, output and schedule.
const RUN: &[Case] = &[
    ("whit run echo got", "whit run --arg-file values echo got", "^got a$"),
    (
        "whit run echo %% ::: d/f.txt",
        "whit run --basenamereplace %% echo %% ::: d/f.txt",
        "^f.txt$",
    ),
    ("whit run echo %% ::: d/f.txt", "whit run --dirnamereplace %% echo %% ::: d/f.txt", "^d$"),
    ("whit run echo %% ::: d/f.txt", "whit run --extensionreplace %% echo %% ::: d/f.txt", "^d/f$"),
    (
        "whit run echo %% ::: d/f.txt",
        "whit run --basenameextensionreplace %% echo %% ::: d/f.txt",
        "^f$",
    ),
    ("whit run echo ::: 1", "whit run --color echo ::: 1", "\x1b\\["),
    (
        "whit run 'echo {}; false' ::: 1",
        "whit run --color-failed 'echo {}; false' ::: 1",
        "\x1b\\[",
    ),
    ("printf a,b | whit run echo got", "printf a,b | whit run --delimiter , echo got", "^got b$"),
    (
        "printf 'a\\nE\\nb\\n' | whit run echo | wc -l",
        "printf 'a\\nE\\nb\\n' | whit run --eof=E echo | wc -l",
        "^1$",
    ),
    ("whit run true ::: 1", "whit run --eta true ::: 1", "ETA: "),
    ("whit run true ::: 1", "whit run --progress true ::: 1", "Max jobs to run"),
    (
        "whit run -X --max-chars 20 echo ::: a b",
        "whit run -X --max-chars 20 --exit echo ::: aaaaaaaaaaaaaaaaaaaa",
        "too long",
    ),
    (
        "whit run -X -j1 echo ::: aaaa bbbb cccc | wc -l",
        "whit run -m -j1 --max-chars 15 echo ::: aaaa bbbb cccc | wc -l",
        "^2$",
    ),
    ("whit run --files echo ::: x | tr '\\0' @", "whit run --files0 echo ::: x | tr '\\0' @", "@"),
    ("whit run echo < values", "whit run --max-args 2 echo < values", "^a b$"),
    ("whit run echo < values", "whit run --max-lines=2 echo < values", "^a b$"),
    ("whit run echo < values", "whit run --max-replace-args 2 echo < values", "^a b$"),
    (
        "whit run -k -j2 'sleep {}; echo {}' ::: 0.5 0",
        "whit run -k --no-keep-order -j2 'sleep {}; echo {}' ::: 0.5 0",
        "^0\n0.5\n",
    ),
    (
        "whit run 'echo got$SLOT' ::: 1",
        "whit run --process-slot-var SLOT 'echo got$SLOT' ::: 1",
        "^got0 1",
    ),
    ("whit run echo 'a;b' ::: 1", "whit run --quote echo 'a;b' ::: 1", "^a;b 1$"),
    (
        "printf 'a;b;' | whit run --pipe --recend ';' -N1 -k cat",
        "printf 'a;b;' | whit run --pipe --recend ';' -N1 -k --remove-rec-sep cat",
        "^ab$",
    ),
    ("whit run echo %%x ::: a", "whit run --replace=%% echo %%x ::: a", "^ax$"),
    ("whit run echo ::: 'a b'", "whit run --shell-quote ::: 'a b'", r"'a b'|a\\ b"),
    (
        "whit run --ssh ./remote echo got ::: x",
        "whit run --ssh ./remote --sshlogin 1/web echo got ::: x",
        "by ssh web",
    ),
    ("whit run --bar true ::: 1", "whit run --total-jobs 9 --bar true ::: 1", "1:8="),
    (
        "whit run -j2 'echo a{}; sleep {}; echo b{}' ::: 1 0",
        "whit run --ungroup -j2 'echo a{}; sleep {}; echo b{}' ::: 1 0",
        "(?s)a1.*b0.*b1",
    ),
    (
        "whit run --semaphore --id t --fg echo got",
        "whit run --semaphore --id t 'sleep 2'; \
         whit run --semaphore --id t --semaphore-timeout -0.1 --fg echo got",
        "not free in time",
    ),
];

/// Recording.
const RECORD: &[Case] = &[
    (
        "whit record -sc -i0.05 -c1",
        "whit record -sc -i0.05 -c1 --address 127.0.0.1:9",
        "127.0.0.1, port 9",
    ),
    (
        "whit record -D -sc -c1",
        "whit record -D -f ./ --config nosuch.conf",
        "configuration nosuch.conf",
    ),
    ("whit record -sc -i0.05 -c1", "whit record --daemon -sc -c1", "a daemon has no screen"),
    (
        "whit record -sc -c1 -i0.1 -f ./i-; whit play ./i-*.whit --showheader | grep interval_ns",
        "whit record -sc -c1 --interval 0.3 -f ./j-; whit play ./j-*.whit --showheader",
        "interval_ns: 300000000",
    ),
    (
        "whit record -sD -ox -i0.05 -c1 --root $TREE",
        "whit record -sD -ox -i0.05 -c1 --root $TREE --limits SCSI:10",
        "'SCSI:10' is none of",
    ),
    (
        "whit record -sc -i0.05 -c1 -f ./",
        "whit record --messages -sc -i0.05 -c1 -f ./m-",
        "Starting",
    ),
    ("whit record -sc -i0.05 -c1", "whit record -sc -i0.05 -c1 --options T", r"\d\d:\d\d:\d\d"),
    (
        "whit record --root $TREE -sD -i0.05 -c1 --csv | grep -c ,vda,",
        "whit record --root $TREE -sD -i0.05 -c1 --csv --rawdskignore vda | grep -c ,vda,",
        "^0$",
    ),
    (
        "whit record --root $TREE -sN -i0.05 -c1 --csv | grep -c ,eth0,",
        "whit record --root $TREE -sN -i0.05 -c1 --csv --rawnetignore eth0 | grep -c ,eth0,",
        "^0$",
    ),
    (
        "whit record --root $TREE -sN -i0.05 -c1 --csv | grep -c ,eth0,",
        "whit record --root $TREE -sN -i0.05 -c1 --csv --rawnetfilt lo | grep -c ,eth0,",
        "^0$",
    ),
    (
        "whit record -sc -i0.05 -c1",
        "whit record -sc -i0.05 -f ./r- --rolllogs 25:00",
        "'25:00' is not a time",
    ),
    (
        "whit record -sc -i0.05 -c1",
        "whit record --runas nosuch -D -sc -i0.05 -c1 -f ./",
        "no user 'nosuch'",
    ),
    (
        "timeout 0.5 whit record -i0.1 -sc; echo ended $?",
        "timeout 60 whit record --runtime 1s -i0.1 -sc; echo ended $?",
        "ended 0",
    ),
    ("whit record -sc -i0.05 -c1", "whit record --subsys m -i0.05 -c1", "Memory"),
];

/// Playing collectl's recording of a machine with disks.
const PLAY: &[Case] = &[
    ("whit play $RAW --plot -sc", "whit play $RAW --grep ^cpu1", "^10:00:00 cpu1 "),
    (
        "whit play $RAW -sD --verbose -ox",
        "whit play $RAW -sD --verbose -ox --limits SCSI:10",
        "'SCSI:10' is none of",
    ),
    ("whit play $RAW -P", "whit play $RAW -P --offsettime 3600", "11:00:01"),
    ("whit play $RAW -sc", "whit play $RAW -sc --options T", "10:00:01"),
    ("whit play $RAW -sn -P", "whit play $RAW --subsys c -P", r"\[CPU\]"),
];

/// System calls, by ptrace, which any user may.
const TRACE: &[Case] = &[
    ("$TRACE sh -c 'echo got'", "$TRACE --argv0 other sh -c 'echo got'", r#"\["other", "#),
    (
        "$TRACE -c true",
        "sleep 1 & $TRACE -c --attach $!; wait",
        "clock_nanosleep|restart_syscall|wait4",
    ),
    (
        "$TRACE cat /nowhere | grep -c ' = 3'",
        "$TRACE --failed-only cat /nowhere | grep -c ' = 3'",
        "^0$",
    ),
    (
        "$TRACE cat /nowhere | grep -c ENOENT",
        "$TRACE --successful-only cat /nowhere | grep -c ENOENT",
        "^0$",
    ),
    ("$TRACE -c sleep 0.3", "$TRACE -c --interval 0.1 sleep 0.3", "after 0.1 s"),
    ("$TRACE true", "$TRACE --no-abbrev true", r#"execve\(.*\], \[""#),
    (
        "echo kept > out; whit trace --way ptrace -o out true; cat out",
        "echo kept > out; whit trace --way ptrace -o out --output-append-mode true; cat out",
        "^kept",
    ),
    (
        "whit trace --way ptrace -f -o one true; ls one*",
        "whit trace --way ptrace -f --output-separately -o each true; ls each*",
        r"each\.\d+",
    ),
    ("$TRACE true | grep -c exited", "$TRACE --quiet=all true | grep -c exited", "^0$"),
    (
        "whit trace --way ptrace -f -e trace=execve -c -o - true",
        "whit trace --seccomp-bpf -f -e trace=execve -c -o - true",
        "ptrace with a filter",
    ),
    ("$TRACE cat values", "$TRACE --string-limit 3 cat values", r#""a\\nb"\.\.\."#),
    ("$TRACE true", "$TRACE --strings-in-hex true", r"\\x2f"),
    ("$TRACE true", "$TRACE --summary true", "usecs/call"),
    ("$TRACE -c true", "$TRACE -c --summary-columns calls,name true", "^ *calls syscall"),
    (
        "$TRACE -c --summary-sort-by calls true | sed -n 3p",
        "$TRACE -c --summary-sort-by name true | sed -n 3p",
        "access|arch_prctl",
    ),
    ("$TRACE true", "$TRACE --syscall-number true", r"^\[ *\d+\] execve"),
    ("$TRACE cat values", "$TRACE --trace-path values cat values", "resolved into"),
    ("$TRACE id -un", "$TRACE --user nosuchuser id -un", "nosuchuser"),
];

/// What reading costs.
const DOCTOR: &[Case] = &[
    ("whit doctor -n 1", "whit doctor -n 1 --interval 77", "samples every 77 s"),
    ("whit doctor -n 1", "whit doctor --reads 3", "3 readings"),
];

/// Runs the commands in a folder of their own, and holds that they differ as said.
fn each_differs(cases: &[Case]) {
    let folder = tempfile::tempdir().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_whit")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    std::fs::write(folder.path().join("values"), "a\nb\n").unwrap();
    std::fs::write(folder.path().join("ssh"), "echo by ssh \"$1\"\n").unwrap();
    let shell = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 2>&1 </dev/null\n{line}")]).current_dir(&folder);
        command.env("PATH", &path).env("HOME", folder.path()).env("LC_ALL", "C");
        command.env_remove("LD_LIBRARY_PATH").env_remove("XDG_CACHE_HOME");
        command.env("TREE", testdata.join("proc/vm2"));
        command.env("RAW", testdata.join("recordings/gamma-20260101-100000.raw"));
        command.env("TRACE", "whit trace --way ptrace -o -");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    shell("printf '#!/bin/sh\\n' | cat - ssh > remote; chmod +x remote");
    let mut wrong = Vec::new();
    for (without, with, pattern) in cases {
        let pattern = RegexBuilder::new(pattern).multi_line(true).build().unwrap();
        let (plain, changed) = (shell(without), shell(with));
        if pattern.is_match(&plain) {
            wrong.push(format!("{without}\n  prints {pattern} already: {plain:?}"));
        }
        if !pattern.is_match(&changed) {
            wrong.push(format!("{with}\n  does not print {pattern}: {changed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_of_run_do_what_they_say() {
    each_differs(RUN);
}

#[test]
fn options_of_record_do_what_they_say() {
    each_differs(RECORD);
}

#[test]
fn options_of_play_do_what_they_say() {
    each_differs(PLAY);
}

#[test]
fn options_of_trace_do_what_they_say() {
    let whit = env!("CARGO_BIN_EXE_whit");
    let arguments = ["trace", "--way", "ptrace", "-qq", "-o", "/dev/null", "true"];
    let output = Command::new(whit).args(arguments).output().unwrap();
    if !output.status.success() {
        testkit::skip("ptrace", &String::from_utf8_lossy(&output.stderr));
        return;
    }
    each_differs(TRACE);
}

#[test]
fn samples_reach_the_disk_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let calls = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whit"));
        command.args(["trace", "--way", "ptrace", "-cf", "-e", "trace=fdatasync", "-o", "-"]);
        command.args([env!("CARGO_BIN_EXE_whit"), "record", "-sc", "-i0.05", "-c2", "-f", "./"]);
        command.args(options).current_dir(&folder);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let row = text.lines().find(|line| line.ends_with(" fdatasync"));
        let calls = row.map(|row| row.split_whitespace().nth(3).unwrap().parse().unwrap());
        (output.status.success(), calls.unwrap_or(0u32))
    };
    let (is_traced, plain) = calls(&[]);
    if !is_traced {
        testkit::skip("ptrace", "a command cannot be traced here");
        return;
    }
    for option in ["--sync", "--flush"] {
        let (_, synced) = calls(&[option, "0", "--pname", option.trim_start_matches('-')]);
        assert!(synced >= plain + 2, "{option}: {synced}, without {plain}");
    }
}

#[test]
fn options_that_change_nothing_here_are_taken() {
    for option in ["--nohup", "--no-check", "--quiet", "--process-way=proc"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whit"));
        let output = command.args(["record", "-sc", "-i0.05", "-c1", option]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{option}: {output:?}");
        assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), 3, "{option}");
    }
}

#[test]
fn the_kernels_text_is_kept_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |name: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whit"));
        command.args(["record", "-sc", "-i0.05", "-c2", "-f", name]).args(options);
        assert!(command.current_dir(&folder).status().unwrap().success());
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap());
        let is_ours =
            |file: &std::fs::DirEntry| file.file_name().to_string_lossy().starts_with(name);
        files.filter(is_ours).map(|file| file.metadata().unwrap().len()).sum::<u64>()
    };
    let (plain, raw) = (bytes("plain", &[]), bytes("kept", &["--raw"]));
    assert!(raw > plain + 300, "{raw} bytes, without the text {plain}");
}

#[test]
fn options_of_doctor_do_what_they_say() {
    each_differs(DOCTOR);
}
