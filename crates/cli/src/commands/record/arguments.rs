//! The command line of `whit record`: collectl's letters and names, and whit's own.

use std::path::PathBuf;

use anyhow::ensure;

use crate::display::{DisplayArguments, RecordSourceArguments};
use crate::http::HttpArguments;

/// `--process-way`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProcessWay {
    /// A BPF program that reads all tasks in one pass
    Iterator,
    /// stat, io and status of each process
    Proc,
}

impl From<ProcessWay> for source::ProcessMethod {
    fn from(way: ProcessWay) -> Self {
        match way {
            ProcessWay::Iterator => source::ProcessMethod::Iterator,
            ProcessWay::Proc => source::ProcessMethod::Proc,
        }
    }
}

/// `--cpu-way`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CpuWay {
    /// A BPF program that copies the counters of all CPUs
    Bpf,
    /// The files in /proc and /sys
    Proc,
}

impl From<CpuWay> for source::CounterMethod {
    fn from(way: CpuWay) -> Self {
        match way {
            CpuWay::Bpf => source::CounterMethod::Bpf,
            CpuWay::Proc => source::CounterMethod::Proc,
        }
    }
}

/// Arguments of `whit record`.
#[derive(clap::Args, Debug)]
#[command(args_override_self = true, after_help = crate::help::record())]
pub(crate) struct RecordArguments {
    /// Seconds between samples: of most subsystems, of processes and slabs (Z, y, Y), of sensors and
    /// volumes (E, v, V); fractions allowed, 0 as fast as possible [default: 1:60:120, with -D
    /// 10:60:120; with nothing but Z, y, Y, E, v, V all three are the first, if that is given and
    /// not 0, or without -f, but not with -D]
    #[arg(
        short = 'i',
        long = "interval",
        value_name = "I1[:I2[:I3]]",
        allow_hyphen_values = true,
        conflicts_with = "showcolheaders"
    )]
    pub(crate) interval: Option<String>,

    /// Intervals to record, then end
    #[arg(short = 'c', long = "count", value_name = "N",
          conflicts_with_all = ["runtime", "roll", "showcolheaders"],
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// How long to record: a number and one of w d h m s
    #[arg(short = 'R', long = "runtime", value_name = "DURATION", conflicts_with = "roll")]
    pub(crate) runtime: Option<String>,

    /// Record to files in this directory, or with this prefix
    #[arg(short = 'f', long = "filename", value_name = "PATH",
          conflicts_with_all = ["showheader", "showcolheaders"])]
    pub(crate) filename: Option<PathBuf>,

    /// Only the header that a recording would have
    #[arg(long, conflicts_with_all = ["daemon", "listen", "address", "hosts", "stream"])]
    pub(crate) showheader: bool,

    /// Begin new files at this time of day, every so many minutes, and keep them so many days
    /// (and the message logs so many months) [default: 7 days, 12 months, 1440 minutes]
    #[arg(
        short = 'r',
        long = "rolllogs",
        id = "roll",
        value_name = "HH:MM[,DAYS[:MONTHS]][,MINUTES]",
        requires = "filename"
    )]
    pub(crate) roll: Option<String>,

    /// Sync what was written to the disk after so many seconds; 0 after each sample.  Without it
    /// samples survive when whit is killed, but a power cut loses the latest
    #[arg(short = 'F', long = "flush", value_name = "SECONDS", requires = "filename")]
    pub(crate) flush: Option<u64>,

    /// As -F: a power cut loses at most so many seconds
    #[arg(long, value_name = "SECONDS", requires = "filename", conflicts_with = "flush")]
    pub(crate) sync: Option<u64>,

    /// Say more, and with -f also to a log beside the recordings
    #[arg(short = 'm', long = "messages")]
    pub(crate) messages: bool,

    /// Keep warnings off the terminal
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Run in the background
    #[arg(short = 'D', long = "daemon")]
    pub(crate) daemon: bool,

    /// Run with a nice value of at least 10
    #[arg(short = 'N', long = "nice")]
    pub(crate) nice: bool,

    /// Sample at multiples of the interval since the epoch, at the same time on all machines
    #[arg(long)]
    pub(crate) align: bool,

    /// With -D: become this user, to whom the directory of -f must belong
    #[arg(long, value_name = "USER[:GROUP]", requires = "daemon", requires = "filename")]
    pub(crate) runas: Option<String>,

    /// A name for this recorder: another pid file, and what ps shows
    #[arg(long, value_name = "NAME")]
    pub(crate) pname: Option<String>,

    /// Keep running when the parent process ends: whit always does, and accepts collectl's switch
    #[arg(long)]
    pub(crate) nohup: bool,

    /// Text to keep in the recording
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,

    /// Octal mask for the permissions of new files
    #[arg(long, value_name = "MASK")]
    pub(crate) umask: Option<String>,

    /// With -P or --export: make the recording, too
    #[arg(long, requires = "filename")]
    pub(crate) rawtoo: bool,

    /// Send the lines to a socket: connect to an address, or listen as `server`
    /// [default port: 2655]
    #[arg(short = 'A', long = "address", value_name = "ADDRESS[:PORT[:TIMEOUT]]|server[:PORT]")]
    pub(crate) address: Option<String>,

    /// Serve the newest sample over HTTP as /metrics, for Prometheus and its like, also without -f:
    /// HOST:PORT of the loopback, tls:HOST:PORT for other machines too (with --tls-cert, and
    /// --token-file or --users), or the path of a socket
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    #[command(flatten)]
    pub(crate) http: HttpArguments,

    /// Delete recordings older than this (12h, 30d, 4w), the oldest beyond this size (500M), or both (30d,10G)
    #[arg(long, value_name = "AGE,SIZE", requires = "filename")]
    pub(crate) keep: Option<String>,

    /// At most this share of one CPU, on average, for all that the recorder does after its start:
    /// over it, the most expensive sources are read less often.  What BPF programs cost other
    /// processes counts too: over it -sk and -sK stop for good
    #[arg(long, value_name = "PERCENT")]
    pub(crate) budget: Option<f64>,

    /// Read these sources at the third interval, whatever their own: `slab` costs the kernel
    /// milliseconds a reading
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) third_interval: Vec<String>,

    /// Read the /proc and /sys below this directory
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,

    /// Keep the kernel's text in the recording, too: every file read at a tick, up to 32 MiB
    #[arg(long, requires = "filename")]
    pub(crate) raw: bool,

    /// Read processes in this way only: by a BPF program in the kernel, or from the files in /proc
    /// [default: the best that works here]
    #[arg(long, value_name = "WAY")]
    pub(crate) process_way: Option<ProcessWay>,

    /// Read the counters of CPUs in this way only: by a BPF program in the kernel, or from the
    /// files in /proc and /sys [default: on 32 CPUs and more the program if it works here, unless -c
    /// is below 10,000; else the files]
    #[arg(long, value_name = "WAY")]
    pub(crate) cpu_way: Option<CpuWay>,

    /// Do not time the kernel's files at the start on machines with many CPUs
    #[arg(long)]
    pub(crate) no_check: bool,

    /// With -D: a configuration of collectl: the switches of its DaemonCommands line stand before the
    /// others, and SubsysCore, Interval, Port, LimIOS and others are defaults
    #[arg(short = 'C', long = "config", value_name = "FILE", requires = "daemon")]
    pub(crate) config: Option<PathBuf>,

    /// `SubsysCore` of the configuration.
    #[arg(skip)]
    pub(crate) core: Option<String>,

    /// Record on these hosts, [USER@]HOST[:PORT],… (web[1-12] is twelve), by whit there, started by ssh:
    /// lines with the host in front, or recordings of each (-f); a host that fails is tried again
    #[arg(long, value_name = "HOSTS",
          conflicts_with_all = ["daemon", "listen", "raw", "address", "showcolheaders"])]
    pub(crate) hosts: Option<String>,

    /// With --hosts: the program that logs in, with its options [default: ssh]
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    pub(crate) ssh: Option<String>,

    /// Write samples to standard output for another whit (--hosts there), and neither text nor files
    #[arg(long, conflicts_with_all = ["daemon", "listen", "raw", "address", "showcolheaders"])]
    pub(crate) stream: bool,

    #[command(flatten)]
    pub(crate) display: DisplayArguments,

    #[command(flatten)]
    pub(crate) sources: RecordSourceArguments,
}

