//! The services that are measured: how each is started, and how it is asked for a curve.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::SearchPath;
use crate::archive::percent;
use crate::error::{Result, ensure};
use crate::http::get;
use crate::process::{BackgroundProgram, silent};

/// How long a service may take to answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Charts that a page follows.
const CHARTS_LIVE: usize = 12;
/// Steps of a curve.
const POINTS: u32 = 600;

/// What the history of whit keeps: what people look at after years.
const HISTORY: &str = "\
cpu     user,nice,system,idle,iowait,irq,softirq,steal 10s/1d 5m/1y 1h/1y/max
memory  available,swap_free                            10s/1d 5m/1y
disk    read_sectors,write_sectors                     10s/1d 5m/1y 1h/1y/max
network rx_bytes,tx_bytes                              10s/1d 5m/1y 1h/1y/max
";

/// This machine, as recordings name it, in an address.
fn host() -> String {
    percent(&rustix::system::uname().nodename().to_string_lossy())
}

/// How a curve of the CPUs is asked for.
#[derive(Clone, Copy, Debug)]
enum CurveQuestion {
    Whit,
    Netdata,
}

/// A service that runs.
pub(super) struct Observed {
    running: BackgroundProgram,
    pub(super) address: SocketAddr,
    /// Where its data are.
    pub(super) data: PathBuf,
    /// From its start to its first answer.
    pub(super) first_answer: Duration,
    question: CurveQuestion,
}

impl Observed {
    /// Starts `whit watch` with every part on, and waits until it answers.
    pub(super) fn whit(program: &Path, folder: &Path) -> Result<Self> {
        let address = free_address()?;
        std::fs::create_dir_all(folder.join("rings"))?;
        let file = |name: &str| folder.join(name).display().to_string();
        std::fs::write(file("history.table"), HISTORY)?;
        let target = "Target[a]: `echo 1; echo 2; echo; echo`\nMaxBytes[a]: 100\nTitle[a]: a\nPageTop[a]: a\n";
        std::fs::create_dir_all(file("www"))?;
        let polled = format!("WorkDir: {}\nRunAsDaemon: Yes\n{target}", file("www"));
        std::fs::write(file("mrtg.cfg"), polled)?;
        let text = format!(
            "[data]\nfree_min = \"0\"\n[page]\nlisten = \"{address}\"\n\
             [history]\nenabled = true\ntable = \"{}\"\n\
             [log.central]\nenabled = true\nlisten = [\"{central}\"]\n\
             [log.proxy]\nenabled = true\ncentral = \"{central}\"\nfolders = [\"{}\"]\n\
             [rrdcached]\nenabled = true\nlisten = [\"{}\"]\n\
             [poll]\nenabled = true\nconfigs = [\"{}\"]\n",
            file("history.table"),
            file("rings"),
            file("rrd.sock"),
            file("mrtg.cfg"),
            central = file("log.sock"),
        );
        std::fs::write(file("whit.toml"), text)?;
        let data = folder.join("data");
        let mut command = Command::new(program);
        command.arg("watch").arg("--config").arg(file("whit.toml")).arg("--folder").arg(&data);
        command.env_remove("RUNTIME_DIRECTORY").env_remove("STATE_DIRECTORY").env("TZ", "UTC");
        let ready = "/api/whit/v1/hosts";
        Self::start(command, (address, data), ready, CurveQuestion::Whit)
    }

