//! Every option of `rrdtool graph` and `graphv`, as a plain struct.
//!
//! [`crate::settings_line`] reads them from a command line; other callers fill them in themselves.

use crate::font::FontChoice;
use crate::picture::Rgba;

/// What a text is for: each role has a font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// What every other role begins with.
    Default,
    /// The title.
    Title,
    /// Labels of the axes.
    Axis,
    /// Names of the vertical axes.
    Unit,
    /// The legend.
    Legend,
    /// The watermark.
    Watermark,
}

impl TextRole {
    /// By its name in `--font`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "DEFAULT" => Self::Default,
            "TITLE" => Self::Title,
            "AXIS" => Self::Axis,
            "UNIT" => Self::Unit,
            "LEGEND" => Self::Legend,
            "WATERMARK" => Self::Watermark,
            _ => return None,
        })
    }
}

/// What a colour of the frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorRole {
    /// The area of the graph itself.
    Canvas,
    /// Around it.
    Back,
    /// Left and top border.
    ShadeA,
    /// Right and bottom border.
    ShadeB,
    /// Minor grid.
    Grid,
    /// Major grid.
    MajorGrid,
    /// Texts.
    Font,
    /// Arrow heads of the axes.
    Arrow,
    /// The axes.
    Axis,
    /// Around the colours of the legend.
    Frame,
}

impl ColorRole {
    /// By its name in `--color`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "CANVAS" => Self::Canvas,
            "BACK" => Self::Back,
            "SHADEA" => Self::ShadeA,
            "SHADEB" => Self::ShadeB,
            "GRID" => Self::Grid,
            "MGRID" => Self::MajorGrid,
            "FONT" => Self::Font,
            "ARROW" => Self::Arrow,
            "AXIS" => Self::Axis,
            "FRAME" => Self::Frame,
            _ => return None,
        })
    }
}

/// The colours before `--color`, in the order of [`ColorRole`].
const COLORS: [Rgba; 10] = [
    Rgba::new(1.0, 1.0, 1.0, 1.0),
    Rgba::new(0.95, 0.95, 0.95, 1.0),
    Rgba::new(0.81, 0.81, 0.81, 1.0),
    Rgba::new(0.62, 0.62, 0.62, 1.0),
    Rgba::new(0.56, 0.56, 0.56, 0.75),
    Rgba::new(0.87, 0.31, 0.31, 0.60),
    Rgba::new(0.0, 0.0, 0.0, 1.0),
    Rgba::new(0.50, 0.12, 0.12, 1.0),
    Rgba::new(0.12, 0.12, 0.12, 1.0),
    Rgba::new(0.0, 0.0, 0.0, 1.0),
];

/// Where the legend stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegendPosition {
    /// Above the graph.
    North,
    /// Left of it.
    West,
    /// Below it.
    South,
    /// Right of it.
    East,
}

/// The order of the legend's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegendDirection {
    /// The first on top.
    TopDown,
    /// The last on top.
    BottomUp,
    /// The last on top, but comments before and after all other marks stay.
    BottomUpKeepComments,
}

/// How the values of an axis are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisFormatter {
    /// As numbers.
    Numeric,
    /// As times, from seconds since the epoch.
    Timestamp,
    /// As durations, from milliseconds.
    Duration,
}

/// A second vertical axis: its values are those of the left one times `scale` plus `shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RightAxis {
    /// Not 0.
    pub scale: f64,
    /// Added to the scaled value.
    pub shift: f64,
}

/// A unit of time of the horizontal grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days.
    Day,
    /// Weeks.
    Week,
    /// Months.
    Month,
    /// Years.
    Year,
}

impl TimeUnit {
    /// By its name in `--x-grid`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "SECOND" => Self::Second,
            "MINUTE" => Self::Minute,
            "HOUR" => Self::Hour,
            "DAY" => Self::Day,
            "WEEK" => Self::Week,
            "MONTH" => Self::Month,
            "YEAR" => Self::Year,
            _ => return None,
        })
    }
}

/// Lines and labels of the time axis: each pair is a unit and how many of it lie between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeGrid {
    /// Minor lines.
    pub minor: (TimeUnit, i64),
    /// Major lines.
    pub major: (TimeUnit, i64),
    /// Labels.
    pub label: (TimeUnit, i64),
    /// A label stands in the middle of this many seconds.
    pub span_seconds: i64,
    /// By strftime(3).
    pub format: String,
}

