//! The contestants: how each is started, handed over from and counted.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::receiver::{Receiver, Understands};
use super::{Spent, add_tree};
use crate::SearchPath;
use crate::error::{Context, Error, Result, ensure};
use crate::http::get;
use crate::process::{BackgroundProgram, silent};
use crate::watch::service::{free_address, root_of};

/// How long a contestant may take to start, or to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The file, in the folder of a contestant, with what it says of errors, and how much of it is read.
const SAID: &str = "stderr";
const SAID_BYTES_MAX: u64 = 64 << 10;

/// Another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    /// It is scraped.
    NodeExporter,
    /// With `write_prometheus`, it is scraped.
    Collectd,
    /// With `write_http`, it posts.
    CollectdHttp,
}

impl Rival {
    pub(super) const ALL: [Rival; 3] = [Rival::NodeExporter, Rival::Collectd, Rival::CollectdHttp];

    pub(super) fn name(self) -> &'static str {
        match self {
            Rival::NodeExporter => "node_exporter",
            Rival::Collectd => "collectd, write_prometheus",
            Rival::CollectdHttp => "collectd, write_http",
        }
    }

    /// Where it is: as its makers or Debian call it; collectd may be in a folder that is not searched.
    pub(super) fn find(self, path: &SearchPath) -> Option<PathBuf> {
        match self {
            Rival::NodeExporter => {
                path.find("node_exporter").or_else(|| path.find("prometheus-node-exporter"))
            }
            Rival::Collectd | Rival::CollectdHttp => path.find("collectd").or_else(|| {
                Some(PathBuf::from("/usr/sbin/collectd")).filter(|file| file.is_file())
            }),
        }
    }

    /// The option by which it says its version.
    pub(super) fn version(self) -> &'static str {
        match self {
            Rival::NodeExporter => "--version",
            Rival::Collectd | Rival::CollectdHttp => "-h",
        }
    }

    /// Starts it in a folder, where what it says of errors is kept.
    fn start(
        self,
        program: &Path,
        address: SocketAddr,
        folder: &Path,
    ) -> Result<BackgroundProgram> {
        let said = std::fs::File::create(folder.join(SAID))?;
        BackgroundProgram::start(silent(&mut self.command(program, address, folder)?).stderr(said))
    }

    /// The command that takes the same subsystems as whit, at 1 s, and is scraped at `address` or posts to it.
    fn command(self, program: &Path, address: SocketAddr, folder: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        if self == Rival::NodeExporter {
            command.args(["--collector.disable-defaults", "--web.disable-exporter-metrics"]);
            for name in ["cpu", "stat", "loadavg", "meminfo", "vmstat", "diskstats", "netdev"] {
                command.arg(format!("--collector.{name}"));
            }
            command.arg(format!("--web.listen-address={address}"));
            return Ok(command);
        }
        let (root, own, port) = (root_of(program), folder.display(), address.port());
        let writer = match self {
            Rival::CollectdHttp => format!(
                "LoadPlugin write_http\n<Plugin write_http>\n<Node \"a\">\nURL \"http://{address}/\"\n\
                 Format \"JSON\"\n</Node>\n</Plugin>\n"
            ),
            _ => format!(
                "LoadPlugin write_prometheus\n<Plugin write_prometheus>\n  Port \"{port}\"\n</Plugin>\n"
            ),
        };
        let root = root.display();
        let plugins = ["cpu", "load", "memory", "vmem", "swap", "disk", "interface"];
        let plugins = plugins.map(|name| format!("LoadPlugin {name}\n")).concat();
        let text = format!(
            "Hostname \"a\"\nFQDNLookup false\nInterval 1\nBaseDir \"{own}\"\n\
             PIDFile \"{own}/pid\"\nPluginDir \"{root}/usr/lib/collectd\"\n\
             TypesDB \"{root}/usr/share/collectd/types.db\"\n{plugins}{writer}"
        );
        let file = folder.join("collectd.conf");
        std::fs::write(&file, text)?;
        command.arg("-f").arg("-C").arg(file);
        Ok(command)
    }
}

/// A protocol of `whit send` that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    name: &'static str,
    /// What `--to` calls it.
    kind: &'static str,
    /// What the receiver understands.
    receiver: Understands,
    /// What `--every` says, if it is given.
    every: Option<&'static str>,
}

