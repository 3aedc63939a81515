//! `whit play`: shows recordings, whit's own and collectl's.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use sample::Options;
use source::SensorRules;

use crate::display::{DisplayArguments, processes};
use crate::play::feed::Origin;
use crate::play::files::{self, Recording};
use crate::play::period::Period;
use crate::play::plot_files::ToPlotFiles;
use crate::play::run::{self, Group, OneView, Outcome};
use crate::play::to_digests::ToDigests;
use crate::play::{diff, extract};

/// Arguments of `whit play`.
#[derive(clap::Args)]
#[command(after_help = crate::help::play())]
pub(crate) struct PlayArguments {
    /// Recordings, or folders of them
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

    /// Begin here: [yyyymmdd:]hh:mm[:ss], or both ends as FROM-THRU
    #[arg(long, value_name = "TIME", help_heading = "What to play")]
    pub(crate) from: Option<String>,

    /// End here: [yyyymmdd:]hh:mm[:ss]
    #[arg(long, value_name = "TIME", help_heading = "What to play")]
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

    /// Rules for the names of sensors in collectl's recordings, from a file as collectl has it
    #[arg(long, value_name = "FILE")]
    pub(crate) envrules: Option<PathBuf>,

    /// Totals after the last interval, in brief mode
    #[arg(long)]
    pub(crate) stats: bool,

    /// a: averages too, i: intervals too, s: for each file
    #[arg(long, value_name = "LETTERS", requires = "stats")]
    pub(crate) statopts: Option<String>,

    /// A line for each process over all of the recording, ended ones included: a .prcs file in -f
    #[arg(long, requires = "filename", conflicts_with_all = ["plot", "subsystems", "stats"])]
    pub(crate) procanalyze: bool,

    /// A line for each slab over all of the recording: a .slbs file in -f
    #[arg(long, requires = "filename", conflicts_with_all = ["plot", "subsystems", "stats"])]
    pub(crate) slabanalyze: bool,

    /// Only the recordings' own headers
    #[arg(long)]
    pub(crate) showheader: bool,

    /// Only the column headings
    #[arg(long)]
    pub(crate) showcolheaders: bool,

    /// Lines of a collectl recording that match, with the time of their interval
    #[arg(long, value_name = "REGEX")]
    pub(crate) grep: Option<String>,

    /// Cut the period out: into a folder, or with a prefix, as collectl does
    #[arg(long, value_name = "PATH", conflicts_with = "subsystems")]
    pub(crate) extract: Option<PathBuf>,

    /// At the end of the newest recording, wait for more as long as its recorder lives
    #[arg(long, conflicts_with_all = ["thru", "extract", "grep", "stats", "diff"])]
    pub(crate) follow: bool,

    /// Two periods side by side, each FROM-THRU: means, maxima and the change of every field
    #[arg(long, num_args = 2, value_names = ["A", "B"], allow_hyphen_values = true,
          conflicts_with_all = ["from", "thru", "extract", "grep", "stats"])]
    pub(crate) diff: Option<Vec<String>>,

    /// `offsettime`, worked out.
    #[arg(skip)]
    pub(crate) offset_ns: i64,
}

impl PlayArguments {
    /// The options for a group, whose header has a say where the command line has none.
    pub(crate) fn options_for(&self, group: &Group<'_>) -> anyhow::Result<Options> {
        let meta = &group.recordings[0].meta;
        let mut selection = group.selection.clone();
        // collectl has no plot columns for interrupts; it shows those of the CPUs instead.
        if self.display.plot && selection.contains(['j', 'J']) && !selection.contains('C') {
            selection.push('C');
        }
        let mut options = self.display.options(selection)?;
        if self.display.tcpfilt.is_none()
            && let Some(recorded) = meta.get("tcpfilt")
        {
            options.tcpfilt = recorded.to_owned();
            options.verbose |= recorded.contains('I') && !self.display.plot;
        }
        if self.display.nfsfilt.is_none()
            && let Some(recorded) = meta.get("nfsfilt")
        {
            options.nfsfilt = recorded.to_owned();
        }
        if self.display.passwd.is_none() && meta.origin() == "collectl" && options.shows('Z') {
            // Its recordings hold numbers alone.
            options.users = processes::users(Path::new("/etc/passwd")).unwrap_or_default();
        }
        self.display.settle_list(&mut options, true, false)?;
        options.stats = self.stats;
        options.statopts = self.statopts.clone().unwrap_or_default();
        Ok(options)
    }

