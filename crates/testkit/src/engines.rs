//! Engines, started for a test and ended with it: Prometheus over given samples or scraping a server,
//! VictoriaMetrics, NATS with JetStream.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{CertificateFiles, Running, skip, wait_for};

/// A running Prometheus; dropping it ends the server.
#[derive(Debug)]
pub struct Prometheus {
    _child: Running,
    address: SocketAddr,
    _folder: TempDir,
}

/// The folder of the programs of an engine.  `None`, and a skip, if it is neither installed nor unpacked
/// by `.ci/run`.
fn programs(engine: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let unpacked = target.join(engine);
    let folders = ["/usr/bin", "/usr/sbin"].map(PathBuf::from).into_iter();
    let mut folders = folders.chain(["usr/bin", "usr/sbin"].map(|folder| unpacked.join(folder)));
    let found = folders.find(|folder| folder.join(engine).exists());
    if found.is_none() {
        skip(engine, "not installed");
    }
    found
}

/// A running VictoriaMetrics, which takes samples of any time; dropping it ends the server.
#[derive(Debug)]
pub struct VictoriaMetrics {
    _child: Running,
    address: SocketAddr,
    graphite: SocketAddr,
    _folder: TempDir,
}

impl VictoriaMetrics {
    /// Starts a server and waits until it answers.  `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn start() -> Option<Self> {
        let program = programs("victoria-metrics")?.join("victoria-metrics");
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let mut command = Command::new(program);
        command.args(["-httpListenAddr=127.0.0.1:0", "-graphiteListenAddr=127.0.0.1:0"]);
        command.args(["-retentionPeriod=100y", "-influxSkipSingleField"]);
        command.arg(format!("-storageDataPath={}", folder.path().join("data").display()));
        command.stdout(Stdio::null()).stderr(File::create(&log).expect("a file"));
        let child = Running::start(&mut command);
        let (address, graphite) = wait_for("VictoriaMetrics", || {
            let ports = child.listening_ports();
            let [first, second] = *ports.as_slice() else { return None };
            let [first, second] =
                [first, second].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
            match speaks_http(first) {
                true => Some((first, second)),
                false => speaks_http(second).then_some((second, first)),
            }
        });
        Some(Self { _child: child, address, graphite, _folder: folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until it shows all that it took.  A flush does not wait for rows that are on their way to
    /// where they are searched, as on a busy machine; its counters tell when all are there.
    ///
    /// # Panics
    /// If they are not there within [`crate::PATIENCE`].
    pub fn flush(&self) {
        let get = |path| {
            let answer = crate::http(self.address, "GET", path, &[]);
            assert_eq!(answer.status, 200, "{}", answer.body);
            answer.body
        };
        crate::wait_until("VictoriaMetrics shows what it took", || {
            get("/internal/force_flush");
            let counters = get("/metrics");
            let number = |name: &str| {
                let line = counters.lines().find(|line| line.starts_with(name));
                let (_, number) = line.and_then(|line| line.rsplit_once(' ')).expect(name);
                number.parse::<f64>().expect(name)
            };
            let shown =
                ["small", "big"].map(|part| number(&format!("vm_rows{{type=\"storage/{part}\"}}")));
            let taken = number("vm_rows_added_to_storage_total ");
            taken > 0.0 && shown.iter().sum::<f64>() == taken
        });
    }

    /// Where it takes the lines of Graphite.
    #[must_use]
    pub fn graphite(&self) -> SocketAddr {
        self.graphite
    }
}

/// Whether a server answers by HTTP.
fn speaks_http(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let asked = stream.write_all(b"GET /health HTTP/1.0\r\n\r\n");
    let mut said = Vec::new();
    // One that does not speak HTTP sees the end and closes.
    let heard = asked.and_then(|()| stream.shutdown(Shutdown::Write));
    heard.and_then(|()| stream.read_to_end(&mut said)).is_ok() && said.starts_with(b"HTTP/")
}

/// A running server of NATS with JetStream; dropping it ends the server.
#[derive(Debug)]
pub struct NatsServer {
    child: Running,
    address: SocketAddr,
    folder: TempDir,
}

impl NatsServer {
    /// Starts a server and waits until it listens; clients need the token, if there is one.  `None`, and
    /// a skip, if it is not there.
    ///
    /// # Panics
    /// If it does not listen within [`crate::PATIENCE`].
    #[must_use]
    pub fn start(token: Option<&str>) -> Option<Self> {
        Self::start_with(&token.map_or_else(Vec::new, |token| vec!["--auth", token]))
    }

    /// Starts a server that speaks TLS alone, with a certificate.
    ///
    /// # Panics
    /// As [`NatsServer::start`].
    #[must_use]
    pub fn encrypted(files: &CertificateFiles) -> Option<Self> {
        let path = |path: &'_ Path| path.to_str().expect("a path of UTF-8").to_owned();
        let (certificate, key) = (path(&files.certificate), path(&files.key));
        Self::start_with(&["--tls", "--tlscert", &certificate, "--tlskey", &key])
    }

    fn start_with(words: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let (child, address) = Self::run(folder.path(), -1, words)?;
        Some(Self { child, address, folder })
    }

    /// Kills it and starts it again, with what it has on the disk and at the same port.
    ///
    /// # Panics
    /// If it does not listen within [`crate::PATIENCE`].
    pub fn start_again(&mut self) {
        self.child.signal(libc::SIGKILL);
        self.child.ended();
        let (child, _) =
            Self::run(self.folder.path(), i32::from(self.address.port()), &[]).expect("a server");
        self.child = child;
    }

    /// Sends it a signal, a number of signal(7): one that is stopped answers nothing.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&mut self, signal: i32) {
        self.child.signal(signal);
    }

    fn run(folder: &Path, port: i32, words: &[&str]) -> Option<(Running, SocketAddr)> {
        let mut command = Command::new(programs("nats-server")?.join("nats-server"));
        command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder);
        command.args(words);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = Running::start(&mut command);
        let port = wait_for("the server of NATS", || child.listening_port());
        Some((child, SocketAddr::from(([127, 0, 0, 1], port))))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Prometheus {
    /// Starts a server with the samples of an OpenMetrics text, which scrapes nothing, and waits until
    /// it answers.  `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it does not take the samples or does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn start(samples: &str) -> Option<Self> {
        let programs = programs("prometheus")?;
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
        Some(Self::run(
            &programs("prometheus")?,
            tempfile::tempdir().expect("a folder"),
            configuration,
        ))
    }

    /// Starts a server that takes samples by remote write, of any time, and waits until it answers.
    /// `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn receiving() -> Option<Self> {
        Self::scraping("global: {}\n")
    }

    /// The complaints of `promtool check metrics` about a page; `None`, and a skip, if it is not there.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn complaints(page: &str) -> Option<String> {
        let mut check = Command::new(programs("prometheus")?.join("promtool"));
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
        command.arg("--web.enable-remote-write-receiver");
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
