//! Prometheus, VictoriaMetrics and whit's own server, asked over HTTP.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use text::encoding::push_percent_encoded;

use crate::contest::Measurement;
use crate::error::{Context, Result, ensure};
use crate::http::get;
use crate::process::{BackgroundProgram, microseconds, spent};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server.
pub(crate) struct Rival {
    running: BackgroundProgram,
    address: SocketAddr,
}

impl Rival {
    /// Starts Prometheus on data that was imported, and waits until it answers.
    pub(super) fn prometheus(program: &Path, data: &Path, folder: &Path) -> Result<Self> {
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, "global: {}\n")?;
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", data.display()));
        command.arg("--storage.tsdb.retention.time=100y");
        Self::start(command, "--web.listen-address", "/-/ready")
    }

    /// Starts VictoriaMetrics on a folder, and waits until it answers.
    pub(crate) fn victoria_metrics(program: &Path, data: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg(format!("-storageDataPath={}", data.display()));
        command.args(["-retentionPeriod=100y", "-search.latencyOffset=0s"]);
        Self::start(command, "-httpListenAddr", "/health")
    }

    /// Starts whit's server on a folder of recordings, and waits until it answers.
    pub(super) fn whit(program: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("serve").arg(folder).env("TZ", "UTC");
        Self::start(command, "--listen", "/api/v1/status/buildinfo")
    }

    fn start(mut command: Command, listen: &str, ready: &str) -> Result<Self> {
        // A port that is free now.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        command.arg(format!("{listen}={address}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = BackgroundProgram::start(&mut command)?;
        running.wait_until(PATIENCE, || {
            get(address, ready, false).is_ok_and(|answer| answer.status == 200)
        })?;
        Ok(Rival { running, address })
    }

    /// Lets VictoriaMetrics take a text of samples, times in milliseconds.
    pub(super) fn import(&mut self, text: &Path) -> Result<Measurement> {
        let before = spent(self.running.id()).unwrap_or_default();
        let start = Instant::now();
        let mut text = File::open(text)?;
        let length = text.metadata()?.len();
        let mut connection = TcpStream::connect(self.address)?;
        write!(
            connection,
            "POST /api/v1/import/prometheus HTTP/1.0\r\nHost: {}\r\nContent-Length: {length}\r\n\r\n",
            self.address
        )?;
        io::copy(&mut text, &mut connection)?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        ensure!(answer.contains(" 204 "), "victoria-metrics does not take the samples: {answer}");
        get(self.address, "/internal/force_flush", false)?;
        let wall_us = microseconds(start.elapsed());
        let after = spent(self.running.id()).context("victoria-metrics ended")?;
        Ok(Measurement { wall_us, ..after.since(&before, 1) })
    }

    /// Asks for a range: from, to and step in seconds.  No answer is kept for the next one.
    pub(super) fn query(&mut self, query: &str, [from, to, step]: [u64; 3]) -> Result<Measurement> {
        let path = format!(
            "/api/v1/query_range?query={}&start={from}&end={to}&step={step}&nocache=1",
            percent(query)
        );
        let before = spent(self.running.id()).unwrap_or_default();
        let start = Instant::now();
        let answer = get(self.address, &path, false)?.text();
        let wall_us = microseconds(start.elapsed());
        ensure!(
            answer.contains("\"status\":\"success\"") && answer.contains("\"values\""),
            "the server has no answer to {query}: {}",
            answer.lines().last().unwrap_or_default()
        );
        let after = spent(self.running.id()).context("the server ended")?;
        Ok(Measurement { wall_us, ..after.since(&before, 1) })
    }

    /// Where it is asked.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id of the engine.
    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.running.stop().map(|_| ())
    }
}

/// A text as it stands in an address.
pub(crate) fn percent(text: &str) -> String {
    let mut encoded = String::new();
    push_percent_encoded(&mut encoded, text);
    encoded
}

/// The size of all files below a folder.
pub(crate) fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => bytes_below(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}
