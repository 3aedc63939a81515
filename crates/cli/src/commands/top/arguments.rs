//! The command line of `whit top`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use top::{Column, GroupBy, HostColumn};

/// Arguments of `whit top`.
#[derive(clap::Args)]
#[command(after_help = crate::help::TOP)]
pub(crate) struct TopArguments {
    /// A recording or a folder of them, in which the arrow keys move in time; without one, this
    /// machine, and with --at what its service has recorded
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// In a recording, begin here: [yyyymmdd:]hh:mm[:ss], yesterday 10:15, 2026-11-22T10:15, -1h or
    /// @SECONDS since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(super) at: Option<String>,

    /// Seconds between samples, fractions allowed
    #[arg(short = 'd', long = "delay", value_name = "SECS", default_value = "1")]
    pub(super) delay: String,

    /// End after this many samples
    #[arg(short = 'n', long = "iterations", value_name = "COUNT",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) count: Option<u64>,

    /// Only these processes
    #[arg(short = 'p', long = "pid", value_name = "PID,…", value_delimiter = ',',
          value_parser = clap::value_parser!(i32).range(1..))]
    pub(super) pids: Vec<i32>,

    /// Only this user's processes, by name or number
    #[arg(short = 'u', long, value_name = "USER")]
    pub(super) user: Option<String>,

    /// Only lines with this text in command, arguments, user or control group
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(super) filter: String,

    /// What to sort by, largest first; pid, user, state and command smallest first
    #[arg(long, value_name = "KEY", value_enum, default_value_t = SortKey(Column::Cpu))]
    pub(super) sort: SortKey,

    /// One line for each control group, user or command, ended processes included
    #[arg(long = "by", value_name = "WHAT", value_enum)]
    pub(super) by: Option<Group>,

    /// Begin with the tree of processes
    #[arg(long, conflicts_with = "by")]
    pub(super) tree: bool,

    /// Begin with threads
    #[arg(short = 'H', long)]
    pub(super) threads: bool,

    /// Begin with bytes and packets by process; needs root, and costs each packet some 0.3 µs
    #[arg(long, conflicts_with_all = ["file", "at", "hosts"])]
    pub(super) net: bool,

    /// A line for each of these hosts, [USER@]HOST[:PORT],… (web[1-12] is twelve), by whit there, started
    /// by ssh; Enter opens the processes of one
    #[arg(long, value_name = "HOSTS", conflicts_with_all = ["file", "at", "root", "threads"])]
    pub(super) hosts: Option<String>,

    /// With --hosts: the program that logs in, with its options [default: ssh -oBatchMode=yes]
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    pub(super) ssh: Option<String>,

    /// With --hosts: what to sort the hosts by, largest first; host smallest first
    #[arg(long, value_name = "KEY", value_enum, requires = "hosts",
          default_value_t = HostSortKey(HostColumn::Cpu))]
    pub(super) host_sort: HostSortKey,

    /// Read /proc and /sys below this folder
    #[arg(long, value_name = "DIR", default_value = "/", conflicts_with = "file")]
    pub(super) root: PathBuf,
}

/// A column as a value on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortKey(pub(super) Column);

impl clap::ValueEnum for SortKey {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<SortKey>> =
            LazyLock::new(|| Column::ALL.iter().copied().map(SortKey).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = self.0.named();
        Some(PossibleValue::new(name).help(about).aliases(self.0.alias()))
    }
}

/// A column of hosts as a value on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostSortKey(pub(super) HostColumn);

impl clap::ValueEnum for HostSortKey {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<HostSortKey>> =
            LazyLock::new(|| HostColumn::ALL.iter().copied().map(HostSortKey).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = self.0.named();
        Some(PossibleValue::new(name).help(about))
    }
}

/// What to group by, as a value on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(pub(super) GroupBy);

impl clap::ValueEnum for Group {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Group>> =
            LazyLock::new(|| GroupBy::ALL.iter().copied().map(Group).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = self.0.named();
        Some(PossibleValue::new(name).help(about))
    }
}