impl RecordArguments {
    /// Rejects options that cannot be combined.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let text = self.display.is_machine_format() || self.display.plot;
        self.display.check_places(self.filename.is_some())?;
        ensure!(
            self.filename.is_none() || !self.display.lists.is_set(),
            "--top and --by are for the screen: record with -f and -sZ, and play it with them"
        );
        ensure!(
            !self.rawtoo || text,
            "--rawtoo is for -P and --export; -f alone makes a recording anyway"
        );
        ensure!(
            !self.raw || !text || self.rawtoo,
            "--raw keeps text in the recording: add --rawtoo"
        );
        if self.daemon {
            let server = self.address.as_deref().is_some_and(|address| {
                address.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("server"))
            });
            ensure!(
                self.filename.is_some()
                    || server
                    || self.listen.is_some()
                    || self.display.formats.names_export(),
                "-D needs -f, -A server, --listen or --export: a daemon has no screen"
            );
            ensure!(
                self.address.is_none() || server,
                "-D goes with -A server, not with -A and an address"
            );
        }
        ensure!(
            self.listen.is_some() || !self.http.is_set(),
            "--token-file, --users and --tls-cert are for --listen"
        );
        ensure!(self.address.is_none() || !self.display.home, "--home is for a screen, not for -A");
        ensure!(
            ["proc", "sys"].iter().any(|folder| self.root.join(folder).is_dir()),
            "--root {}: there is neither proc nor sys below it",
            self.root.display()
        );
        let is_plain = !text && !self.display.lists.is_set() && !self.display.home;
        ensure!(
            self.hosts.is_none() && !self.stream || is_plain,
            "--hosts and --stream: lines, or -f: leave -P, --csv, --export, --top, --by and --home out"
        );
        if let Some(percent) = self.budget {
            ensure!(
                percent > 0.0 && percent <= 100.0,
                "--budget {percent}: more than 0 and at most 100 per cent"
            );
        }
        Ok(())
    }
}

impl RecordArguments {
    /// Whether a recording is made.
    pub(crate) fn makes_recording(&self) -> bool {
        let own_text = self.display.plot || self.display.is_machine_format();
        self.filename.is_some()
            && (self.rawtoo || !own_text || self.address.is_some() && !self.display.plot)
    }

    /// Whether plot files are made.
    pub(crate) fn makes_plot_files(&self) -> bool {
        self.filename.is_some() && self.display.plot
    }

    /// Whether there is text for the screen or a socket.
    pub(crate) fn makes_text(&self) -> bool {
        let serves_alone = self.daemon && self.listen.is_some() || self.stream;
        self.address.is_some()
            || self.filename.is_none() && !serves_alone
            || self.display.is_machine_format()
    }
}
