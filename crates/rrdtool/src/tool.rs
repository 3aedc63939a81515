//! The commands, with what they know of the program around them.

use std::fs::{self, File};
use std::io::{Read as _, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use calendar::CivilZone;
use graph::command::{GraphCommand, GraphError, GraphResult, XportResult};
use graph::series::WallClock;
use rrd::Locking;
use rrd::command::{CommandEnvironment, Daemon, Failure};
use rrd::fetch::{FetchRequest, FetchedSeries};
use rrd::header::Time;
use rrd::update::Moments;
use rrdclient::{Client, TlsFiles};

use crate::daemon::Connected;
use crate::series::Databases;

/// Bytes of a file that say whether it is a picture.
const HEAD_BYTES: u64 = 24;

/// Answers for a name that stands for no file.
pub type FetchCallback = fn(&str, &FetchRequest) -> Result<FetchedSeries, String>;

/// Names that are answered by the callback begin so.
const CALLBACK_PREFIX: &str = "cb//";

/// What a program knows of its environment.
#[derive(Debug, Clone)]
pub struct ToolEnvironment {
    /// The clock.
    pub now: fn() -> Time,
    /// The local time zone.
    pub zone: CivilZone,
    /// What to do about locks.
    pub locking: Locking,
    /// The font of `RRD_DEFAULT_FONT`.
    pub default_font: Option<String>,
    /// Address of the caching daemon that commands use without an option: `RRDCACHED_ADDRESS`.
    pub daemon_address: Option<String>,
    /// The folder of `RRDCACHED_STRIPPATH`.
    pub stripped_folder: Option<String>,
    /// The files of `RRDCACHED_TLS_CA`, `RRDCACHED_TLS_CERT` and `RRDCACHED_TLS_KEY`.
    pub tls: TlsFiles,
    /// Answers for names that begin with `cb//`.
    pub fetch_callback: Option<FetchCallback>,
}

impl ToolEnvironment {
    /// Nothing but a clock and a zone.
    #[must_use]
    pub fn new(now: fn() -> Time, zone: CivilZone) -> Self {
        Self {
            now,
            zone,
            locking: Locking::Try,
            default_font: None,
            daemon_address: None,
            stripped_folder: None,
            tls: TlsFiles::default(),
            fetch_callback: None,
        }
    }
}

/// RRDtool.
#[derive(Debug)]
pub struct Tool {
    environment: ToolEnvironment,
    connection: Connection,
}

/// The daemon that was spoken to last; commands mostly ask the same one.
pub type Connection = Arc<Mutex<Option<Arc<Client>>>>;

/// What `graph` has made; the picture is written already if it has a file.
#[derive(Debug, Clone)]
pub struct GraphOutcome {
    /// The command, as it was read.
    pub command: GraphCommand,
    /// What came of it.
    pub result: GraphResult,
}

impl Tool {
    /// The commands in an environment.
    #[must_use]
    pub fn new(environment: ToolEnvironment) -> Self {
        Self::with_connection(environment, Connection::default())
    }

    /// The commands in an environment, with a connection that several of them share.
    #[must_use]
    pub fn with_connection(environment: ToolEnvironment, connection: Connection) -> Self {
        Self { environment, connection }
    }

    /// What it knows of the program around it.
    #[must_use]
    pub fn environment(&self) -> &ToolEnvironment {
        &self.environment
    }

    /// Runs a command and writes what RRDtool writes to the standard output; `None` if there is no
    /// command of this name.
    pub fn run(
        &self,
        command: &str,
        arguments: &[String],
        out: &mut dyn Write,
    ) -> Option<Result<(), Failure>> {
        self.run_graph(command, arguments, out)
            .or_else(|| rrd::command::run(command, arguments, self, out))
    }

    /// Runs `graph`, `graphv` or `xport`; `None` for other commands.
    pub fn run_graph(
        &self,
        command: &str,
        arguments: &[String],
        out: &mut dyn Write,
    ) -> Option<Result<(), Failure>> {
        let text = match command {
            "graph" | "graphv" => {
                self.graph(arguments).map(|GraphOutcome { command: read, result }| {
                    read.output(&result, command == "graphv")
                })
            }
            "xport" => self.xport(arguments).map(|table| table.text().into_bytes()),
            _ => return None,
        };
        Some(text.and_then(|text| Ok(out.write_all(&text)?)))
    }

    /// Draws a picture or makes a table, and writes its file.
    ///
    /// # Errors
    /// If RRDtool would fail too; the text is RRDtool's.
    pub fn graph(&self, arguments: &[String]) -> Result<GraphOutcome, Failure> {
        self.try_graph(arguments).map_err(refused)
    }

    fn try_graph(&self, arguments: &[String]) -> Result<GraphOutcome, GraphError> {
        let clock = self.wall_clock();
        let font = self.environment.default_font.as_deref();
        let command = GraphCommand::parse(arguments, font, &clock)?;
        let is_current = command.settings.lazy && is_current(&command, clock.now_s);
        let result = command.run(&mut Databases(self), &clock, is_current)?;
        if let Some(file) = result.file.as_deref().filter(|_| command.file_name != "-") {
            fs::write(&command.file_name, file)
                .map_err(|_| GraphError::NotWritten(command.file_name.clone()))?;
        }
        Ok(GraphOutcome { command, result })
    }

    /// Makes the table of `xport`.
    ///
    /// # Errors
    /// If RRDtool would fail too; the text is RRDtool's.
    pub fn xport(&self, arguments: &[String]) -> Result<XportResult, Failure> {
        graph::command::xport(arguments, &mut Databases(self), &self.wall_clock()).map_err(refused)
    }

    /// The daemon at an address; the connection to it is kept until another one is asked for.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn connect(&self, address: &str) -> Result<Arc<Client>, String> {
        let mut held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = held.as_ref().filter(|client| client.address() == address) {
            return Ok(Arc::clone(client));
        }
        *held = None;
        let stripped = self.environment.stripped_folder.as_deref();
        let client = Client::connect(address, stripped, &self.environment.tls)
            .map_err(|error| error.to_string())?;
        let client = Arc::new(client);
        *held = Some(Arc::clone(&client));
        Ok(client)
    }

    fn wall_clock(&self) -> WallClock<'_> {
        WallClock { now_s: self.now().seconds, zone: &self.environment.zone }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: GraphError) -> Failure {
    rrd::Error::Argument(error.to_string()).into()
}

