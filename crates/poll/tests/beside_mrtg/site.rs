//! A configuration in two folders: one that MRTG polls, and ours.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

use poll::ask::{InterfaceCache, MergingAsker};
use poll::round::{RoundReport, RoundSettings, Rounds};
use poll::{Config, LoadEnvironment};
use tempfile::TempDir;

/// Perl's clock for MRTG: the seconds of the variable `FIXED_TIME`.
const CLOCK: &str =
    "package FixedTime;\nBEGIN { *CORE::GLOBAL::time = sub () { $ENV{FIXED_TIME} } }\n1;\n";

/// The first reading of a history, in seconds since 1970: no multiple of any step.
pub(crate) const BEGIN_S: i64 = 1_700_000_011;

pub(crate) fn now_ns() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed().as_nanos() as u64
}

/// Only one test at a time has children: programs of a round are waited for as any child is.
static CHILDREN: Mutex<()> = Mutex::new(());

/// Two folders with the same configuration.
pub(crate) struct Site {
    folder: TempDir,
    rounds: Option<(Rounds, MergingAsker)>,
    /// The environment that configurations are read with, and MRTG's.
    pub(crate) environment: LoadEnvironment,
    /// Whether pages and pictures are left out.
    pub(crate) is_log_only: bool,
    _only: MutexGuard<'static, ()>,
}

impl Site {
    /// Both folders; `None`, and a skip, without MRTG.
    pub(crate) fn new() -> Option<Self> {
        if !testkit::is_installed("mrtg", "mrtg") {
            return None;
        }
        let only = CHILDREN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("FixedTime.pm"), CLOCK).unwrap();
        for side in ["mrtg", "whit"] {
            std::fs::create_dir_all(folder.path().join(side).join("data")).unwrap();
        }
        let environment = LoadEnvironment::default();
        Some(Self { folder, rounds: None, environment, is_log_only: true, _only: only })
    }

    /// Writes both configurations: `FOLDER` is the folder of each side.
    pub(crate) fn configure(&mut self, text: &str) {
        self.configure_each(text, text);
    }

    /// Writes MRTG's and our configuration.
    pub(crate) fn configure_each(&mut self, theirs: &str, ours: &str) {
        for (side, text) in [("mrtg", theirs), ("whit", ours)] {
            let folder = self.path(side);
            let text = text.replace("FOLDER", &folder.display().to_string());
            let text = format!("WorkDir: {}\n{text}", folder.join("data").display());
            std::fs::write(folder.join("mrtg.cfg"), text).unwrap();
        }
        self.rounds = None;
    }

    /// A path below the folder of both sides.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `mrtg` with its clock at a time.
    pub(crate) fn mrtg_command(&self, time_s: i64) -> Command {
        let mut command = Command::new("mrtg");
        command.args(self.is_log_only.then_some("--log-only"));
        command.arg(self.path("mrtg/mrtg.cfg")).env("LANG", "C").env("LC_ALL", "C");
        command.env("TZ", "UTC").env("FIXED_TIME", time_s.to_string());
        let library = format!("-I{} -MFixedTime", self.folder.path().display());
        command.env("PERL5OPT", library).env_remove("RRDCACHED_ADDRESS");
        if let Some(address) = &self.environment.rrdcached_address {
            command.env("RRDCACHED_ADDRESS", address.replace("whit", "mrtg"));
        }
        command
    }

    /// A round of MRTG: what it said, and its exit code.
    pub(crate) fn mrtg(&self, time_s: i64) -> (String, i32) {
        let output = self.mrtg_command(time_s).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (said, output.status.code().unwrap_or(-1))
    }

    /// Our configuration as it is read.
    pub(crate) fn config(&self) -> Config {
        let loading = Config::load(&self.path("whit/mrtg.cfg"), &self.environment);
        loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems))
    }

    /// Forgets what our rounds have learned.
    pub(crate) fn restart(&mut self) {
        self.rounds = None;
    }

    /// What asks devices for our rounds; there must have been one.
    pub(crate) fn asker(&mut self) -> &mut MergingAsker {
        &mut self.rounds.as_mut().unwrap().1
    }

    /// The first round of ours with the interfaces of an earlier run.
    pub(crate) fn whit_with(
        &mut self,
        known: InterfaceCache,
        time_s: i64,
    ) -> (RoundReport, Vec<String>) {
        self.learned().1.set_interfaces(known);
        let (said, report) = self.whit(time_s);
        (report, said)
    }

    /// What our rounds have learned.
    fn learned(&mut self) -> &mut (Rounds, MergingAsker) {
        let is_log_only = self.is_log_only;
        self.rounds.get_or_insert_with(|| {
            let settings = RoundSettings {
                environment: vec![b"PATH=/usr/local/bin:/usr/bin:/bin".to_vec()],
                config_name: "mrtg.cfg".to_owned(),
                is_log_only,
                time_zone: jiff::tz::TimeZone::UTC,
                own_name: "here".to_owned(),
            };
            (Rounds::new(settings), MergingAsker::new(7, now_ns))
        })
    }

    /// A round of ours: what was said, and what came of it.
    pub(crate) fn whit(&mut self, time_s: i64) -> (Vec<String>, RoundReport) {
        let config = self.config();
        let (rounds, asker) = self.learned();
        let mut said = Vec::new();
        let report =
            rounds.round(&config, asker, &|| time_s * 1_000_000_000, &mut |line| said.push(line));
        (said, report)
    }

    /// What a side has in a file of its data.
    pub(crate) fn data(&self, side: &str, name: &str) -> String {
        let path = self.path(side).join("data").join(name);
        if name.ends_with(".rrd") { dump(&path) } else { read(&path) }
    }

    /// Compares a file of both sides.
    pub(crate) fn assert_same(&self, name: &str, case: &str) {
        let exists = |side: &str| self.path(side).join("data").join(name).exists();
        assert!(exists("mrtg") && exists("whit"), "{case}: {name} is not there");
        let [theirs, ours] = ["mrtg", "whit"].map(|side| self.data(side, name));
        assert_lines(&theirs, &ours, &format!("{case}: {name}"));
    }
}

/// Compares what MRTG wrote with what we did.
pub(crate) fn assert_lines(theirs: &str, ours: &str, case: &str) {
    let difference = theirs.lines().zip(ours.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert_eq!(difference, None, "{case}: line from 0, MRTG's, ours");
    assert_eq!(theirs.lines().count(), ours.lines().count(), "{case}");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A database as RRDtool prints it.
pub(crate) fn dump(path: &Path) -> String {
    let output = Command::new("rrdtool").arg("dump").arg(path).env("TZ", "UTC").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", path.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}
