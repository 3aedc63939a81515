//! `whit log proxy` and `whit log central`: both end by TERM or INT, and lose nothing by KILL.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use connection::{Address, OldestTls, ServerTls};
use http_server::Credentials;
use log_central::{AdmissionLimits, Central, CentralSettings, RecordingsKept};
use log_format::{FileRotation, LogOutputOptions, open_output};
use log_protocol::auth;
use log_proxy::Spool;
use log_proxy::input::{InputSecurity, Inputs, LogInputSettings};
use log_proxy::{Proxy, ProxySettings, ProxyWaker};
use log_store::{Retention, Store, StoreSettings};
use logring::Tier;
use recorder::Keep;

use super::filters::{DEFAULT_STORE, ZoneArguments, ring_folders};
use super::reach::{DEFAULT_CENTRAL, ReachArguments, address, secret};
use crate::end_signals;
use crate::server_tls::ServerTlsArguments;

/// Where the spool is, unless told otherwise.
const DEFAULT_SPOOL: &str = "/var/spool/whit/log";
/// The first pause of a proxy between two looks at the rings.
const FIRST_PAUSE: Duration = Duration::from_micros(200);

/// Options of `whit log proxy`.
#[derive(clap::Args)]
pub(crate) struct ProxyArguments {
    /// Folders of rings (default: $WHIT_LOG_DIRECTORY; or /run/whit/log/UID, $XDG_RUNTIME_DIR/whit-log
    /// and /dev/shm/whit-log-UID, as far as they are this user's alone)
    #[arg(short = 'd', long, value_name = "FOLDER")]
    directory: Vec<PathBuf>,
    /// The central server: the path of a socket, HOST:PORT or tls:HOST:PORT; `none`: only the outputs
    /// of -o, and no spool
    #[arg(short = 'c', long, value_name = "ADDRESS", default_value = DEFAULT_CENTRAL)]
    central: String,
    /// Write records on this machine too, as far as local levels let them through: text:, json:, csv:
    /// or acs: and a file, or - for standard output; syslog: and a socket, HOST:PORT or
    /// tcp:HOST:PORT; none (may be repeated)
    #[arg(short = 'o', long, value_name = "FORM:TARGET")]
    output: Vec<String>,
    /// Take records of others too: stdin; file: and a path, followed through rotation; syslog: and a
    /// socket, HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT; otlp: and a socket, HOST:PORT or
    /// tls:HOST:PORT, for log records of OpenTelemetry by HTTP; journal, or journal: and
    /// a folder of journals; kernel (may be repeated)
    #[arg(short = 'i', long, value_name = "FORM[:TARGET]")]
    input: Vec<String>,
    #[command(flatten)]
    input_security: InputSecurityArguments,
    /// Begin the next file of an output after so many bytes
    #[arg(long, value_name = "SIZE", value_parser = text::quantity::parse_size, requires = "output")]
    rotate: Option<u64>,
    /// Files that are kept beside the one that is written: FILE.1 is the newest
    #[arg(long, value_name = "N", default_value_t = 5, requires = "rotate")]
    keep: u32,
    #[command(flatten)]
    zone: ZoneArguments,
    /// Folder for what is not acknowledged yet
    #[arg(short = 's', long, value_name = "FOLDER", default_value = DEFAULT_SPOOL)]
    spool: PathBuf,
    /// Most bytes of the spool; then rings are not freed, and writers do what their policy says
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = text::quantity::parse_size)]
    quota: u64,
    #[command(flatten)]
    reach: ReachArguments,
    /// Longest pause between two looks at the rings.  After 100 ms without a record a pause may last a
    /// second: the next record ends it, as errors and a flush always do.  1ms to 1s
    #[arg(long, value_name = "SPAN", default_value = "10ms", value_parser = parse_idle)]
    idle: Duration,
    /// Wait until the disk has what has been unacknowledged for this long; 0: never
    #[arg(long, value_name = "SPAN", default_value = "50ms", value_parser = text::quantity::parse_span)]
    sync: Duration,
    /// Read what there is, send it, and end once it is committed, or in the outputs without a central
    /// server; with an error if the central server is not there for some seconds: then the spool keeps it
    #[arg(long)]
    once: bool,
}