/// The grid of the time axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XGrid {
    /// Chosen by seconds per pixel.
    Automatic,
    /// No lines and labels.
    Absent,
    /// As given.
    Given(TimeGrid),
}

/// The grid of the value axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum YGrid {
    /// Chosen by the range.
    Automatic,
    /// No lines and labels.
    Absent,
    /// As given.
    Given {
        /// Between two lines.
        step: f64,
        /// Lines from one label to the next.
        label_factor: i32,
    },
}

/// The file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// Pixels.
    Png,
    /// Vectors.
    Svg,
    /// Encapsulated PostScript.
    Eps,
    /// A page.
    Pdf,
    /// Values as XML.
    Xml,
    /// Values as XML, with numbered elements.
    XmlEnum,
    /// Values as JSON.
    Json,
    /// Values as JSON, with times.
    JsonTime,
    /// Values separated by commas.
    Csv,
    /// Values separated by tabs.
    Tsv,
    /// Values separated by semicolons.
    Ssv,
}

impl ImageFormat {
    /// By its name in `--imgformat`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "PNG" => Self::Png,
            "SVG" => Self::Svg,
            "EPS" => Self::Eps,
            "PDF" => Self::Pdf,
            "XML" => Self::Xml,
            "XMLENUM" => Self::XmlEnum,
            "JSON" => Self::Json,
            "JSONTIME" => Self::JsonTime,
            "CSV" => Self::Csv,
            "TSV" => Self::Tsv,
            "SSV" => Self::Ssv,
            _ => return None,
        })
    }

    /// Whether it is a picture, not data.
    #[must_use]
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Png | Self::Svg | Self::Eps | Self::Pdf)
    }
}

/// How texts are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FontMode {
    /// Hinted, soft edges.
    Normal,
    /// Slightly hinted, soft edges.
    Light,
    /// Hard edges.
    Mono,
}

