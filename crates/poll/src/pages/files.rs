//! The files of a target's page: which are due, and writing them.
//!
//! A file is written under another name and renamed, so a browser never gets half a page.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{PageFacts, PagePeriod, Summary, comments, draw, page, summarize};
use crate::config::Global;
use crate::log_file::LogHistory;
use crate::{PollTarget, path_of};

/// Which pictures are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redraw {
    /// The day's, and those whose file is as old as one of their columns: as MRTG does.
    Due,
    /// All.
    All,
}

/// Writes pages into the folders of a configuration.
#[derive(Debug)]
pub struct PageWriter<'a> {
    /// Folders, intervals, languages.
    pub global: &'a Global,
    /// The zone of targets that have none of their own.
    pub time_zone: TimeZone,
    /// When pages are written, seconds since 1970.
    pub now_s: i64,
    /// Which pictures are made.
    pub redraw: Redraw,
}

/// A file of a page that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}")]
pub struct PageError {
    /// The file.
    pub path: PathBuf,
    /// What the kernel said.
    pub source: io::Error,
}

/// What a device says about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceFacts<'a> {
    /// How long it has been up.
    pub uptime: Option<&'a str>,
    /// The name.
    pub name: Option<&'a str>,
}

impl PageWriter<'_> {
    /// Where the page of a target is.
    #[must_use]
    pub fn page_path(&self, target: &PollTarget) -> PathBuf {
        let (folder, name) = (&self.global.html_dir, &target.name);
        path_of(&format!("{folder}{}{name}.{}", target.directory, target.extension))
    }

    /// Where a picture of a target is.
    #[must_use]
    pub fn picture_path(&self, target: &PollTarget, period: PagePeriod) -> PathBuf {
        let (folder, name) = (&self.global.image_dir, &target.name);
        let period = period.name();
        path_of(&format!("{folder}{}{name}-{period}.png", target.directory))
    }

    /// The zone of a target.
    #[must_use]
    pub fn time_zone(&self, target: &PollTarget) -> TimeZone {
        let own = target.time_zone.as_deref();
        let own = own.and_then(|name| TimeZone::get(name).or_else(|_| TimeZone::posix(name)).ok());
        own.unwrap_or_else(|| self.time_zone.clone())
    }

    /// Writes the page of a target and the pictures that are due.  Returns the numbers of the
    /// page; thresholds look at the current ones of the day.
    ///
    /// # Errors
    /// If a file cannot be written; what was written before it stays.
    pub fn write(
        &self,
        target: &PollTarget,
        history: &LogHistory,
        device: DeviceFacts<'_>,
    ) -> Result<[Option<Summary>; 4], PageError> {
        let zone = self.time_zone(target);
        let page_path = self.page_path(target);
        let earlier = std::fs::read(&page_path).unwrap_or_default();
        let mut summaries = comments::read(&String::from_utf8_lossy(&earlier));
        for (number, period) in PagePeriod::ALL.into_iter().enumerate() {
            let path = self.picture_path(target, period);
            if period.is_in(&target.suppress) || !self.is_due(&path, period) {
                continue;
            }
            let drawn = draw(target, history, period, self.now_s, &zone);
            summaries[number] = Some(drawn.summary);
            put(&path, &drawn.png)?;
            let minutes = match period {
                PagePeriod::Day => f64::from(self.global.interval_s) / 60.0,
                _ => (period.step() / 60) as f64,
            };
            self.write_expiry(&path, minutes)?;
        }
        let facts = PageFacts {
            now_s: self.now_s,
            time_zone: &zone,
            uptime: device.uptime,
            device_name: device.name,
            summaries,
        };
        put(&page_path, page(self.global, target, &facts).as_bytes())?;
        self.write_expiry(&page_path, f64::from(self.global.interval_s) / 60.0)?;
        Ok(summaries)
    }

    /// The numbers of the day, where no page is written (`--log-only`).
    #[must_use]
    pub fn day(&self, target: &PollTarget, history: &LogHistory) -> Summary {
        summarize(target, history, PagePeriod::Day, self.now_s, &self.time_zone(target))
    }

    fn is_due(&self, path: &Path, period: PagePeriod) -> bool {
        if self.redraw == Redraw::All || period == PagePeriod::Day {
            return true;
        }
        let written = std::fs::metadata(path).and_then(|facts| facts.modified());
        let written = written.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        written.is_none_or(|time| self.now_s - time.as_secs() as i64 >= period.step())
    }

    /// `FILE.meta`, with the time until which a server may keep the file.
    fn write_expiry(&self, path: &Path, minutes: f64) -> Result<(), PageError> {
        if !self.global.writes_expires {
            return Ok(());
        }
        let at = self.now_s + (minutes * 60.0) as i64 + 5;
        let at = Timestamp::from_second(at).unwrap_or_default().to_zoned(TimeZone::UTC);
        let mut meta = path.as_os_str().to_owned();
        meta.push(".meta");
        let text = at.strftime("Expires: %a, %d %b %Y %H:%M:%S GMT\n").to_string();
        put(Path::new(&meta), text.as_bytes())
    }
}

fn put(path: &Path, content: &[u8]) -> Result<(), PageError> {
    // Several pollers may write the pages of one folder.
    let ending = format!(".tmp_{}", std::process::id());
    let done = whole_file::Replacement::default().ending(&ending).write(path, content);
    done.map_err(|source| PageError { path: path.to_owned(), source })
}