/// What inputs on a network show and ask for.
#[derive(clap::Args)]
struct InputSecurityArguments {
    /// The certificate of inputs with `tls:`, with those between it and its authority, in PEM
    #[arg(long, value_name = "FILE", requires = "input_key")]
    input_cert: Option<PathBuf>,
    /// The key of --input-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "input_cert")]
    input_key: Option<PathBuf>,
    /// Take from inputs with `tls:` only what clients send whose certificate an authority (CA) in this
    /// file has signed, in PEM
    #[arg(long, value_name = "FILE", requires = "input_cert")]
    input_client_ca: Option<PathBuf>,
    /// Let clients of inputs with `tls:` speak TLS 1.2, too, as older ones do
    #[arg(long, requires = "input_cert")]
    input_tls12: bool,
    /// Take from inputs of `otlp:` only what clients send that know the token in this file:
    /// `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    input_token_file: Option<PathBuf>,
}

impl InputSecurityArguments {
    fn load(&self) -> anyhow::Result<InputSecurity> {
        let mut security = InputSecurity::default();
        if let (Some(certificate), Some(key)) = (&self.input_cert, &self.input_key) {
            let clients = self.input_client_ca.as_deref();
            let oldest = if self.input_tls12 { OldestTls::Tls12 } else { OldestTls::Tls13 };
            security.tls = Some(ServerTls::load_with(certificate, key, clients, oldest)?);
        }
        if let Some(file) = &self.input_token_file {
            security.credentials = Some(Credentials::load(Some(file), None)?.into());
        }
        Ok(security)
    }
}

/// Options of `whit log central`.
#[derive(clap::Args)]
pub(crate) struct CentralArguments {
    /// Folder of the store
    #[arg(short = 's', long, value_name = "FOLDER", default_value = DEFAULT_STORE)]
    store: PathBuf,
    /// Listen here: the path of a socket, HOST:PORT or tls:HOST:PORT; may be given several times
    #[arg(short = 'l', long, value_name = "ADDRESS", default_value = DEFAULT_CENTRAL)]
    listen: Vec<String>,
    /// File with the secret that clients must know
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Listen on a network without a secret and without certificates of clients: whoever reaches the
    /// port may send records, and read them all
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    tls: ServerTlsArguments,
    /// When records are acknowledged: once received (`none`), written (`os`), or on disk (`disk`)
    #[arg(long, value_name = "WHEN", default_value = "disk", value_parser = ["none", "os", "disk"])]
    ack: String,
    /// How long a commit waits for more records, if there are few
    #[arg(long, value_name = "SPAN", default_value = "5ms", value_parser = text::quantity::parse_span)]
    delay: Duration,
    /// Bytes after which a segment of the store is closed
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = text::quantity::parse_size)]
    segment: u64,
    /// Most bytes of the store: the oldest segments are removed
    #[arg(long, value_name = "SIZE", value_parser = text::quantity::parse_size)]
    keep: Option<u64>,
    /// Age of a segment's newest record at which it is removed: 90d
    #[arg(long, value_name = "SPAN", value_parser = text::quantity::parse_span)]
    keep_for: Option<Duration>,
    /// Take recordings of other hosts, too (whit send --to whit=ADDRESS there), and write them to this
    /// folder; samples are acknowledged as records are, by --ack
    #[arg(long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    /// Of the recordings of each other host: delete those older than an age (30d), or the oldest beyond a size
    /// (10G), or both: 30d,10G; not before the engines have them that this folder is sent to
    #[arg(long, value_name = "KEEP", requires = "recordings", value_parser = Keep::parse)]
    recordings_keep: Option<Keep>,
}