/// All options of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The width of the graph, or of the whole picture with `full_size`, in pixels.
    pub width: i64,
    /// The height of the graph, or of the whole picture with `full_size`, in pixels.
    pub height: i64,
    /// `--full-size-mode`.
    pub full_size: bool,
    /// `--only-graph`.
    pub only_graph: bool,
    /// `--start`, as it was written.
    pub start: String,
    /// `--end`, as it was written.
    pub end: String,
    /// `--step`, in seconds.
    pub step: i64,
    /// `--title`.
    pub title: String,
    /// `--vertical-label`.
    pub vertical_label: String,
    /// `--watermark`.
    pub watermark: String,
    /// `--lower-limit`.
    pub lower_limit: Option<f64>,
    /// `--upper-limit`.
    pub upper_limit: Option<f64>,
    /// `--rigid`.
    pub rigid: bool,
    /// `--allow-shrink`.
    pub allow_shrink: bool,
    /// `--utc`: times are those of UTC, not of the local zone.
    pub utc: bool,
    /// `--add-jsontime`: a time in each row of JSON.
    pub json_time: bool,
    /// `--alt-autoscale`.
    pub alt_autoscale: bool,
    /// `--alt-autoscale-min`.
    pub alt_autoscale_min: bool,
    /// `--alt-autoscale-max`.
    pub alt_autoscale_max: bool,
    /// Lines are moved to whole pixels (not `--no-gridfit`).
    pub grid_fit: bool,
    /// `--x-grid`.
    pub x_grid: XGrid,
    /// `--week-fmt`.
    pub week_format: String,
    /// `--y-grid`.
    pub y_grid: YGrid,
    /// `--left-axis-formatter`.
    pub left_axis_formatter: AxisFormatter,
    /// `--left-axis-format`.
    pub left_axis_format: String,
    /// `--right-axis`.
    pub right_axis: Option<RightAxis>,
    /// `--right-axis-label`.
    pub right_axis_label: String,
    /// `--right-axis-formatter`.
    pub right_axis_formatter: AxisFormatter,
    /// `--right-axis-format`.
    pub right_axis_format: String,
    /// `--alt-y-grid`.
    pub alt_y_grid: bool,
    /// `--no-minor`.
    pub no_minor: bool,
    /// `--logarithmic`.
    pub logarithmic: bool,
    /// `--units-exponent`.
    pub units_exponent: Option<i32>,
    /// `--units-length`, in characters.
    pub units_length: i32,
    /// Room for labels is kept even without a grid: `--units-length` was given.
    pub keep_label_room: bool,
    /// `--units=si`.
    pub units_si: bool,
    /// `--no-legend`.
    pub no_legend: bool,
    /// `--force-rules-legend`.
    pub force_rules_legend: bool,
    /// `--legend-position`.
    pub legend_position: LegendPosition,
    /// `--legend-direction`.
    pub legend_direction: LegendDirection,
    /// `--dynamic-labels`.
    pub dynamic_labels: bool,
    /// `--disable-rrdtool-tag`.
    pub no_tag: bool,
    /// `--lazy`.
    pub lazy: bool,
    /// `--daemon`.
    pub daemon: Option<String>,
    /// `--imginfo`.
    pub image_info: Option<String>,
    /// `--imgformat`.
    pub format: ImageFormat,
    /// `--color`, in the order of [`ColorRole`].
    pub colors: [Rgba; 10],
    /// `--font`, in the order of [`TextRole`].
    pub fonts: [FontChoice; 6],
    /// `--font-render-mode`.
    pub font_mode: FontMode,
    /// Soft edges of lines and areas (not `--graph-render-mode mono`).
    pub smooth_lines: bool,
    /// `--grid-dash`: pixels on and off.
    pub grid_dash: (f64, f64),
    /// `--border`, in pixels.
    pub border: i64,
    /// `--zoom`.
    pub zoom: f64,
    /// `--tabwidth`, in pixels.
    pub tab_width: f64,
    /// `--pango-markup`.
    pub markup: bool,
    /// `--slope-mode`.
    pub slope_mode: bool,
    /// `--base`: 1000 or 1024.
    pub base: i64,
    /// `--use-nan-for-all-missing-data`.
    pub missing_is_unknown: bool,
    /// `--graph-type` is not `time`.
    pub is_xy: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            width: 400,
            height: 100,
            full_size: false,
            only_graph: false,
            start: "end-24h".to_owned(),
            end: "now".to_owned(),
            step: 0,
            title: String::new(),
            vertical_label: String::new(),
            watermark: String::new(),
            lower_limit: None,
            upper_limit: None,
            rigid: false,
            allow_shrink: false,
            utc: false,
            json_time: false,
            alt_autoscale: false,
            alt_autoscale_min: false,
            alt_autoscale_max: false,
            grid_fit: true,
            x_grid: XGrid::Automatic,
            week_format: "Week %V".to_owned(),
            y_grid: YGrid::Automatic,
            left_axis_formatter: AxisFormatter::Numeric,
            left_axis_format: String::new(),
            right_axis: None,
            right_axis_label: String::new(),
            right_axis_formatter: AxisFormatter::Numeric,
            right_axis_format: String::new(),
            alt_y_grid: false,
            no_minor: false,
            logarithmic: false,
            units_exponent: None,
            units_length: 6,
            keep_label_room: false,
            units_si: false,
            no_legend: false,
            force_rules_legend: false,
            legend_position: LegendPosition::South,
            legend_direction: LegendDirection::TopDown,
            dynamic_labels: false,
            no_tag: false,
            lazy: false,
            daemon: None,
            image_info: None,
            format: ImageFormat::Png,
            colors: COLORS,
            fonts: [8.0, 9.0, 7.0, 8.0, 8.0, 5.5].map(FontChoice::mono),
            font_mode: FontMode::Normal,
            smooth_lines: true,
            grid_dash: (1.0, 1.0),
            border: 2,
            zoom: 1.0,
            tab_width: 40.0,
            markup: false,
            slope_mode: false,
            base: 1000,
            missing_is_unknown: false,
            is_xy: false,
        }
    }
}

impl Settings {
    /// The font of a role.
    #[must_use]
    pub const fn font(&self, role: TextRole) -> FontChoice {
        self.fonts[role as usize]
    }

    /// The colour of a role.
    #[must_use]
    pub const fn color(&self, role: ColorRole) -> Rgba {
        self.colors[role as usize]
    }

    /// Sets the family that all texts begin with: what `RRD_DEFAULT_FONT` says.
    pub fn set_default_family(&mut self, description: &str) {
        for font in &mut self.fonts {
            let points = font.points;
            font.describe(description);
            font.points = points;
        }
    }

    /// Whether the time axis has lines and labels.
    #[must_use]
    pub fn has_x_grid(&self) -> bool {
        self.x_grid != XGrid::Absent
    }

    /// Whether the value axis has lines and labels.
    #[must_use]
    pub fn has_y_grid(&self) -> bool {
        self.y_grid != YGrid::Absent
    }
}