    /// How to name the sensors of collectl's recordings.
    pub(crate) fn sensor_rules(&self) -> anyhow::Result<Option<Arc<SensorRules>>> {
        let (file, remap) = (self.envrules.as_deref(), self.display.envremap.as_deref());
        Ok(SensorRules::read(file, remap)?.map(Arc::new))
    }

    /// The digests that are made.
    pub(crate) fn digests(&self) -> Vec<&'static str> {
        let asked = [(self.procanalyze, "process"), (self.slabanalyze, "slab")];
        asked.iter().filter(|(asked, _)| *asked).map(|(_, name)| *name).collect()
    }

    /// Whether plot files are made.
    pub(crate) fn makes_plot_files(&self) -> bool {
        self.filename.is_some() && self.display.plot
    }

    /// Refuses what does not go together.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.display.home, "--home does not apply to play");
        let procopts = self.display.procopts.as_deref().unwrap_or_default();
        ensure!(
            !procopts.contains(['p', 't']),
            "--procopts p and t are for record; play shows what was recorded"
        );
        if let Some(letters) = &self.statopts
            && let Some(letter) = letters.chars().find(|letter| !"aisS".contains(*letter))
        {
            bail!("--statopts {letters}: unknown letter '{letter}'; known are a, i, s");
        }
        let formats = self.display.is_machine_format() || self.display.plot;
        let display = &self.display;
        let lines = display.plot || display.verbose || display.full || display.openmetrics;
        ensure!(
            self.diff.is_none() || !lines && display.export().is_none(),
            "--diff makes a table of its own, with --csv or --json if you like"
        );
        ensure!(
            !self.showcolheaders
                || !(display.json || display.openmetrics || display.export().is_some()),
            "--showcolheaders: that format has no column headings"
        );
        let digests = !self.digests().is_empty();
        ensure!(
            self.filename.is_none() || display.plot || digests,
            "-f is for plot files (-P), --procanalyze and --slabanalyze"
        );
        let other = display.is_machine_format() || display.lists.is_set() || self.diff.is_some();
        let filters = display.procfilt.is_some() || display.procstate.is_some();
        ensure!(!digests || !filters, "--procanalyze sums up all: leave filters out");
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

/// Runs the verb.
pub(crate) fn run(mut arguments: PlayArguments) -> anyhow::Result<ExitCode> {
    if arguments.display.lists.showtopopts {
        print!("{}", crate::display::lists::sort_types());
        return Ok(ExitCode::SUCCESS);
    }
    arguments.check()?;
    let nanoseconds = arguments.offsettime.checked_mul(1_000_000_000);
    arguments.offset_ns = nanoseconds.context("--offsettime: out of range")?;
    // Digests are files of the kind that plot files are: -oz and --sep mean the same.
    arguments.display.plot |= !arguments.digests().is_empty();
    let arguments = arguments;
    let period = Period::parse(arguments.from.as_deref(), arguments.thru.as_deref())?;
    let (recordings, complaints) = files::find(&arguments.files, arguments.pattern.as_deref())?;
    for complaint in &complaints {
        eprintln!("whit: {complaint}");
    }
    let code = show(&arguments, &period, &recordings)?;
    // What is left out is a loss, however well the rest is shown.
    Ok(if complaints.is_empty() { code } else { ExitCode::from(2) })
}