/// Set by TERM and INT, after which `then` is called.  They must be blocked.
fn stop_flag(then: impl FnOnce() + Send + 'static) -> anyhow::Result<Arc<AtomicBool>> {
    let is_stopping = Arc::new(AtomicBool::new(false));
    let flag = is_stopping.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // If signals cannot be waited for, only KILL ends the program, which loses nothing.
        let _ = end_signals::wait();
        flag.store(true, Ordering::Release);
        then();
    })?;
    Ok(is_stopping)
}

/// Allows as many descriptors as the system lets this process have: a thread that logs has a file, and a
/// client a connection.  No programs are started that would inherit it.
pub(super) fn raise_descriptors() {
    // Where it is refused, files share the descriptors that there are.
    let _ = connection::allow_descriptors(u64::MAX);
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Runs `whit log proxy`.
pub(crate) fn proxy(arguments: &ProxyArguments) -> anyhow::Result<ExitCode> {
    end_signals::block()?;
    raise_descriptors();
    logring::wake_without_preempting();
    let folders = ring_folders(&arguments.directory)?;
    let central = match arguments.central.as_str() {
        "none" => None,
        text => Some(address(text)?),
    };
    if central.is_none() && arguments.output.is_empty() {
        bail!("--central none: give an output with -o, if only `none`");
    }
    let spool = match central {
        Some(_) => Spool::open(&arguments.spool, arguments.quota, auth::random()?)
            .context("cannot use the spool: choose another folder with --spool")?,
        None => Spool::none(auth::random()?),
    };
    let inputs = LogInputSettings {
        rings: folders[0].clone(),
        cursors: arguments.spool.join("inputs"),
        host: host_name(),
        is_once: arguments.once,
        security: arguments.input_security.load()?,
        tier: if arguments.sync.is_zero() { Tier::Read } else { Tier::Synced },
    };
    let inputs = Inputs::start(&arguments.input, &inputs).context("--input")?;
    let settings = ProxySettings {
        folders,
        secret: arguments.reach.secret()?,
        tls: central.as_ref().map(|to| arguments.reach.tls(to)).transpose()?.flatten(),
        central,
        host: host_name(),
        idle: arguments.idle,
        sync: (!arguments.sync.is_zero()).then_some(arguments.sync),
    };
    let mut proxy = Proxy::new(settings, spool);
    let stdout = io::stdout();
    let options = LogOutputOptions {
        stdout: stdout.as_fd(),
        has_colors: stdout.is_terminal() && !crate::display::is_without_colors(),
        zone: arguments.zone.zone(),
        rotation: FileRotation { bytes_max: arguments.rotate, keep: arguments.keep },
    };
    for name in &arguments.output {
        let sink = open_output(name, &options).with_context(|| format!("--output {name}"))?;
        proxy.add_output(name, sink);
    }
    let waker = proxy.waker();
    let is_stopping = stop_flag(move || waker.iter().for_each(ProxyWaker::wake))?;
    heap::return_unused();
    let (mut pause, mut failure) = (Duration::ZERO, None);
    while !is_stopping.load(Ordering::Acquire) {
        let are_done = inputs.are_done();
        let worked = proxy.round();
        for message in proxy.take_messages() {
            crate::stderr::message(message);
        }
        if worked {
            pause = Duration::ZERO;
            continue;
        }
        if arguments.once && are_done && proxy.is_all_committed() {
            break;
        }
        failure = proxy.given_up(are_done).filter(|_| arguments.once);
        if failure.is_some() {
            break;
        }
        pause = (pause * 2).clamp(FIRST_PAUSE, arguments.idle);
        proxy.wait(pause);
    }
    // What they still write is in rings, which the next proxy reads.
    inputs.end();
    proxy.round();
    proxy.end();
    failure.map_or(Ok(ExitCode::SUCCESS), |why| bail!("{why}"))
}

/// A pause of the proxy: programs take one that is silent for some seconds for dead.
fn parse_idle(text: &str) -> Result<Duration, String> {
    let idle = text::quantity::parse_span(text).map_err(|error| error.to_string())?;
    if (FIRST_PAUSE..=Duration::from_secs(1)).contains(&idle) {
        return Ok(idle);
    }
    Err("give a span from 1ms to 1s: programs are told every second that the proxy works"
        .to_owned())
}

/// Whether other machines reach an address; so it is taken to be if its name cannot be resolved.
fn is_reached_from_afar(address: &Address) -> bool {
    let Address::Network { host, port, .. } = address else { return false };
    let Ok(mut all) = connection::resolve(host, *port) else { return true };
    all.any(|one| !one.ip().is_loopback())
}

/// Runs `whit log central`.
pub(crate) fn central(arguments: &CentralArguments) -> anyhow::Result<ExitCode> {
    end_signals::block()?;
    raise_descriptors();
    logring::wake_without_preempting();
    let main = std::thread::current();
    let is_stopping = stop_flag(move || main.unpark())?;
    let settings = StoreSettings {
        segment_bytes: arguments.segment,
        sync: arguments.ack == "disk",
        ..StoreSettings::default()
    };
    let (store, recovery) = Store::open(&arguments.store, settings, auth::random()?)
        .context("cannot use the store: choose another folder with --store")?;
    if recovery.cut_bytes > 0 {
        let bytes = recovery.cut_bytes;
        crate::stderr::message(format_args!("{bytes} bytes of a torn commit were cut"));
    }
    for (path, from, to) in &recovery.damaged {
        let path = path.display();
        crate::stderr::message(format_args!("{path}: bytes {from} to {to} are damaged"));
    }
    let tls = arguments.tls.load()?;
    let secret = secret(arguments.secret_file.as_ref())?;
    let mut listeners = Vec::new();
    let mut sockets = Vec::new();
    for text in &arguments.listen {
        let address = address(text)?;
        if tls.is_none() && address.is_encrypted() {
            bail!("{address}: an address with tls: needs --tls-cert and --tls-key");
        }
        let knows_clients = secret.is_some()
            || (address.is_encrypted()
                && tls.as_ref().is_some_and(ServerTls::wants_client_certificate));
        if !knows_clients && !arguments.insecure && is_reached_from_afar(&address) {
            bail!(
                "{address}: anybody on the network could send and read records: give --secret-file, \
                 or tls: with --tls-client-ca, or --insecure if that is meant"
            );
        }
        let listener = address.listen(tls.as_ref());
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        if let Some(port) = listener.socket.port()? {
            crate::stderr::message(format_args!("listening on port {port}"));
        }
        if let Address::Unix(path) = address {
            sockets.push(path);
        }
        listeners.push(listener);
    }
    let settings = CentralSettings {
        secret,
        delay: arguments.delay,
        retention: Retention {
            bytes_max: arguments.keep,
            age_ns_max: arguments.keep_for.map(|age| age.as_nanos() as u64),
        },
        limits: AdmissionLimits::default(),
        host: host_name(),
        acks_on_receipt: arguments.ack == "none",
        recordings: arguments
            .recordings
            .clone()
            .map(|to| RecordingsKept::new(to, &arguments.ack, arguments.recordings_keep)),
    };
    let central = Central::start(store, &recovery, listeners, settings)?;
    central.unpark_for_messages(std::thread::current());
    heap::return_unused();
    loop {
        central.take_messages().iter().for_each(crate::stderr::message);
        if is_stopping.load(Ordering::Acquire) {
            break;
        }
        std::thread::park();
    }
    central.stop();
    for socket in sockets {
        let _ = std::fs::remove_file(socket);
    }
    Ok(ExitCode::SUCCESS)
}
