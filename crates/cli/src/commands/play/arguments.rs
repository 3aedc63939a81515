//! The arguments of `whit play`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{bail, ensure};
use feed::{CollectlSettings, PlaySettings, RecordingSet};
use layout::Options;
use source::{ProcessOptions, SensorRules};

use crate::display::{DisplayArguments, sources_for};

/// What a picture of a period has no place for.
const NOT_WITH_A_PICTURE: [&str; 14] = [
    "follow",
    "extract",
    "grep",
    "stats",
    "diff",
    "procanalyze",
    "slabanalyze",
    "filename",
    "envrules",
    "showheader",
    "showcolheaders",
    "step",
    "heaviest",
    "html",
];

/// Arguments of `whit play`.
#[derive(clap::Args)]
#[command(after_help = crate::help::play())]
pub(crate) struct PlayArguments {
    /// Recordings, or folders of them [default, without -p: those of the service]; or what an engine has
    /// since --from: prometheus=URL, victoriametrics=URL
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Recordings by pattern, commas between; TODAY and YESTERDAY stand for dates
    #[arg(short = 'p', long = "playback", value_name = "PATTERN,…")]
    pub(crate) pattern: Option<String>,

    #[command(flatten)]
    pub(crate) display: DisplayArguments,

    /// With -P, --procanalyze and --slabanalyze: write files into this folder, or with this prefix
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    pub(crate) filename: Option<PathBuf>,