    /// Starts netdata as Debian sets it up, without its cloud, and waits until it answers.
    pub(super) fn netdata(program: &Path, folder: &Path) -> Result<Self> {
        let address = free_address()?;
        let root = root_of(program);
        let data = folder.join("data");
        for name in ["data/cache", "data/lib", "log"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        std::fs::write(folder.join(".opt-out-from-anonymous-statistics"), "")?;
        let folder_of = folder.display();
        let text = format!(
            "[directories]\n  cache = {folder_of}/data/cache\n  lib = {folder_of}/data/lib\n  \
             config = {folder_of}\n  log = {folder_of}/log\n  stock config = {root}/usr/lib/netdata/conf.d\n  \
             plugins = {root}/usr/lib/netdata/plugins.d\n  web = {root}/usr/share/netdata/web\n\
             [global]\n  run as user = {user}\n[web]\n  bind to = {address}\n[cloud]\n  enabled = no\n\
             [logs]\n  access = off\n",
            root = root.display(),
            user = user_name(),
        );
        std::fs::write(folder.join("netdata.conf"), text)?;
        let mut command = Command::new(program);
        command.arg("-D").arg("-c").arg(folder.join("netdata.conf"));
        command.arg("-P").arg(folder.join("netdata.pid"));
        let ready = "/api/v1/data?chart=system.cpu&after=-5&points=1&format=json";
        Self::start(command, (address, data), ready, CurveQuestion::Netdata)
    }

    fn start(
        mut command: Command,
        (address, data): (SocketAddr, PathBuf),
        ready: &str,
        question: CurveQuestion,
    ) -> Result<Self> {
        let start = Instant::now();
        let mut running = BackgroundProgram::start(silent(&mut command))?;
        let answers = || get(address, ready, false).is_ok_and(|answer| answer.status == 200);
        running.wait_until(PATIENCE, answers)?;
        let first_answer = start.elapsed();
        Ok(Observed { running, address, data, first_answer, question })
    }

    pub(super) fn id(&self) -> u32 {
        self.running.id()
    }

    /// Fails if it has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        self.running.check()
    }

    /// Seconds since its start.
    pub(super) fn age_s(&self) -> f64 {
        self.running.started.elapsed().as_secs_f64()
    }

    /// Asks for the curve of the CPUs in the latest seconds; how long the answer took, in ms.
    pub(super) fn curve_ms(&self, seconds: f64) -> Result<f64> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = match self.question {
            CurveQuestion::Whit => {
                let from_ms = now_ms.saturating_sub((seconds * 1e3) as u128);
                let host = host();
                format!(
                    "/api/whit/v1/chart?host={host}&id=cpu&from={from_ms}&thru={now_ms}&points={POINTS}"
                )
            }
            CurveQuestion::Netdata => format!(
                "/api/v1/data?chart=system.cpu&after=-{}&points={POINTS}&format=json",
                seconds.ceil()
            ),
        };
        let start = Instant::now();
        let answer = get(self.address, &path, false)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        ensure!(answer.status == 200, "{path} is answered with status {}", answer.status);
        Ok(ms)
    }

    /// What the page of whit asks for to follow: each new sample of its charts.
    pub(super) fn live_path(&self) -> Result<String> {
        let host = host();
        let path = format!("/api/whit/v1/charts?host={host}");
        let all: serde_json::Value =
            serde_json::from_slice(&get(self.address, &path, false)?.body).unwrap_or_default();
        let charts = all["charts"].as_array().into_iter().flatten();
        let ids = charts.filter_map(|chart| chart["id"].as_str()).take(CHARTS_LIVE);
        let ids: String = ids.map(|id| format!("&id={}", percent(id))).collect();
        ensure!(!ids.is_empty(), "whit has no charts of {host}");
        Ok(format!("/api/whit/v1/live?host={host}{ids}"))
    }

    /// Fails if a part of whit does not run, or has failed.
    pub(super) fn check_parts(&self) -> Result<()> {
        let text = get(self.address, "/api/whit/v1/parts", false)?.text();
        let all: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let parts = all["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_well = |part: &serde_json::Value| part["state"] == "runs" && part["failed"] == 0;
        let unwell = parts.iter().find(|part| !is_well(part));
        ensure!(parts.len() >= 8 && unwell.is_none(), "a part of whit does not run: {unwell:?}");
        Ok(())
    }

    pub(super) fn stop(self) -> Result<()> {
        self.running.stop().map(|_| ())
    }
}

/// Where netdata is: it may be in a folder of administrators that is not searched.
pub(super) fn find_netdata(path: &SearchPath) -> Option<PathBuf> {
    let usual = || Some(PathBuf::from("/usr/sbin/netdata")).filter(|file| file.is_file());
    path.find("netdata").or_else(usual)
}

/// The folder that has `usr/sbin/netdata`: `/`, or where a package was unpacked.
pub(crate) fn root_of(program: &Path) -> PathBuf {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    program.ancestors().nth(3).unwrap_or(Path::new("/")).to_owned()
}

/// The user whose rights netdata keeps: this one.
fn user_name() -> String {
    let id = rustix::process::geteuid().as_raw();
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = line.filter(|words| words.get(2).is_some_and(|word| *word == id.to_string()));
    found
        .filter_map(|words| words.first().map(|name| (*name).to_owned()))
        .next()
        .unwrap_or_default()
}

/// An address of this machine whose port is free now.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
