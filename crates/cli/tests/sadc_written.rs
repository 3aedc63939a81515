//! Daily files that whit writes: `sar -o` and `sadf -c`, read by whit and by the installed sysstat.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sadc::{data, difference, run, whit};
use crate::sadc_old;

/// Every table, without those of hardware that `sadc` alone reads.
const TABLES: &[&str] = &[
    "-u ALL -P ALL",
    "-w -B -W -b",
    "-r ALL -S -H",
    "-v",
    "-m CPU -P ALL",
    "-q ALL",
    "-d",
    "-F",
    "-I ALL -P ALL",
    "-n DEV,EDEV,SOCK,IP,EIP,ICMP,EICMP,TCP,ETCP,UDP,SOCK6,IP6,EIP6,ICMP6,EICMP6,UDP6,SOFT",
];

fn has_sysstat(what: &str) -> bool {
    testkit::is_installed(what, "sar") && testkit::is_installed(what, "sadf")
}

/// Compares what whit and the installed `sar` show of a file.
fn compare(name: &str, folder: &Path) {
    for options in TABLES {
        let words: Vec<&str> = ["-f", name].into_iter().chain(options.split(' ')).collect();
        let theirs = run("sar", &words, folder);
        let ours = whit(&format!("sysstat sar {}", words.join(" ")), folder);
        assert!(theirs.lines().count() > 3, "sar {}: {theirs}", words.join(" "));
        assert_eq!(difference(&ours, &theirs), None, "sar {}", words.join(" "));
    }
}

#[test]
fn what_is_saved_is_what_sar_reads() {
    let what = "sysstat: files of sar -o beside sar";
    let folder = tempfile::tempdir().unwrap();
    let shown = whit("sysstat sar -o saved -u ALL -P ALL 1 2", folder.path());
    let again = whit("sysstat sar -f saved -u ALL -P ALL", folder.path());
    // Numbers of a file are of hundredths of a second.
    let words = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("%usr"));
        lines.filter(|line| line.contains('.')).count()
    };
    assert_eq!(words(&shown), words(&again), "{shown}{again}");
    // More records behind those of before.
    let more = whit("sysstat sar -o saved 1 1", folder.path());
    assert!(more.contains("Average:"), "{more}");
    let all = whit("sysstat sar -f saved", folder.path());
    assert_eq!(all.lines().filter(|line| line.contains(" all ")).count(), 5, "{all}");
    // A folder of files of days.
    fs::create_dir(folder.path().join("days")).unwrap();
    whit("sysstat sar -D -o days 1 1", folder.path());
    let days: Vec<_> = fs::read_dir(folder.path().join("days")).unwrap().flatten().collect();
    let name = days[0].file_name().into_string().unwrap();
    assert!(days.len() == 1 && name.starts_with("sa2") && name.len() == 10, "{name}");
    // A file of something else stays as it is.
    fs::write(folder.path().join("other"), "not a daily file").unwrap();
    let refused = whit("sysstat sar -o other 1 1", folder.path());
    assert!(refused.contains("choose another file"), "{refused}");
    assert_eq!(fs::read(folder.path().join("other")).unwrap(), b"not a daily file");
    if has_sysstat(what) {
        compare("saved", folder.path());
    }
}

/// `sadf -c` of old files, beside what the installed one makes of them.
#[test]
fn old_files_are_converted_as_sadf_does() {
    let what = "sysstat: sadf -c beside sadf";
    if !has_sysstat(what) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    sadc_old::write(folder.path(), false, 8);
    for name in sadc_old::NAMES {
        let old = folder.path().join(name);
        let write = |to: &str, program: &str, words: &[&str]| {
            let mut command = Command::new(program);
            let output = command.args(words).arg("-c").arg(&old).env("TZ", "UTC").output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            fs::write(folder.path().join(to), output.stdout).unwrap();
        };
        write("theirs", "sadf", &[]);
        write("ours", crate::WHIT, &["sysstat", "sadf"]);
        for options in ["-A -C", "-u -P ALL", "-F", "-r ALL -S", "-d -n DEV,EDEV"] {
            let of = |file: &str| {
                let words: Vec<&str> = ["-f", file].into_iter().chain(options.split(' ')).collect();
                run("sar", &words, folder.path())
            };
            assert_eq!(difference(&of("ours"), &of("theirs")), None, "{name} {options}");
        }
    }
}

