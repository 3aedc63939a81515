//! What a tool is to the loop that reads samples.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feed::SadcComment;
use sample::{Meta, SourceDef};

use crate::SysstatError;
use crate::daily_file::FileAction;
use crate::disk_folder::DiskFolder;
use crate::machine::Clock;
use crate::saving::Saving;
use crate::values::Span;
use crate::words::Pace;

/// What stays the same during a report.
pub(crate) struct Facts<'a> {
    /// The machine.
    pub(crate) meta: &'a Meta,
    /// The folder below which `/sys` is; `None` for a recording.
    pub(crate) root: Option<&'a Path>,
    /// The folder below which `/dev` is, if the disks are those of this host.
    pub(crate) devices: Option<&'a Path>,
    /// How times are written.
    pub(crate) clock: &'a Clock,
    /// The same in the zone of this machine, which need not be that of the recording.
    pub(crate) here: &'a Clock,
    /// After how many lines a heading is repeated; `None` for never.
    pub(crate) screen_lines: Option<usize>,
    /// How many users are logged in, if that can be known.
    pub(crate) users: Option<usize>,
}

/// What a command line asks for.
pub(crate) struct ReportRequest {
    /// The report.
    pub(crate) report: Box<dyn Report>,
    /// How often.
    pub(crate) pace: Pace,
    /// A recording in place of this host.
    pub(crate) recording: Recording,
    /// Whether the first report is of the time since boot.
    pub(crate) since_boot: bool,
    /// In a recording: from when and until when.
    pub(crate) from: Option<String>,
    /// See `from`.
    pub(crate) thru: Option<String>,
    /// The day of a recording to which `from` and `thru` belong: so many days before today.
    pub(crate) days_ago: Option<u16>,
    /// Whether comments within a recording are shown.
    pub(crate) has_comments: bool,
    /// A daily file that is written of this host.
    pub(crate) saving: Option<Saving>,
    /// A folder with disks of other programs than the kernel.
    pub(crate) disk_folder: Option<DiskFolder>,
    /// What is done with a daily file as a whole, in place of the report.
    pub(crate) whole_file: Option<FileAction>,
    /// A program that is started, and whose end is that of the report.
    pub(crate) program: Option<Vec<String>>,
}

/// Where readings come from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Recording {
    /// This host.
    #[default]
    Host,
    /// This recording, or folder of them.
    File(PathBuf),
    /// What the service has recorded.
    Service,
}

impl ReportRequest {
    /// A report of this host.
    pub(crate) fn new(report: Box<dyn Report>, pace: Pace) -> Self {
        let recording = Recording::Host;
        ReportRequest {
            report,
            pace,
            recording,
            since_boot: false,
            from: None,
            thru: None,
            days_ago: None,
            has_comments: false,
            saving: None,
            disk_folder: None,
            whole_file: None,
            program: None,
        }
    }
}

/// A tool at work.
pub(crate) trait Report {
    /// The sources that it reads.
    fn sources(&self) -> Vec<&'static str>;

    /// Whether a recording must have all of them: with `-A` what it has is shown.
    fn needs_all(&self) -> bool {
        true
    }

    /// Whether the threads of processes are read, too.
    fn threads(&self) -> bool {
        false
    }

    /// The only processes that are read; none if all are.
    fn named_processes(&self) -> Vec<i32> {
        Vec::new()
    }

    /// The program of the command line was started as this process.
    fn started(&mut self, _process: u32) {}

    /// What stands before the first interval.
    fn begin(&mut self, _facts: &Facts<'_>, _now_ns: i64, _out: &mut String) {}

    /// Shows an interval, or with nothing at its start the time since boot.
    ///
    /// # Errors
    /// What was asked for is not there.
    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError>;

    /// Shows the averages of all intervals.
    fn averages(&mut self, _facts: &Facts<'_>, _span: &Span<'_>, _out: &mut String) {}

    /// The machine was started again.
    fn restart(&mut self, _facts: &Facts<'_>, _now_ns: i64, _out: &mut String) {}

    /// A comment within a recording, whose sources `defs` are.
    fn comment(
        &mut self,
        _facts: &Facts<'_>,
        _defs: &[Arc<SourceDef>],
        _comment: &SadcComment,
        _out: &mut String,
    ) {
    }

    /// Whether a report of a recording without readings in the period is one, too: an empty document.
    fn is_whole_when_empty(&self) -> bool {
        false
    }

    /// Whether the count of a recording's reports begins anew where the machine was started again.
    fn counts_anew(&self) -> bool {
        false
    }

    /// What stands at the end.
    fn end(&mut self, _out: &mut String) {}
}