    /// Begin here: [yyyymmdd:]hh:mm[:ss], yesterday 10:15, 2026-11-22T10:15, -1h, now or @SECONDS since
    /// 1970; or both ends as FROM-THRU.  A time without a day is one of each day that was recorded
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "What to play")]
    pub(crate) from: Option<String>,

    /// End here
    #[arg(
        long,
        visible_alias = "until",
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to play"
    )]
    pub(crate) thru: Option<String>,

    /// Seconds to add to all times
    #[arg(
        long,
        value_name = "SECS",
        allow_hyphen_values = true,
        default_value_t = 0,
        help_heading = "What to play"
    )]
    pub(crate) offsettime: i64,

    #[command(flatten)]
    pub(crate) access: crate::commands::send::AccessArguments,

    /// Rules for the names of sensors in collectl's recordings, from a file as collectl has it
    #[arg(long, value_name = "FILE")]
    pub(crate) envrules: Option<PathBuf>,

    /// Say which recording is shown, before its lines
    #[arg(short = 'm', long)]
    pub(crate) messages: bool,

    /// Leave out the notes that some switch changes nothing
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Run with a nice value of at least 10
    #[arg(short = 'N', long)]
    pub(crate) nice: bool,

    /// Octal mask for the permissions of new files
    #[arg(long, value_name = "MASK")]
    pub(crate) umask: Option<String>,

    /// Totals after the last interval, in brief mode
    #[arg(long)]
    pub(crate) stats: bool,

    /// a: averages too, i: intervals too, s: for each file
    #[arg(long, value_name = "LETTERS", requires = "stats")]
    pub(crate) statopts: Option<String>,

    /// A line for each process over all of the recording, ended ones included: a .prcs file in -f; with
    /// -s plot files, too
    #[arg(long, requires = "filename", conflicts_with = "stats")]
    pub(crate) procanalyze: bool,

    /// A line for each slab over all of the recording: a .slbs file in -f; with -s plot files, too
    #[arg(long, requires = "filename", conflicts_with = "stats")]
    pub(crate) slabanalyze: bool,

    /// Only the headers of the recordings
    #[arg(long)]
    pub(crate) showheader: bool,

    /// Lines of a collectl recording that match, with the time of their interval
    #[arg(long, value_name = "REGEX")]
    pub(crate) grep: Option<String>,

    /// Copy the period into new recordings: in a folder, or with a prefix to their names
    #[arg(long, value_name = "PATH", conflicts_with = "subsystems")]
    pub(crate) extract: Option<PathBuf>,

    /// At the end of the newest recording, wait for more as long as its recorder runs
    #[arg(long, conflicts_with_all = ["thru", "extract", "grep", "stats", "diff"])]
    pub(crate) follow: bool,

    /// Two periods side by side, each FROM-THRU: means, maxima and the change of every field
    #[arg(long, num_args = 2, value_names = ["A", "B"], allow_hyphen_values = true,
          conflicts_with_all = ["from", "thru", "extract", "grep", "stats"])]
    pub(crate) diff: Option<Vec<String>>,

    /// With --diff: only so many fields, those that changed most
    #[arg(long, value_name = "N", requires = "diff")]
    pub(crate) limit: Option<usize>,

    /// A row for each step of this length on the wall clock (10s, 5m, 1h, 1d, 1w): means, rates over
    /// the true time, and on how many readings they stand
    #[arg(
        long,
        value_name = "LENGTH",
        value_parser = text::quantity::parse_span_ns,
        conflicts_with_all = [
            "follow", "extract", "grep", "stats", "diff", "procanalyze", "slabanalyze", "filename",
            "envrules", "showheader",
        ]
    )]
    pub(crate) step: Option<u64>,

    /// With --step: the smallest and the largest value of each field, too
    #[arg(long, requires = "step")]
    pub(crate) spread: bool,

    /// With --step: rows of steps without readings, too
    #[arg(long, requires = "step")]
    pub(crate) empty_steps: bool,

    /// The heaviest processes of the period by cpu, mem, io, read, write, faults, switches or delay,
    /// the first N [10], gathered by command or --by user, cgroup or process; SOURCE.FIELD ranks the
    /// instances of any source
    #[arg(
        long,
        value_name = "WHAT,N",
        conflicts_with_all = [
            "follow", "extract", "grep", "stats", "diff", "procanalyze", "slabanalyze", "filename",
            "envrules", "showheader", "showcolheaders", "step",
        ]
    )]
    pub(crate) heaviest: Option<String>,

    /// A report of the period: the page with its data in one file of at most 8.5 MB, which opens without
    /// a server; - is standard output
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "follow", "extract", "grep", "stats", "diff", "procanalyze", "slabanalyze", "filename",
            "envrules", "showheader", "showcolheaders", "step", "heaviest",
        ]
    )]
    pub(crate) html: Option<PathBuf>,

    /// A picture of the period: the curves of what -s chooses, below each other, as SVG; - is standard
    /// output
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_WITH_A_PICTURE)]
    pub(crate) svg: Option<PathBuf>,

    /// The picture of --svg as PNG
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_WITH_A_PICTURE)]
    pub(crate) png: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) pager: crate::pager::PagerArguments,

    /// `offsettime` in nanoseconds.
    #[arg(skip)]
    pub(crate) offset_ns: i64,
}

impl PlayArguments {
    /// The options for a set of recordings; the recordings supply the defaults.
    pub(crate) fn options_for(&self, set: &RecordingSet<'_>) -> anyhow::Result<Options> {
        let meta = &set.recordings[0].meta;
        let mut selection = set.selection.clone();
        // collectl has no plot columns for interrupts; it shows those of the CPUs instead, unless
        // CPUs are selected anyway.
        if self.display.plot && selection.has_any(&['j', 'J']) && !selection.has_any(&['c', 'C']) {
            selection.push_letter('C');
        }
        let mut options = self.display.options(selection)?;
        // As in collectl, what is asked for makes lines of several columns even if it is not there.
        options.verbose |= self.display.forces_verbose(&set.asked);
        options.asked_beside = set.asks_for_adapters_beside();
        ensure!(
            !self.stats || !options.verbose,
            "--stats is for brief mode: leave out what makes lines of several columns"
        );
        self.display.sources.set_recorded(meta, &mut options, self.display.plot);
        // What was recorded does not force lines of several columns on the totals.
        options.verbose &= !self.stats;
        self.display.settle_list(&mut options, true, false)?;
        options.stats = self.stats;
        // On a terminal each line has its time, which a person looks for.
        let is_plain = !self.display.plot && !self.display.is_machine_format();
        if options.whole_sections && options.terminal_columns.is_some() && is_plain {
            let has_time = options.letters.contains(['T', 'd', 'D', 'U']);
            options.letters.push_str(if has_time { "" } else { "T" });
        }
        options.statopts = self.statopts.clone().unwrap_or_default();
        Ok(options)
    }