#[test]
fn what_a_file_holds_is_told_as_by_sadf() {
    let what = "sysstat: sadf -H beside sadf";
    let folder = tempfile::tempdir().unwrap();
    whit("sysstat sar -o saved 1 1", folder.path());
    let ours = whit("sysstat sadf -H saved", folder.path());
    assert!(ours.contains("01: [8b] A_CPU"), "{ours}");
    let refused = whit("sysstat sadf -c saved", folder.path());
    assert!(refused.contains("already that of sysstat 12.6"), "{refused}");
    sadc_old::write(folder.path(), false, 8);
    let refused = whit("sysstat sadf -H sa-10.1.5", folder.path());
    assert!(refused.contains("before 11.7.1"), "{refused}");
    if has_sysstat(what) {
        let theirs = run("sadf", &["-H", "saved"], folder.path());
        assert_eq!(difference(&ours, &theirs), None);
        fs::copy(data().join("sa20261127"), folder.path().join("daily")).unwrap();
        let theirs = run("sadf", &["-H", "daily"], folder.path());
        assert_eq!(difference(&whit("sysstat sadf -H daily", folder.path()), &theirs), None);
    }
}

/// Every column of every instance has a curve: its name stands in the legend of a picture.
#[test]
fn pictures_have_every_series() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data().join("sa20261127"), folder.path().join("daily")).unwrap();
    let picture = |options: &str| whit(&format!("sysstat sadf -g {options}"), folder.path());
    let svg = picture("-O showidle daily -- -u -P ALL");
    assert!(svg.starts_with("<?xml") && svg.ends_with("</svg>\n"), "{svg}");
    // All CPUs together, and two; within the document and its parts.
    assert_eq!(svg.matches("<svg").count(), 1 + 3);
    // A curve for each of six columns of each, in a colour of its own.
    let curves = |svg: &str| {
        let colours = ["0072b2", "d55e00", "009e73", "cc79a7", "e69f00", "56b4e9"];
        colours.map(|colour| svg.matches(&format!("stroke:#{colour}")).count())
    };
    assert!(curves(&svg).iter().all(|count| *count >= 3), "{:?}", curves(&svg));
    assert_eq!(curves(&picture("daily -- -u -P ALL"))[5], 0);
    // Names are told once: no two parts have the same.
    let mut names: Vec<&str> =
        svg.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for (options, said) in [
        ("-O nix daily", "unknown keyword nix"),
        ("-O autoscale daily", "-O autoscale is not supported"),
        ("-O height=3 daily", "-O height takes 50 to 2000 pixels"),
    ] {
        let refused = picture(options);
        assert!(refused.contains(said), "{refused}");
    }
    let high = picture("-O packed,height=300,skipempty,showtoc daily -- -A");
    assert!(high.matches("<svg").count() > 30 && high.contains("<a xlink:href"), "{high}");
    assert!(!high.contains("NaN") && high.contains("sar -n DEV"), "{high}");
}

#[test]
fn a_program_is_reported_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(crate::WHIT);
    command.args(["sysstat", "pidstat", "-w", "1", "-e", "cat"]).env("LC_ALL", "C");
    let mut pidstat = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The program ends with its input, once it was reported.
    let mut lines = BufReader::new(pidstat.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.ends_with("  cat")));
    drop(pidstat.stdin.take());
    assert!(lines.any(|line| line.starts_with("Average:") && line.ends_with("  cat")));
    assert!(pidstat.wait().unwrap().success());
    let refused = whit("sysstat pidstat 1 -e /nix/nix", folder.path());
    assert!(refused.contains("cannot start /nix/nix"), "{refused}");
}