/// Shows what was found.
fn show(
    arguments: &PlayArguments,
    period: &Period,
    recordings: &[Recording],
) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    if arguments.showheader {
        show_headers(recordings, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(to) = &arguments.extract {
        extract::extract(recordings, period, to)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(pattern) = &arguments.grep {
        let letters = arguments.display.letters.as_deref().unwrap_or_default();
        let count = extract::grep(recordings, period, pattern, letters, &mut out)?;
        return Ok(if count == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS });
    }
    check_follow(arguments, recordings)?;
    let ours = |recording: &&Recording| recording.origin == Origin::Whit;
    if let Some(recording) = recordings.iter().find(ours) {
        let name = recording.path.display();
        ensure!(
            arguments.envrules.is_none(),
            "--envrules: {name} is whit's, and the rules are for what ipmitool tells; --envremap \
             changes names"
        );
    }
    let groups = run::groups(recordings, arguments)?;
    run::check_recorded(&groups)?;
    let shown: String = groups.iter().map(|group| group.selection.as_str()).collect();
    for note in arguments.display.idle_switches(&shown) {
        eprintln!("whit: {note}");
    }
    let outcome = match &arguments.diff {
        Some(periods) => diff::diff(&groups, periods, arguments, &mut out)?,
        None if arguments.showcolheaders => {
            let mut audience = run::Headings::new(arguments);
            run::play(&groups, period, arguments, &mut audience, &mut out)?
        }
        None if let (Some(path), false) = (&arguments.filename, arguments.digests().is_empty()) => {
            let mut audience = ToDigests::new(path, arguments.digests());
            run::play(&groups, period, arguments, &mut audience, &mut out)?
        }
        None if let Some(path) = &arguments.filename => {
            let mut audience = ToPlotFiles::new(path);
            run::play(&groups, period, arguments, &mut audience, &mut out)?
        }
        None => {
            let mut audience = OneView::new(arguments);
            run::play(&groups, period, arguments, &mut audience, &mut out)?
        }
    };
    out.flush()?;
    Ok(finish(&outcome, recordings, period))
}

/// collectl's compressed recordings cannot be followed: their text reaches the file in lumps.
fn check_follow(arguments: &PlayArguments, recordings: &[Recording]) -> anyhow::Result<()> {
    let Some(newest) = recordings.last().filter(|_| arguments.follow) else { return Ok(()) };
    let name = newest.path.display();
    ensure!(
        newest.origin == Origin::Whit || !is_compressed(&newest.path)?,
        "--follow: {name} is compressed, and collectl writes it in lumps; a plain one (collectl \
         -oz) can be followed"
    );
    Ok(())
}

/// Whether a file begins as gzip's do.
fn is_compressed(path: &Path) -> anyhow::Result<bool> {
    let mut start = [0; 2];
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(file.read(&mut start)? == 2 && start == [0x1f, 0x8b])
}

/// Tells on stderr what the output cannot say.
fn finish(outcome: &Outcome, recordings: &[Recording], period: &Period) -> ExitCode {
    for note in &outcome.notes {
        eprintln!("whit: {note}");
    }
    if outcome.failed {
        return ExitCode::from(2);
    }
    if outcome.frames == 0 {
        let why = match period.is_all() {
            true => "nothing to show: the first interval needs two samples",
            false => "no samples in this period; are --from and --thru right?",
        };
        match recordings {
            [only] => eprintln!("whit: {}: {why}", only.path.display()),
            _ => eprintln!("whit: {why}"),
        }
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

/// `--showheader`: collectl's lines as they stand, whit's facts in the same form.
fn show_headers(recordings: &[Recording], out: &mut dyn Write) -> anyhow::Result<()> {
    for recording in recordings {
        writeln!(out, "{}", recording.path.display())?;
        match (recording.origin, recording.meta.header_text()) {
            (Origin::Collectl, Some(text)) => out.write_all(text.as_bytes())?,
            _ => {
                for (key, value) in recording.meta.entries() {
                    writeln!(out, "# {key}: {}", sample::text::escape(value.as_bytes()))?;
                }
            }
        }
        writeln!(out)?;
    }
    out.flush()?;
    Ok(())
}
