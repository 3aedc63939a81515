//! The command line of `whit run`, which is GNU parallel's.
//!
//! The first word that is not an option ends them: the command, or the first `:::`.  Options of GNU
//! parallel that are not supported are refused by name; their other names and abbreviations are
//! replaced before ([`run::parallel_options`]).

use std::ffi::OsString;
use std::path::PathBuf;

use run::observers::StatisticsFormat;
use run::settings::RunSettings;

/// Arguments of `whit run`.
#[derive(clap::Args)]
#[command(
    after_help = crate::help::RUN,
    args_override_self = true,
    infer_long_args = true,
    allow_missing_positional = true,
    override_usage = "whit run [OPTIONS] [COMMAND [ARGUMENTS]] [::: VALUES | :::: FILES]…"
)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) settings: RunSettings,
    #[command(flatten)]
    pub(crate) profiles: ProfileArguments,
    #[command(flatten)]
    pub(crate) semaphore: SemaphoreArguments,
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// The command line with its replacement strings, then ::: values or :::: files
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) words: Vec<OsString>,
}

/// Options that are read before all others: which files have more of them.
#[derive(clap::Args)]
#[command(next_help_heading = "Jobs")]
pub(crate) struct ProfileArguments {
    /// Read options from the file ~/.parallel/NAME (may be repeated)
    #[arg(short = 'J', long, value_name = "NAME")]
    pub(crate) profile: Vec<OsString>,

    /// Accepted for scripts that use it; does nothing
    #[arg(long, hide = true)]
    pub(crate) will_cite: bool,

    /// Ignore the options of files and of $PARALLEL
    #[arg(long)]
    pub(crate) plain: bool,
}

/// One command at a time, over all processes of a user.
#[derive(clap::Args)]
#[command(next_help_heading = "Semaphore")]
pub(crate) struct SemaphoreArguments {
    /// Run one command in the background as soon as fewer than -j (1) commands of this name run;
    /// the same as sem
    #[arg(long)]
    pub(crate) semaphore: bool,

    /// The semaphore's name [that of the terminal]
    #[arg(
        id = "semaphore_name",
        long = "id",
        visible_alias = "semaphore-name",
        value_name = "NAME",
        allow_hyphen_values = true
    )]
    pub(crate) name: Option<OsString>,

    /// Run the command anyway after this time; -DURATION: give up after it
    #[arg(
        id = "semaphore_timeout",
        long = "semaphore-timeout",
        visible_alias = "st",
        value_name = "DURATION",
        allow_hyphen_values = true
    )]
    pub(crate) timeout: Option<String>,

    /// Wait for the command and end with its exit code
    #[arg(long = "fg")]
    pub(crate) foreground: bool,

    /// Do not wait for the command (default)
    #[arg(long = "bg")]
    pub(crate) background: bool,

    /// Run nothing; wait until all commands of this name have ended
    #[arg(long)]
    pub(crate) wait: bool,
}

impl SemaphoreArguments {
    /// Whether a command line is one of a semaphore: it is if any of these options is given.
    pub(crate) fn is_asked(&self) -> bool {
        let SemaphoreArguments { semaphore, name, timeout, foreground, background, wait } = self;
        *semaphore || *foreground || *background || *wait || name.is_some() || timeout.is_some()
    }
}

/// What is shown and recorded of the machine meanwhile.
#[derive(clap::Args)]
#[command(next_help_heading = "Seeing the machine")]
pub(crate) struct WatchArguments {
    /// Show once a second, on standard error, the jobs and the load of the machine
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print statistics of the jobs and the machine at the end, on standard error
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true,
          default_missing_value = "text")]
    pub(crate) stats: Option<StatisticsFormat>,

    /// Record the machine and the jobs once a second, for whit play; PATH is a folder or prefix,
    /// as with -f of whit record
    #[arg(long, value_name = "PATH")]
    pub(crate) record: Option<PathBuf>,

    /// Count and time the system calls of jobs; print a table at the end, on standard error
    #[arg(long, conflicts_with = "tty")]
    pub(crate) trace: bool,
}