    /// The settings for reading a set of recordings with these options.
    pub(crate) fn settings(&self, options: &Options) -> anyhow::Result<PlaySettings> {
        let given = &options.of_sources;
        let file = self.envrules.as_deref();
        Ok(PlaySettings {
            follow: self.follow,
            entries: sources_for(&self.display.sources.read_with(&options.subsystems)),
            collectl: CollectlSettings {
                sensors: SensorRules::read(file, given)?.map(Arc::new),
                passwd: ProcessOptions::of(options, false).passwd,
                first_thread_switches: options.exact,
            },
            names: given.clone(),
            ..PlaySettings::default()
        })
    }

    /// The digests that are asked for.
    pub(crate) fn digests(&self) -> Vec<&'static str> {
        let asked = [(self.procanalyze, "process"), (self.slabanalyze, "slab")];
        asked.iter().filter(|(asked, _)| *asked).map(|(_, name)| *name).collect()
    }

    /// Whether plot files are made.
    pub(crate) fn makes_plot_files(&self) -> bool {
        self.filename.is_some() && self.display.plot
    }

    /// Whether what is written may be more than a screen, and ends.
    pub(crate) fn is_long(&self) -> bool {
        let files = [&self.filename, &self.extract, &self.html, &self.svg, &self.png];
        !self.follow && !self.display.home && files.iter().all(|file| file.is_none())
    }

    /// Rejects options that cannot be combined.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.display.home, "--home does not apply to play");
        self.display.sources.check_played()?;
        if let Some(letters) = &self.statopts
            && let Some(letter) = letters.chars().find(|letter| !"aisS".contains(*letter))
        {
            bail!("--statopts {letters}: unknown letter '{letter}'; known are a, i, s");
        }
        let formats = self.display.is_machine_format() || self.display.plot;
        ensure!(!self.messages || !self.display.is_machine_format(), "-m is for lines of text");
        let display = &self.display;
        let lines = display.plot || display.verbose || display.full;
        let view = display.formats.view;
        let export = display.formats.export().is_some();
        ensure!(
            self.diff.is_none()
                || !lines && !export && view.is_none_or(|entry| entry.table.is_some()),
            "--diff makes a table of its own, with {} if you like",
            crate::display::switches(" or", |entry| entry.table.is_some())
        );
        let digests = !self.digests().is_empty();
        ensure!(
            self.filename.is_none() || display.plot || digests,
            "-f is for plot files (-P), --procanalyze and --slabanalyze"
        );
        let other = display.is_machine_format() || display.lists.is_set() || self.diff.is_some();
        let filters = display.sources.filters();
        ensure!(!digests || filters.is_empty(), "--procanalyze sums up all: leave filters out");
        ensure!(
            !digests || !display.plot || display.subsystems.is_some(),
            "--procanalyze and --slabanalyze: -P makes plot files, too: say of what with -s"
        );
        ensure!(!digests || !other, "--procanalyze and --slabanalyze make files of their own");
        ensure!(
            self.diff.is_none() || !display.lists.is_set(),
            "--diff makes a table of its own: leave --top and --by out"
        );
        ensure!(!self.stats || !display.lists.is_set(), "--stats is not for --top and --by");
        display.check_places(self.filename.is_some())?;
        ensure!(!self.stats || !formats, "--stats is for brief mode");
        ensure!(!self.stats || !self.display.verbose, "--stats is for brief mode, not --verbose");
        Ok(())
    }
}
