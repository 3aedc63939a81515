//! Prometheus over given samples, or scraping a server, started for a test and ended with it.

use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{Running, skip, wait_for};

/// A running Prometheus; dropping it ends the server.
#[derive(Debug)]
pub struct Prometheus {
    _child: Running,
    address: SocketAddr,
    _folder: TempDir,
}

/// The folder of its programs.  `None`, and a skip, if it is neither installed nor unpacked by
/// `.ci/run`.
fn programs() -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/usr/bin");
    let folders = [PathBuf::from("/usr/bin"), unpacked];
    let found = folders.into_iter().find(|folder| folder.join("prometheus").exists());
    if found.is_none() {
        skip("prometheus", "not installed");
    }
    found
}

impl Prometheus {
    /// Starts a server with the samples of an OpenMetrics text, which scrapes nothing, and waits until
    /// it answers.  `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it does not take the samples or does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn start(samples: &str) -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::tempdir().expect("a folder");
        let [input, data] = ["input", "data"].map(|name| folder.path().join(name));
        std::fs::write(&input, samples).expect("a file");
        let mut import = Command::new(programs.join("promtool"));
        import.args(["tsdb", "create-blocks-from", "openmetrics"]).args([&input, &data]);
        let imported = import.output().expect("promtool");
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
        Some(Self::run(&programs, folder, "global: {}\n"))
    }

    /// Starts a server with a configuration, which says what it scrapes, and waits until it answers.
    /// `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn scraping(configuration: &str) -> Option<Self> {
        Some(Self::run(&programs()?, tempfile::tempdir().expect("a folder"), configuration))
    }

    /// The complaints of `promtool check metrics` about a page; `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn complaints(page: &str) -> Option<String> {
        let mut check = Command::new(programs()?.join("promtool"));
        check.args(["check", "metrics"]).stdin(Stdio::piped());
        check.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = check.spawn().expect("promtool");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(page.as_bytes()).expect("its input");
        drop(input);
        let output = child.wait_with_output().expect("promtool");
        let said = [output.stdout, output.stderr].concat();
        Some(String::from_utf8_lossy(&said).into_owned())
    }

    fn run(programs: &Path, folder: TempDir, configuration: &str) -> Self {
        let [data, config, log] = ["data", "config", "log"].map(|name| folder.path().join(name));
        std::fs::write(&config, configuration).expect("a file");
        let mut command = Command::new(programs.join("prometheus"));
        command.arg("--web.listen-address=127.0.0.1:0").arg("--storage.tsdb.retention.time=100y");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", data.display()));
        command.stdout(Stdio::null()).stderr(File::create(&log).expect("a file"));
        let child = Running::start(&mut command);
        let address = wait_for("Prometheus", || {
            let said = std::fs::read_to_string(&log).expect("its messages");
            let address = said.split("msg=\"Listening on\" address=").nth(1)?.lines().next()?;
            said.contains("ready to receive web requests")
                .then(|| address.parse().expect("an address"))
        });
        Self { _child: child, address, _folder: folder }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
