//! The units of systemd in `dist/`: how exposed each is, and that its command line works with the
//! rights that it gives.
//!
//! Without systemd as the first process, a unit is tried in a mount namespace of its own: every file
//! system is read-only but the unit's folders, which are empty, and root has the unit's capabilities.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Running, wait_for, wait_until};

use crate::WHIT;

/// Folders of the system that are empty in a trial.
const EMPTY: [&str; 5] = ["/etc/mrtg", "/run", "/var/lib", "/var/log", "/var/spool"];

/// The instance of template units: the number of a user.
const OTHER_USER: &str = "65534";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist")
}

/// A unit: its keys and values, in sequence.
struct Unit(Vec<(String, String)>);

impl Unit {
    fn read(name: &str) -> Self {
        let text = fs::read_to_string(folder().join(name)).unwrap();
        let keys = text.lines().filter(|line| !line.starts_with('#'));
        let keys = keys.filter_map(|line| line.split_once('='));
        Unit(keys.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// The words of all values of a key.
    fn words(&self, key: &str) -> Vec<&str> {
        let values = self.0.iter().filter(|(known, _)| known == key);
        values.flat_map(|(_, value)| value.split_whitespace()).collect()
    }

    /// The folders that the unit may write to.
    fn writable(&self) -> Vec<String> {
        let own = [
            ("RuntimeDirectory", "/run"),
            ("StateDirectory", "/var/lib"),
            ("LogsDirectory", "/var/log"),
        ];
        let own = own.iter().flat_map(|(key, parent)| {
            self.words(key).into_iter().map(move |name| format!("{parent}/{name}"))
        });
        let more = self.words("ReadWritePaths").into_iter().filter(|path| !path.starts_with('-'));
        own.chain(more.map(str::to_owned)).collect()
    }

    /// What `setpriv` lets a process of root keep.
    fn bounding_set(&self) -> String {
        let words = self.words("CapabilityBoundingSet");
        let kept = words.iter().map(|name| name.trim_start_matches("CAP_").to_lowercase());
        std::iter::once("-all".to_owned())
            .chain(kept.map(|name| format!("+{name}")))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Starts the unit's program; `prepare` is what a shell does first, in the empty folders.
    /// `None`, with a skip, where this user may not mount.
    fn start(&self, prepare: &str) -> Option<Trial> {
        let may = Command::new("unshare").args(["--mount", "true"]).output().unwrap();
        if !may.status.success() {
            testkit::skip("mount namespaces", &String::from_utf8_lossy(&may.stderr));
            return None;
        }
        let command = self.words("ExecStart").join(" ");
        let command = command.replacen("/usr/bin/whit", WHIT, 1).replace("%i", OTHER_USER);
        let writable = self.writable();
        let mut script = String::from("set -e\nmount --make-rprivate /\n");
        for folder in EMPTY {
            script += &format!("mkdir -p {folder}\nmount -t tmpfs tmpfs {folder}\n");
        }
        script += &format!("mkdir /run/lock\n{prepare}\n");
        for folder in &writable {
            script += &format!("mkdir -p {folder}\nmount --bind {folder} {folder}\n");
        }
        script += "mount -t tmpfs tmpfs /tmp\nmount -o remount,bind,ro /\n";
        for folder in EMPTY.iter().filter(|folder| !writable.iter().any(|path| path == *folder)) {
            script += &format!("mount -o remount,bind,ro {folder}\n");
        }
        let kept = self.bounding_set();
        // A program that goes into the background must not end the namespace.
        let (exec, stay) = match &self.words("Type")[..] {
            ["forking"] => ("", "exec sleep infinity\n"),
            _ => ("exec ", ""),
        };
        script += &format!("{exec}setpriv --bounding-set={kept} --inh-caps=-all --no-new-privs ");
        script += &format!("{command}\n{stay}");
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]);
        shell.arg(script).current_dir("/").stdin(Stdio::null()).env("LANG", "C");
        Some(Trial(Running::start(&mut shell)))
    }
}

/// A unit's program that runs.
struct Trial(Running);

impl Trial {
    /// A path as the program sees it, once the namespace is there.
    fn path(&self, path: &str) -> PathBuf {
        let children = format!("/proc/{0}/task/{0}/children", self.0.pid());
        let child = wait_for("the namespace", || {
            let children = fs::read_to_string(&children).ok()?;
            Some(children.split_whitespace().next()?.to_owned())
        });
        Path::new("/proc").join(child).join("root").join(&path[1..])
    }

    /// Waits for a file whose name ends so in a folder, and returns its length.
    fn length_of(&self, folder: &str, end: &str) -> u64 {
        wait_for(end, || {
            let files = fs::read_dir(self.path(folder)).ok()?;
            let mut files = files.filter_map(Result::ok);
            let file = files.find(|file| file.file_name().to_string_lossy().ends_with(end))?;
            file.metadata().ok().map(|facts| facts.len())
        })
    }
}

#[test]
fn no_unit_is_more_exposed_than_3() {
    for file in fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|end| end != "service") {
            continue;
        }
        let mut analyze = Command::new("systemd-analyze");
        analyze.args(["security", "--offline=true", "--threshold=30"]).arg(&path);
        match analyze.output() {
            Ok(output) => {
                let shown = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{}: {shown}", path.display());
            }
            Err(error) => return testkit::skip("systemd-analyze", &error.to_string()),
        }
    }
}

#[test]
fn the_unit_of_the_recorder_records() {
    let Some(trial) = Unit::read("whit-record.service").start("") else { return };
    wait_until("a sample", || trial.length_of("/var/log/whit", ".whit") > 10_000);
}

#[test]
fn the_units_of_the_logs_open_their_folders() {
    let Some(trial) = Unit::read("whit-log-central.service").start("") else { return };
    wait_until("the socket", || trial.path("/run/whit-log.sock").exists());
    assert!(trial.path("/var/lib/whit/log").is_dir());
    drop(trial);
    let Some(trial) = Unit::read("whit-log-proxy.service").start("") else { return };
    wait_until("the spool", || trial.path("/var/spool/whit/log").is_dir());
    drop(trial);
    // A program of another user has made its folder of rings; only root and it may look there.
    let rings = format!("/run/whit/log/{OTHER_USER}");
    let prepare = format!("mkdir -p {rings} && chown {OTHER_USER} {rings} && chmod 700 {rings}");
    let Some(trial) = Unit::read("whit-log-proxy@.service").start(&prepare) else { return };
    let doorbell = format!("{rings}/doorbell");
    wait_until("the doorbell", || trial.path(&doorbell).exists());
}

#[test]
fn the_unit_of_the_poller_polls() {
    let configuration = "printf '%s\\n' 'WorkDir: /var/lib/mrtg' 'Target[a]: `echo 1; echo 2`' \
                         'MaxBytes[a]: 100' 'Title[a]: a' > /etc/mrtg/mrtg.cfg";
    let unit = Unit::read("whit-poll.service");
    assert_eq!(unit.words("PIDFile"), ["/run/mrtg/mrtg.pid"]);
    let Some(trial) = unit.start(configuration) else { return };
    for path in ["/run/mrtg/mrtg.pid", "/var/lib/mrtg/a.html"] {
        wait_until(path, || trial.path(path).exists());
    }
}