impl Protocol {
    /// Each as it is by default, with a request for each sample, and in requests of 5 s, which is how long
    /// Prometheus itself waits at most before it sends by remote write.
    pub(super) const ALL: [Protocol; 12] = [
        Self::new("remote write 2.0", "remote-write", Understands::RemoteWrite2, None),
        Self::new("remote write 1.0", "remote-write", Understands::Nothing, None),
        Self::new("OTLP", "otlp", Understands::Nothing, None),
        Self::new("line protocol", "influx", Understands::Nothing, None),
        Self::new(
            "remote write 2.0, every 1 s",
            "remote-write",
            Understands::RemoteWrite2,
            Some("1s"),
        ),
        Self::new("remote write 1.0, every 1 s", "remote-write", Understands::Nothing, Some("1s")),
        Self::new("OTLP, every 1 s", "otlp", Understands::Nothing, Some("1s")),
        Self::new("line protocol, every 1 s", "influx", Understands::Nothing, Some("1s")),
        Self::new(
            "remote write 2.0, every 5 s",
            "remote-write",
            Understands::RemoteWrite2,
            Some("5s"),
        ),
        Self::new("remote write 1.0, every 5 s", "remote-write", Understands::Nothing, Some("5s")),
        Self::new("OTLP, every 5 s", "otlp", Understands::Nothing, Some("5s")),
        Self::new("line protocol, every 5 s", "influx", Understands::Nothing, Some("5s")),
    ];

    const fn new(
        name: &'static str,
        kind: &'static str,
        receiver: Understands,
        every: Option<&'static str>,
    ) -> Self {
        Protocol { name, kind, receiver, every }
    }
}

/// A contestant that runs.
pub(super) struct Agent {
    pub(super) name: String,
    programs: Vec<BackgroundProgram>,
    way: Delivery,
}

/// How its values arrive.
enum Delivery {
    /// It posts them; its cursor, below a folder of recordings, counts them.
    Pushed { receiver: Receiver, whit: PathBuf, folder: PathBuf },
    /// It posts them to a receiver that counts them.
    Counted(Receiver),
    /// It is scraped over a connection that is kept.
    Scraped { connection: TcpStream, address: SocketAddr, wire_bytes: u64, values: u64, each: u64 },
}

impl Agent {
    /// Starts `whit record` and `whit send`, and waits until something has arrived.
    pub(super) fn whit(program: &Path, protocol: Protocol, folder: &Path) -> Result<Self> {
        let receiver = Receiver::start(protocol.receiver)?;
        let mut record = Command::new(program);
        record.args(["record", "-scdnm", "-i1", "-f"]).arg(folder.join(""));
        let mut record = BackgroundProgram::start(silent(&mut record))?;
        let is_whit = |entry: std::fs::DirEntry| {
            entry.path().extension().is_some_and(|extension| extension == "whit")
        };
        record.wait_until(PATIENCE, || {
            std::fs::read_dir(folder).into_iter().flatten().flatten().any(is_whit)
        })?;
        let mut send = Command::new(program);
        send.args(["send", "--follow", "--to"]);
        send.arg(format!("{}=http://{}", protocol.kind, receiver.address));
        send.args(protocol.every.map(|every| format!("--every={every}"))).arg(folder);
        let mut send = BackgroundProgram::start(silent(&mut send))?;
        send.wait_until(PATIENCE, || receiver.bytes() > 0)?;
        let way =
            Delivery::Pushed { receiver, whit: program.to_owned(), folder: folder.to_owned() };
        Ok(Agent { name: format!("whit, {}", protocol.name), programs: vec![record, send], way })
    }

    /// Starts another program, and waits until it has values.
    pub(super) fn rival(rival: Rival, program: &Path, folder: &Path) -> Result<Self> {
        let (running, way) = match rival {
            Rival::CollectdHttp => Self::posting(rival, program, folder)?,
            _ => Self::scraped(rival, program, folder)?,
        };
        Ok(Agent { name: rival.name().to_owned(), programs: vec![running], way })
    }

    fn posting(
        rival: Rival,
        program: &Path,
        folder: &Path,
    ) -> Result<(BackgroundProgram, Delivery)> {
        let receiver = Receiver::start(Understands::CollectdJson)?;
        let mut running = rival.start(program, receiver.address, folder)?;
        running.wait_until(PATIENCE, || receiver.values() > 0)?;
        Ok((running, Delivery::Counted(receiver)))
    }

    fn scraped(
        rival: Rival,
        program: &Path,
        folder: &Path,
    ) -> Result<(BackgroundProgram, Delivery)> {
        let address = free_address()?;
        let mut running = rival.start(program, address, folder)?;
        running.wait_until(PATIENCE, || {
            get(address, "/metrics", false).is_ok_and(|answer| values_in(&answer.text()) > 0)
        })?;
        // What is a rate has its first value after two intervals.
        std::thread::sleep(Duration::from_secs(2));
        let connection = TcpStream::connect(address)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        // What is measured comes packed.
        let each = values_in(&get(address, "/metrics", false)?.text());
        Ok((running, Delivery::Scraped { connection, address, wire_bytes: 0, values: 0, each }))
    }

    /// What happens once a second.
    pub(super) fn step(&mut self) -> Result<()> {
        self.programs.iter_mut().try_for_each(BackgroundProgram::check)?;
        if let Delivery::Scraped { connection, address, wire_bytes, values, each } = &mut self.way {
            *wire_bytes += scrape(connection, *address)?;
            *values += *each;
        }
        Ok(())
    }

