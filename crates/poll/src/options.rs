//! Small typed values of a target's settings: its options, periods, colours, row counts.

use std::borrow::Cow;

/// The most pixels of a picture: far above `XSize` 600 and any scale that is readable.
pub(crate) const PIXELS_MAX: i64 = 1 << 24;

/// `Options[…]`: one flag a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct TargetOptions {
    /// Time goes from left to right.
    pub growright: bool,
    /// Show bits (8 a byte).
    pub bits: bool,
    /// No uptime and device name on the page.
    pub noinfo: bool,
    /// The counter starts at 0 after each reading.
    pub absolute: bool,
    /// The value is a level.
    pub gauge: bool,
    /// No percentages.
    pub nopercent: bool,
    /// Show averages of five-minute maxima.
    pub avgpeak: bool,
    /// A counter that may fall; round-robin databases only.
    pub derive: bool,
    /// Print whole numbers.
    pub integer: bool,
    /// Show values per hour.
    pub perhour: bool,
    /// Show values per minute.
    pub perminute: bool,
    /// Pictures have a transparent background.
    pub transparent: bool,
    /// Show in as per cent of out.
    pub dorelpercent: bool,
    /// Unknown values count as 0.
    pub unknaszero: bool,
    /// Draw values of 0 too.
    pub withzeroes: bool,
    /// No frame around a picture.
    pub noborder: bool,
    /// No arrow at the time axis.
    pub noarrow: bool,
    /// Do not show in.
    pub noi: bool,
    /// Do not show out.
    pub noo: bool,
    /// No banner at the foot of the page.
    pub nobanner: bool,
    /// No legend of colours.
    pub nolegend: bool,
    /// A logarithmic axis.
    pub logscale: bool,
    /// A second mean of the values above the mean.
    pub secondmean: bool,
    /// A time stamp in the upper right corner of pictures.
    pub pngdate: bool,
    /// The name of the target in pictures.
    pub printrouter: bool,
    /// An exponential axis.
    pub expscale: bool,
}

impl TargetOptions {
    /// The flag of a word, if MRTG knows it.
    pub fn flag(&mut self, word: &str) -> Option<&mut bool> {
        Some(match word {
            "growright" => &mut self.growright,
            "bits" => &mut self.bits,
            "noinfo" => &mut self.noinfo,
            "absolute" => &mut self.absolute,
            "gauge" => &mut self.gauge,
            "nopercent" => &mut self.nopercent,
            "avgpeak" => &mut self.avgpeak,
            "derive" => &mut self.derive,
            "integer" => &mut self.integer,
            "perhour" => &mut self.perhour,
            "perminute" => &mut self.perminute,
            "transparent" => &mut self.transparent,
            "dorelpercent" => &mut self.dorelpercent,
            "unknaszero" => &mut self.unknaszero,
            "withzeroes" => &mut self.withzeroes,
            "noborder" => &mut self.noborder,
            "noarrow" => &mut self.noarrow,
            "noi" => &mut self.noi,
            "noo" => &mut self.noo,
            "nobanner" => &mut self.nobanner,
            "nolegend" => &mut self.nolegend,
            "logscale" => &mut self.logscale,
            "secondmean" => &mut self.secondmean,
            "pngdate" => &mut self.pngdate,
            "printrouter" => &mut self.printrouter,
            "expscale" => &mut self.expscale,
            _ => return None,
        })
    }
}

/// Which of the four pictures a setting (`Unscaled`, `WithPeak`, `Suppress`) is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Periods {
    /// The day's.
    pub day: bool,
    /// The week's.
    pub week: bool,
    /// The month's.
    pub month: bool,
    /// The year's.
    pub year: bool,
}

/// One of `Colours[…]`: a name for the legend and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendColour {
    /// As the legend names it.
    pub name: Cow<'static, str>,
    /// `#rrggbb`, as written.
    pub rgb: Cow<'static, str>,
}

impl LegendColour {
    /// Red, green and blue.
    pub fn components(&self) -> [u8; 3] {
        components(&self.rgb)
    }
}

/// Red, green and blue of `#rrggbb`.
pub(crate) fn components(rgb: &str) -> [u8; 3] {
    let digits = rgb.as_bytes();
    std::array::from_fn(|part| {
        let at = |place: usize| {
            let digit = digits.get(place).copied().map_or('0', char::from);
            u8::try_from(digit.to_digit(16).unwrap_or(0)).unwrap_or(0)
        };
        at(1 + 2 * part) * 16 + at(2 + 2 * part)
    })
}

/// Where a picture has its time stamp (`TimeStrPos`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampPosition {
    /// Nowhere.
    #[default]
    None,
    /// Left, above.
    LeftUpper,
    /// Right, above.
    RightUpper,
    /// Left, below.
    LeftLower,
    /// Right, below.
    RightLower,
}

/// Rows of a new round-robin database, as written; `None` for MRTG's own numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// `RRDRowCount`: rows of one step.
    pub of_step: Option<String>,
    /// `RRDRowCount30m`.
    pub of_30_minutes: Option<String>,
    /// `RRDRowCount2h`.
    pub of_2_hours: Option<String>,
    /// `RRDRowCount1d`.
    pub of_1_day: Option<String>,
}

/// `Clonedirectory[…]`: a second folder for the target's files, and their name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneFolder {
    /// The folder, below the one of logs.
    pub folder: String,
    /// Another name for the target, in lower case.
    pub name: Option<String>,
}
