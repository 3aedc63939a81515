//! `whit poll`: rounds, the lock, the daemon, beside MRTG where that is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testkit::{is_installed, skip};

use crate::whit;

/// A folder with a configuration of two targets over commands.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new(global: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let site = Site { folder };
        std::fs::create_dir(site.path("data")).expect("made");
        site.write_config(global);
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_config(&self, global: &str) {
        let text = format!(
            "WorkDir: {}\n{global}\nMaxBytes[_]: 12500000\nTitle[_]: A title\n\
             Target[a]: `echo 4294967296; echo 123; echo up 3 days; echo box`\n\
             Options[b]: gauge\n\
             Target[b]: ( `echo 10; echo 2.5` * 2 ) / 3\n",
            self.path("data").display()
        );
        std::fs::write(self.path("a.cfg"), text).expect("written");
    }

    fn whit(&self, words: &[&str]) -> Output {
        whit().arg("poll").args(words).arg(self.path("a.cfg")).output().expect("whit runs")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_round_writes_databases_as_mrtg_does() {
    let site = Site::new("LogFormat: rrdtool\nRRDHWRRAs[_]: RRA:HWPREDICT:1440:0.1:0.0035:288");
    let output = site.whit(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let dump = |name: &str| {
        let whit = whit()
            .args(["rrd", "dump"])
            .arg(site.path("data").join(name))
            .output()
            .expect("whit runs");
        let text = String::from_utf8_lossy(&whit.stdout).into_owned();
        // Times differ between two runs; with them, which row is written and its date.
        text.lines()
            .filter(|line| !line.contains("lastupdate") && !line.contains("<row>"))
            .map(|line| line.split("<!--").next().unwrap_or_default().to_owned())
            .filter(|line| !line.contains("<value>") && !line.contains("<unknown_sec>"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let ours = ["a.rrd", "b.rrd"].map(dump);
    assert!(ours[0].contains("<last_ds>4294967296</last_ds>") && ours[0].contains("COUNTER"));
    assert!(ours[1].contains("<last_ds>6.666666666666666666666666666</last_ds>"), "{}", ours[1]);
    if !is_installed("mrtg", "mrtg") {
        return;
    }
    std::fs::remove_dir_all(site.path("data")).expect("removed");
    std::fs::create_dir(site.path("data")).expect("made");
    let mrtg =
        Command::new("mrtg").arg(site.path("a.cfg")).env("LANG", "C").env("LC_ALL", "C").output();
    let mrtg = mrtg.expect("mrtg runs");
    assert!(mrtg.status.success(), "{}", said(&mrtg));
    assert_eq!(ours, ["a.rrd", "b.rrd"].map(dump));
}

#[test]
fn log_files_have_pages_unless_only_logs_are_wanted() {
    let site = Site::new("");
    assert_eq!(site.whit(&["--log-only"]).status.code(), Some(0));
    assert!(site.path("data/a.log").exists() && !site.path("data/a.html").exists());
    assert_eq!(site.whit(&[]).status.code(), Some(0));
    assert!(site.path("data/a.html").exists() && site.path("data/a-day.png").exists());
}

#[test]
fn exit_codes_say_how_many_targets_are_known() {
    let site = Site::new(
        "LogFormat: rrdtool\nMaxBytes[c]: 9\nTitle[c]: x\nTarget[c]: `echo UNKNOWN; echo 1`",
    );
    assert_eq!(site.whit(&[]).status.code(), Some(91));
    let text = std::fs::read_to_string(site.path("a.cfg")).expect("a file");
    let text =
        text.replace("echo 4294967296; echo 123", "false").replace("echo 10; echo 2.5", "false");
    std::fs::write(site.path("a.cfg"), text).expect("written");
    assert_eq!(site.whit(&[]).status.code(), Some(92));
}

#[test]
fn every_problem_is_printed_with_its_line() {
    let site = Site::new("Interval: 0\nNonsense: 1");
    let output = site.whit(&["--check"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("a.cfg:2: interval: `0`"), "{text}");
    assert!(text.contains("a.cfg:3: there is no keyword nonsense"), "{text}");
    assert_eq!(site.whit(&[]).status.code(), Some(2));
    site.write_config("LogFormat: rrdtool");
    let output = site.whit(&["--check", "--debug", "cfg,tarp,log,time"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("--cfg: target b\n"), "{shown}");
    assert!(shown.contains("--tarp: query 1: a program of Target[b]\n"), "{shown}");
    let output = site.whit(&["--debug", "fork"]);
    assert!(said(&output).contains("--debug fork: there are no forks"), "{}", said(&output));
}

#[test]
fn a_configuration_is_polled_once_at_a_time() {
    let site = Site::new("LogFormat: rrdtool");
    let lock = site.path("lock");
    let option = format!("--lock-file={}", lock.display());
    std::fs::write(site.path("holder"), std::process::id().to_string()).expect("written");
    std::fs::hard_link(site.path("holder"), &lock).expect("linked");
    let output = site.whit(&[&option]);
    assert_eq!(output.status.code(), Some(17), "{}", said(&output));
    // Nobody has such a number.
    std::fs::write(&lock, "4194999").expect("written");
    assert!(site.path("holder").exists() && lock.exists());
    assert_eq!(site.whit(&[&option]).status.code(), Some(0));
    assert!(!lock.exists());
}

#[test]
fn a_folder_has_the_locks_and_interfaces_of_several_configurations() {
    let site = Site::new("LogFormat: rrdtool");
    let folder = site.path("state");
    std::fs::create_dir(&folder).expect("a folder");
    let options = [
        format!("--lock-file={}", folder.display()),
        format!("--confcache-file={}", folder.display()),
    ];
    let (config, second) = (site.path("a.cfg"), site.path("second.cfg"));
    let text = std::fs::read_to_string(&config).expect("read");
    std::fs::create_dir(site.path("other")).expect("a folder");
    std::fs::write(&second, text.replace("/data\n", "/other\n")).expect("written");
    let name = second.display().to_string().trim_start_matches('/').replace('/', "_") + "_l";
    std::fs::write(site.path("holder"), std::process::id().to_string()).expect("written");
    std::fs::hard_link(site.path("holder"), folder.join(&name)).expect("linked");
    let run = || {
        let mut command = crate::whit();
        command.arg("poll").args(&options).arg(&config).arg(&second);
        command.output().expect("it runs")
    };
    let output = run();
    assert_eq!(output.status.code(), Some(17), "{}", said(&output));
    std::fs::remove_file(folder.join(&name)).expect("removed");
    assert_eq!(run().status.code(), Some(0));
    let beside = |end: &str| {
        let entries = std::fs::read_dir(site.path("")).expect("a folder");
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with(end))
    };
    assert!(!beside(".cfg_l") && !beside(".ok"));
}

#[test]
fn a_daemon_polls_until_it_is_stopped_and_reads_changes() {
    let site = Site::new("LogFormat: rrdtool\nInterval: 0:01");
    let (pid_file, log) = (site.path("pid"), site.path("log"));
    let options =
        [format!("--pid-file={}", pid_file.display()), format!("--logging={}", log.display())];
    let output = site.whit(&["--daemon", "--debug=log", &options[0], &options[1]]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let log_text = || std::fs::read_to_string(&log).unwrap_or_default();
    testkit::wait_until("two rounds", || log_text().matches("--log: a ").count() >= 2);
    let second = site.whit(&[
        &format!("--lock-file={}", site.path("other").display()),
        "--daemon",
        &options[0],
    ]);
    assert_eq!(second.status.code(), Some(2), "{}", said(&second));
    site.write_config(
        "LogFormat: rrdtool\nInterval: 0:01\nMaxBytes[new]: 9\nTitle[new]: x\nTarget[new]: `echo 7; echo 8`",
    );
    let new = |text: &str| text.matches("--log: new ").count();
    testkit::wait_until("rounds with the new target", || new(&log_text()) >= 3);
    let text = log_text();
    let (_, after) = text.split_once("was read again: 3 targets").expect("it was read again");
    // Each target once a round: a doubled one would have twice the readings of the new one.  The last
    // round may be under way.
    let old = after.matches("--log: a ").count();
    assert!(old.abs_diff(new(after)) <= 1, "{text}");
    site.write_config("Nonsense: 1");
    testkit::wait_until("the refusal", || log_text().contains("the configuration of before holds"));
    let pid = std::fs::read_to_string(&pid_file).expect("a pid file").trim().to_owned();
    let killed = Command::new("kill").arg(&pid).status().expect("kill runs");
    assert!(killed.success());
    testkit::wait_until("the end", || {
        !Path::new("/proc").join(&pid).exists() && !pid_file.exists()
    });
}

#[test]
fn it_can_become_another_user_and_use_the_standard_folders() {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        skip("poll --user", "only root can");
        return;
    }
    let site = Site::new("LogFormat: rrdtool");
    let open = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("changed");
    };
    open(site.folder.path());
    open(&site.path("data"));
    let output = site.whit(&["--user=65534", "--group=65534"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(site.path("data/a.rrd")).expect("a file");
    assert_eq!((owner.uid(), owner.gid()), (65534, 65534));
    let script = "mount -t tmpfs t /var/log && mount -t tmpfs t /var/lib && \
                  mount -t tmpfs t /run && mkdir -p /run/lock && \
                  mkdir -p /var/lock && \"$@\" && test -e /var/log/mrtg/mrtg.log";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh", crate::WHIT, "poll", "--fhs"])
        .arg(site.path("a.cfg"))
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => testkit::skip_refused("poll --fhs", &said(&output)),
        Err(error) => skip("poll --fhs", &error.to_string()),
    }
}

#[test]
fn interfaces_are_kept_from_run_to_run() {
    let Some(agent) = testkit::Snmpd::start("sysName the name") else { return };
    let host = format!("public@{}:1:1:1:2", agent.address());
    let site = Site::new(&format!(
        "LogFormat: rrdtool\nTarget[lo]: \\lo:{host}\nTitle[lo]: x\nMaxBytes[lo]: 9\nDirectory[lo]: sub"
    ));
    let output = site.whit(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let key = format!("public@{}_2", agent.address()).replace(':', "_");
    let kept = std::fs::read_to_string(site.path("a.ok")).expect("a file");
    assert!(kept.contains(&format!("{key}\tDescr\tlo\t1\n")), "{kept}");
    // A number that is wrong is looked for again, and what is found is kept.
    let other = site.path("other.ok");
    std::fs::write(&other, format!("{key}\tDescr\tlo\t77\n")).expect("written");
    let option = format!("--confcache-file={}", other.display());
    let output = site.whit(&[&option, "--debug=dir,base,snpo,coca,eval,log,time"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(&other).expect("a file"), kept);
    let (shown, text) = (String::from_utf8_lossy(&output.stdout), said(&output));
    assert!(shown.contains("--dir: lo below in sub/\n"), "{shown}");
    for wanted in [
        "--base: ",
        "a round of 3 targets",
        "--snpo: \\lo:127.0.0.1",
        "the name",
        "Descr lo 1",
        "--eval: b: ",
        "--log: lo ",
        "--time: 3 targets known, 0 unknown, 0 with counters that began anew, ",
        "3 targets are known, 0 are not",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // A log that cannot be written stops no round, as with MRTG.
    let output = site.whit(&["--logging=/nonexistent/log", "--debug=log"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("cannot write the log") && said(&output).contains("--log: lo "));
}

#[test]
fn thresholds_are_looked_at_through_our_caching_daemon() {
    let site = Site::new("LogFormat: rrdtool");
    let (socket, note) = (site.path("socket"), site.path("note"));
    let mut command = whit();
    command.args(["rrdcached", "-g", "-l"]).arg(&socket).arg("-p").arg(site.path("pid"));
    command.arg("-b").arg(site.path("data")).stdout(std::process::Stdio::null());
    let _daemon = testkit::Running::start(&mut command);
    testkit::connect(&socket);
    let script = "#!/bin/sh\necho \"$@\" >>\"$0s\"\n";
    testkit::write_program(&note, script).expect("written");
    let [socket, program] = [&socket, &note].map(|path| path.display().to_string());
    let config = |bound: u32| {
        site.write_config(&format!(
            "LogFormat: rrdtool\nInterval: 0:01\nRRDCached: unix:{socket}\nThreshDir: {}\n\
             ThreshMaxI[b]: {bound}\nThreshDesc[b]: too much\nThreshProgI[b]: {program}\n\
             ThreshProgOKI[b]: {program}",
            site.path("data").display()
        ));
    };
    let notes = || std::fs::read_to_string(site.path("notes")).unwrap_or_default();
    // The last digit depends on when in a second the rounds were.
    for (bound, expected) in [(7, ""), (5, "b 5 6.6666666666666"), (9, "b 9 6.6")] {
        config(bound);
        let before = notes();
        let output = site.whit(&["-c", "2"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let added = notes()[before.len()..].to_owned();
        assert!(added.starts_with(expected), "{bound}: {added} {}", said(&output));
        assert!(bound != 5 || added.ends_with(" too much\n"), "{bound}: {added}");
        assert_eq!(added.lines().count(), usize::from(!expected.is_empty()), "{bound}: {added}");
    }
}
