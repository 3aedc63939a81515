//! The Python client (`clients/python`), built by pip: what it logs is in the store as Python itself would
//! have written it, byte for byte; kills lose nothing, and no ring, whatever it holds, ends a program.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::io::{BufRead as _, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{Folders, Running, central, drain, folders, proxy, pump_to_end};
use crate::conformance::clients;
use log_format::{JsonFormat, RecordFormat as _};
use log_store::StoreReader;
use log_store::audit::Audit;
use log_store::query::Filter;

/// A Python that builds the client, and where the client is installed.
pub(crate) struct Installed {
    python: &'static str,
    folder: PathBuf,
}

/// The first Python that has what building takes.
fn python() -> Option<&'static str> {
    let needs = "import sysconfig, os, pip, wheel, structlog; \
                 assert os.path.exists(sysconfig.get_path('include') + '/Python.h')";
    ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let done = Command::new(python).args(["-c", needs]).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    })
}

/// The client, installed once; `None` where it cannot be built.
pub(crate) fn installed() -> Option<&'static Installed> {
    static BUILT: OnceLock<Option<Installed>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if !testkit::is_installed("the Python client", "cc") {
            return None;
        }
        let Some(python) = python() else {
            testkit::skip("the Python client", "no Python with its headers, pip, wheel, structlog");
            return None;
        };
        let name = format!("python-client-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        // Building writes beside the sources.
        let mut copy = Command::new("cp");
        copy.arg("-r").args([clients().join("c"), clients().join("python")]).arg(&folder);
        assert!(copy.status().unwrap().success());
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-index"]);
        pip.args(["--no-deps", "--no-compile", "--root-user-action=ignore", "--target"]);
        let done = pip.arg(folder.join("to")).arg(folder.join("python")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Some(Installed { python, folder: folder.join("to") })
    });
    built.as_ref()
}

impl Installed {
    /// The test program in a role.
    fn program(&self, role: &str, rings: &Path, more: &[&Path]) -> Command {
        let mut command = self.command(&clients().join("python/tests/program.py"), rings);
        command.arg(role).args(more);
        command
    }

    /// A program with the client, which logs into a folder.
    pub(crate) fn command(&self, program: &Path, rings: &Path) -> Command {
        let mut command = Command::new(self.python);
        command.arg("-B").arg(program);
        command.env("PYTHONPATH", &self.folder).env("WHIT_LOG_DIRECTORY", rings);
        command.env("PYTHONIOENCODING", "utf-8");
        command
    }
}

/// Log records of a store as JSON lines, without those of the central server.
fn write_json(store: &Path, to: &Path) {
    let (mut format, mut text, mut scratch) = (JsonFormat::default(), Vec::new(), Vec::new());
    let filter = Filter::default();
    let mut reader = StoreReader::open(store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        let wanted = filter.wanted(item, &mut scratch);
        if let Some(record) = wanted.filter(|_| item.process.name != "whit log central") {
            format.put(&mut text, &record);
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    std::fs::write(to, text).unwrap();
}

/// Runs a role through a proxy and a central server, and compares what the store holds with what Python says.
fn through(installed: &Installed, role: &str, more: &[&Path]) {
    let folders: Folders = folders();
    let [expected, got] = ["expected", "got"].map(|name| folders.all.path().join(name));
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let arguments: Vec<&Path> = std::iter::once(&*expected).chain(more.iter().copied()).collect();
    let mut writer = Running::start(&mut installed.program(role, &folders.rings, &arguments));
    pump_to_end(&mut proxy, &mut writer);
    assert!(writer.wait().unwrap().success(), "{role}");
    drain(&mut proxy, &folders.rings);
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{role}: {audit:?}");
    write_json(&folders.store, &got);
    let done = installed.program("compare", &folders.rings, &[&expected, &got]).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{role}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn what_python_logs_is_in_the_store_as_python_writes_it() {
    let Some(installed) = installed() else { return };
    let formats = testkit::share(20_000).to_string();
    through(installed, "everything", &[]);
    through(installed, "formats", &[Path::new(&formats)]);
    through(installed, "processes", &[]);
    through(installed, "structlog", &[]);
}

#[test]
fn no_ring_ends_a_program_in_python() {
    let Some(installed) = installed() else { return };
    let folders = folders();
    let expected = folders.all.path().join("expected");
    let done = installed.program("hostile", &folders.rings, &[&expected]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said == "went on\n", "{done:?}");
}

/// A record of a call that returned is in the ring: killed anywhere, the store has all of them once.
#[test]
fn what_python_logged_before_a_kill_is_in_the_store_once() {
    let Some(installed) = installed() else { return };
    let mut random = testkit::Random::from_seed(20_261_126);
    for round in 0..testkit::share(20) {
        let folders = folders();
        let central = central(&folders.store, &folders.socket);
        let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
        let expected = folders.all.path().join("expected");
        let mut command = installed.program("endless", &folders.rings, &[&expected]);
        let mut writer = Running::start(command.stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(writer.stdout.take().unwrap()).read_line(&mut line).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        writer.kill();
        drain(&mut proxy, &folders.rings);
        central.stop();
        let completed = std::fs::read_to_string(&expected).unwrap();
        let completed: usize = completed.trim().parse().unwrap_or(0);
        let got = folders.all.path().join("got");
        write_json(&folders.store, &got);
        let got = std::fs::read_to_string(&got).unwrap();
        let is_next =
            |(number, line): (usize, &str)| line.contains(&format!("\"message\":\"{number}\""));
        assert!(got.lines().enumerate().all(is_next), "round {round}");
        assert!(got.lines().count() >= completed, "round {round}: {completed} were completed");
    }
}
