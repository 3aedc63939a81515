//! Prometheus over given samples, started for a test and ended with it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{Running, skip, wait_for};

/// A running Prometheus that scrapes nothing; dropping it ends the server.
#[derive(Debug)]
pub struct Prometheus {
    _child: Running,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts a server with the samples of an OpenMetrics text, and waits until it answers.  `None`,
    /// and a skip, if it is neither installed nor unpacked by `.ci/run`.
    ///
    /// # Panics
    /// If it does not take the samples or does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn start(samples: &str) -> Option<Self> {
        let unpacked =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/usr/bin");
        let folders = [PathBuf::from("/usr/bin"), unpacked];
        let Some(programs) = folders.iter().find(|folder| folder.join("prometheus").exists())
        else {
            skip("prometheus", "not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let [input, data, config, log] =
            ["input", "data", "config", "log"].map(|name| folder.path().join(name));
        std::fs::write(&input, samples).expect("a file");
        std::fs::write(&config, "global: {}\n").expect("a file");
        let mut import = Command::new(programs.join("promtool"));
        import.args(["tsdb", "create-blocks-from", "openmetrics"]).args([&input, &data]);
        let imported = import.output().expect("promtool");
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
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
        Some(Self { _child: child, address, _folder: folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
