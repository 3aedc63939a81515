//! The classic pages of MRTG: an HTML page and four pictures for each target.
//!
//! Pictures come from a [`LogHistory`](crate::log_file::LogHistory): of a `.log` file, or of a
//! round-robin database (`rrd_history.rs`), for which MRTG itself makes no page.

mod banner;
mod columns;
mod comments;
mod files;
mod font;
mod number;
mod page;
mod picture;
mod raster;
mod rrd_history;
mod scale;

pub use banner::write_banner;
pub use columns::Summary;
pub use files::{DeviceFacts, PageError, PageWriter, Redraw};
pub use page::{PageFacts, page};
pub use picture::{DrawnPicture, draw, summarize};
pub use rrd_history::rrd_history;

use crate::Periods;
use crate::log_file::{DAY, MONTH, WEEK, YEAR};

/// What a picture covers, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PagePeriod {
    /// Columns of 5 minutes.
    Day,
    /// Columns of 30 minutes.
    Week,
    /// Columns of 2 hours.
    Month,
    /// Columns of a day.
    Year,
}

impl PagePeriod {
    /// All of them, as they stand on a page.
    pub const ALL: [PagePeriod; 4] =
        [PagePeriod::Day, PagePeriod::Week, PagePeriod::Month, PagePeriod::Year];

    /// Seconds of a column.
    #[must_use]
    pub fn step(self) -> i64 {
        match self {
            PagePeriod::Day => DAY.step,
            PagePeriod::Week => WEEK.step,
            PagePeriod::Month => MONTH.step,
            PagePeriod::Year => YEAR.step,
        }
    }

    /// `day`, as in the names of files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PagePeriod::Day => "day",
            PagePeriod::Week => "week",
            PagePeriod::Month => "month",
            PagePeriod::Year => "year",
        }
    }

    /// `d`, as in the configuration and in the comments of pages.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            PagePeriod::Day => 'd',
            PagePeriod::Week => 'w',
            PagePeriod::Month => 'm',
            PagePeriod::Year => 'y',
        }
    }

    /// Whether a setting is for this picture.
    #[must_use]
    pub fn is_in(self, periods: &Periods) -> bool {
        match self {
            PagePeriod::Day => periods.day,
            PagePeriod::Week => periods.week,
            PagePeriod::Month => periods.month,
            PagePeriod::Year => periods.year,
        }
    }
}