    /// What it needed since its start.
    pub(super) fn spent(&mut self) -> Result<Spent> {
        let mut spent = Spent::default();
        match &self.way {
            Delivery::Scraped { wire_bytes, values, .. } => {
                (spent.wire_bytes, spent.values) = (*wire_bytes, *values);
            }
            Delivery::Counted(receiver) => {
                (spent.wire_bytes, spent.values) = (receiver.bytes(), receiver.values());
            }
            Delivery::Pushed { receiver, whit, folder } => {
                // Between two requests bytes and values are of the same samples.
                let before = receiver.bytes();
                self.programs[1].wait_until(PATIENCE, || receiver.bytes() > before)?;
                std::thread::sleep(Duration::from_millis(100));
                (spent.wire_bytes, spent.values) = (receiver.bytes(), points_sent(whit, folder)?);
            }
        }
        for running in &self.programs {
            add_tree(&mut spent, running.id(), Path::new(&running.text))?;
        }
        Ok(spent)
    }

    pub(super) fn stop(self) -> Result<()> {
        // The sender before the recorder that it follows.
        self.programs.into_iter().rev().try_for_each(|running| running.stop().map(|_| ()))
    }
}

/// Why a program did not start in a folder: the first line with an error that it wrote, or what became of it.
pub(super) fn why_not(folder: &Path, error: &Error) -> String {
    let mut said = Vec::new();
    // Without a file there is nothing that it said.
    let read = std::fs::File::open(folder.join(SAID))
        .and_then(|file| file.take(SAID_BYTES_MAX).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| line.to_ascii_lowercase().contains("error"));
    let line = line.filter(|_| read.is_ok());
    line.map_or_else(|| error.line(), |line| layout::text::escape(line.as_bytes()))
}

/// The points that the only engine of a folder has acknowledged.
fn points_sent(whit: &Path, folder: &Path) -> Result<u64> {
    let said = Command::new(whit).args(["send", "--status", "--json"]).arg(folder).output()?;
    let status: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap_or_default();
    let text = || format!("whit send --status said '{}'", String::from_utf8_lossy(&said.stdout));
    status["points_sent"].as_u64().with_context(text)
}

/// Values in the text of `/metrics`: every line that is not a comment.
fn values_in(text: &str) -> u64 {
    text.lines().filter(|line| line.contains(' ') && !line.starts_with('#')).count() as u64
}

/// Asks for `/metrics` as Prometheus does; the payload of both directions.
fn scrape(connection: &mut TcpStream, address: SocketAddr) -> Result<u64> {
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nUser-Agent: Prometheus/2.42.0\r\n\
         Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n\
         Accept-Encoding: gzip\r\nX-Prometheus-Scrape-Timeout-Seconds: 1\r\n\r\n"
    );
    connection.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let mut part = [0; 64 << 10];
    while !is_whole(&bytes) {
        let count = connection.read(&mut part)?;
        ensure!(count > 0, "{address} closed the connection of a scrape");
        bytes.extend_from_slice(&part[..count]);
    }
    ensure!(bytes.starts_with(b"HTTP/1.1 200"), "{address} refused a scrape");
    Ok((request.len() + bytes.len()) as u64)
}

/// Whether an answer is complete, by its length or its last chunk (RFC 9112, 6 and 7.1).
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    match length.and_then(|length| length.trim().parse::<usize>().ok()) {
        Some(length) => bytes.len() - (end + 4) >= length,
        None => bytes.ends_with(b"\r\n0\r\n\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_at_its_start_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("collectd");
        let text =
            "#!/bin/sh\necho loaded >&2\nprintf 'ERROR: no libx.so.1\\033[1m\\n' >&2\nexit 1\n";
        testkit::write_program(&program, text).unwrap();
        for rival in [Rival::Collectd, Rival::CollectdHttp] {
            let error = Agent::rival(rival, &program, folder.path()).err().unwrap();
            let said = why_not(folder.path(), &error);
            assert!(said.starts_with("ERROR: no libx.so.1") && !said.contains('\x1b'), "{said:?}");
            std::fs::write(folder.path().join(SAID), "").unwrap();
            assert!(why_not(folder.path(), &error).contains("ended: exit status: 1"));
        }
    }

    #[test]
    fn comments_are_no_values() {
        assert_eq!(values_in("# HELP a b\n# TYPE a counter\na{b=\"c d\"} 1\nb 2 3\n\n"), 2);
    }

    #[test]
    fn an_answer_ends_by_its_length_or_its_last_chunk() {
        for (text, is) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", false),
            ("HTTP/1.1 200", false),
        ] {
            assert_eq!(is_whole(text.as_bytes()), is, "{text}");
        }
    }
}