/// Whether there is a picture that is young enough for `--lazy`.
fn is_current(command: &GraphCommand, now_s: i64) -> bool {
    let Ok(file) = File::open(&command.file_name) else { return false };
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let age = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut head = Vec::new();
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    match (age, read) {
        (Some(age), Ok(_)) => command.is_current(age.as_secs() as i64, &head, now_s),
        _ => false,
    }
}

impl Moments for Tool {
    fn now(&self) -> Time {
        (self.environment.now)()
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        let zone = &self.environment.zone;
        let parsed = time_words::parse(words, self.now().seconds, zone);
        let time = parsed.map_err(|error| error.to_string())?;
        time.absolute(zone).map_err(|error| error.to_string())
    }
}

impl CommandEnvironment for Tool {
    fn zone(&self) -> &CivilZone {
        &self.environment.zone
    }

    fn period(&self, start: &str, end: &str) -> Result<(i64, i64), String> {
        let (now, zone) = (self.now().seconds, &self.environment.zone);
        let parse = |text: &str, which: &str| {
            time_words::parse(text, now, zone).map_err(|error| format!("{which} time: {error}"))
        };
        let (start, end) = (parse(start, "start")?, parse(end, "end")?);
        time_words::resolve(&start, &end, zone).map_err(|error| error.to_string())
    }

    fn fetch(&self, file: &str, request: &FetchRequest) -> Result<FetchedSeries, rrd::Error> {
        if !file.starts_with(CALLBACK_PREFIX) {
            return rrd::fetch::fetch(std::path::Path::new(file), request);
        }
        let unknown =
            "use rrd_fetch_cb_register to register your callback prior to calling rrd_fetch_fn_cb";
        match self.environment.fetch_callback {
            Some(callback) => callback(file, request).map_err(rrd::Error::Argument),
            None => Err(rrd::Error::Argument(unknown.to_owned())),
        }
    }

    fn locking(&self) -> Locking {
        self.environment.locking
    }

    fn daemon(&self, address: Option<&str>) -> Result<Option<Arc<dyn Daemon>>, String> {
        let own = self.environment.daemon_address.as_deref();
        let address = address.or(own).filter(|address| !address.is_empty());
        let Some(address) = address else { return Ok(None) };
        Ok(Some(Arc::new(Connected(self.connect(address)?))))
    }
}
