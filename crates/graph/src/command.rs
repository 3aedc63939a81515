//! A whole command line of `graph` or `graphv`: options and description in, a file and facts out.
//!
//! Joins the parts of this crate in RRDtool's order, so that of two errors the same one is named.
//! Opens no file: series come through a [`SeriesSource`], and the caller writes the result.

use calendar::{CivilZone, UTC};

use crate::chart::{self, ChartError, Fact};
use crate::clock::strfduration;
use crate::description::{Description, DescriptionError, GraphTimes};
use crate::elements::Element;
use crate::layout;
use crate::marks::marks;
use crate::picture::Picture;
use crate::png::PIXELS_MAX;
use crate::print::{PrintError, Target, print};
use crate::series::{
    Data, DataError, SeriesRequest, SeriesSource, SeriesTable, Span, VALUES_MAX, WallClock,
    evaluate,
};
use crate::settings::{AxisFormatter, ImageFormat, Settings, XGrid};
use crate::settings_line::{self, SettingsError, leading_integer, read};
use crate::xport::{self, XportError, XportFormat};

/// The first second of the tenth year, as RRDtool counts: graphs begin after it.
const EARLIEST_S: i64 = 3600 * 24 * 365 * 10;

/// What is wrong with a command, in the words of RRDtool.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum GraphError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("missing filename")]
    NoFile,
    #[error("{0}")]
    Time(#[from] time_words::ResolveError),
    #[error("the first entry to fetch should be after 1980 ({0})")]
    TooEarly(i64),
    #[error("start ({0}) should be less than end ({1})")]
    Backwards(i64, i64),
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error(transparent)]
    Xport(#[from] XportError),
    #[error("Could not save png to '{0}'")]
    NotWritten(String),
    #[error("a picture of more than {PIXELS_MAX} pixels")]
    TooLarge,
}

/// A command that has been read.
#[derive(Debug, Clone)]
pub struct GraphCommand {
    /// The options.
    pub settings: Settings,
    /// The file to write; `-` is the standard output.
    pub file_name: String,
    /// Start and end, in seconds since the epoch.
    pub times: (i64, i64),
    /// What is drawn and printed.
    pub description: Description,
    /// Whether `graph` prints width and height: not if `-f` or `--imginfo` is a word of its own.
    pub shows_size: bool,
}

/// What a command makes.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphResult {
    /// Names and values as `graphv` lists them: `print[0]`, `graph_left` …
    pub facts: Vec<(String, Fact)>,
    /// Width and height of the picture; 0 if there is none.
    pub size: (i64, i64),
    /// The bytes of the picture or table; `None` if nothing is drawn.
    pub file: Option<Vec<u8>>,
}

impl GraphCommand {
    /// Reads the arguments after `graph` or `graphv`.  `default_font` is that of
    /// `RRD_DEFAULT_FONT`.
    ///
    /// # Errors
    /// The first argument that is wrong.
    pub fn parse(
        arguments: &[String],
        default_font: Option<&str>,
        environment: &WallClock<'_>,
    ) -> Result<Self, GraphError> {
        let (now_s, zone) = (environment.now_s, environment.zone);
        let check_time = |text: &str| {
            time_words::parse(text, now_s, zone).map(|_| ()).map_err(|error| error.to_string())
        };
        let (mut settings, others) = settings_line::parse(arguments, default_font, &check_time)?;
        let environment = &in_zone(&settings, environment);
        let zone = environment.zone;
        let (start, end) = times(&settings.start, &settings.end, environment)?;
        settings.step = settings.step.max((end - start) / settings.width);
        let Some((file_name, elements)) = others.split_first() else {
            return Err(GraphError::NoFile);
        };
        let context = GraphTimes { start_s: start, end_s: end, now_s, zone };
        let description = Description::parse(elements.iter().map(String::as_str), &context)?;
        let shows_size = !arguments.iter().any(|word| word == "-f" || word == "--imginfo");
        let (file_name, times) = (file_name.clone(), (start, end));
        Ok(Self { settings, file_name, times, description, shows_size })
    }

    /// Whether `--lazy` leaves an existing file as it is: it is younger than the time of a pixel.
    /// `head` is its beginning, at least 24 bytes.
    #[must_use]
    pub fn is_current(&self, modified_s: i64, head: &[u8], now_s: i64) -> bool {
        let pixel_s = (self.times.1 - self.times.0) / self.settings.width;
        let is_whole = self.settings.format != ImageFormat::Png || crate::png::size(head).is_some();
        self.settings.lazy && now_s.saturating_sub(modified_s) <= pixel_s && is_whole
    }

    /// Fetches the data, and draws or writes them.  A picture that [`Self::is_current`] is only
    /// measured.
    ///
    /// # Errors
    /// If the data, a format or the picture is refused.
    pub fn run(
        &self,
        source: &mut dyn SeriesSource,
        environment: &WallClock<'_>,
        is_current: bool,
    ) -> Result<GraphResult, GraphError> {
        let environment = &in_zone(&self.settings, environment);
        let (start_s, end_s) = self.times;
        let span = Span { start_s, end_s, step_s: self.settings.step };
        let mut source = WithDaemon { source, daemon: self.settings.daemon.as_deref() };
        let mut lenient = Lenient { source: &mut source, description: &self.description };
        let source: &mut dyn SeriesSource =
            if self.settings.missing_is_unknown { &mut lenient } else { &mut *lenient.source };
        let data = evaluate(&self.description, source, span, environment)?;
        let target =
            if self.settings.format.is_picture() { Target::Picture } else { Target::Table };
        let base = self.settings.base as f64;
        let printed = print(&self.description, &data, base, target, environment)?;
        let mut facts = print_facts(&self.description, &printed);
        if target == Target::Table {
            return self.table(facts, &data, span, &printed);
        }
        let marks = marks(&self.description, &data, &printed);
        if !chart::is_graphic(&marks) {
            facts.extend(self.image_info(0, 0));
            return Ok(GraphResult { facts, size: (0, 0), file: None });
        }
        if is_current {
            let geometry = layout::measure(&marks, &self.settings, self.times);
            let geometry = geometry.map_err(ChartError::from)?;
            facts.extend(chart::geometry_facts(&geometry, self.times));
            let size = (geometry.image_width, geometry.image_height);
            return Ok(GraphResult { facts, size, file: None });
        }
        self.check_axis_formats()?;
        let chart = chart::draw(&marks, &self.settings, self.times, environment.zone)?;
        facts.extend(chart.facts.iter().cloned());
        let size = (chart.geometry.image_width, chart.geometry.image_height);
        facts.extend(self.image_info(size.0, size.1));
        let file = chart.file(self.settings.format).ok_or(GraphError::TooLarge)?;
        Ok(GraphResult { facts, size, file: Some(file) })
    }

    /// The picture, to be joined with others ([`Picture::stacked`]); `None` if nothing is drawn.
    ///
    /// # Errors
    /// If the data, a format or the picture is refused.
    pub fn picture(
        &self,
        source: &mut dyn SeriesSource,
        environment: &WallClock<'_>,
    ) -> Result<Option<Picture>, GraphError> {
        let environment = &in_zone(&self.settings, environment);
        let (start_s, end_s) = self.times;
        let span = Span { start_s, end_s, step_s: self.settings.step };
        let data = evaluate(&self.description, source, span, environment)?;
        let base = self.settings.base as f64;
        let printed = print(&self.description, &data, base, Target::Picture, environment)?;
        let marks = marks(&self.description, &data, &printed);
        if !chart::is_graphic(&marks) {
            return Ok(None);
        }
        let chart = chart::draw(&marks, &self.settings, self.times, environment.zone)?;
        Ok(Some(chart.picture))
    }

    /// The text of `--imginfo` for a picture of some size; an empty one is none.
    fn image_info(&self, width: i64, height: i64) -> Option<(String, Fact)> {
        let format = self.settings.image_info.as_ref().filter(|format| !format.is_empty())?;
        let zoomed = |pixels: i64| (self.settings.zoom * pixels as f64) as i64;
        let text = image_info(format, &self.file_name, zoomed(width), zoomed(height));
        Some(("image_info".to_owned(), Fact::Text(text)))
    }

    /// Refuses formats of durations that label an axis and are none.
    fn check_axis_formats(&self) -> Result<(), GraphError> {
        let settings = &self.settings;
        let left = (settings.left_axis_formatter, &settings.left_axis_format);
        let right = (settings.right_axis_formatter, &settings.right_axis_format);
        let axes = [Some(left), settings.right_axis.map(|_| right)];
        for (formatter, format) in axes.into_iter().flatten() {
            if formatter == AxisFormatter::Duration {
                strfduration(format, 0.0).map_err(PrintError::from)?;
            }
        }
        Ok(())
    }

    /// What `graph`, or with `verbose` `graphv`, writes to the standard output.  The picture or table
    /// is in it if the file is `-`.
    #[must_use]
    pub fn output(&self, result: &GraphResult, verbose: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let file = result.file.as_deref().filter(|_| self.file_name == "-");
        if verbose {
            for (name, fact) in &result.facts {
                out.extend(format!("{name} = {fact}\n").bytes());
            }
            if let Some(file) = file {
                out.extend(format!("image = BLOB_SIZE:{}\n", file.len()).bytes());
                out.extend(file);
            }
            return out;
        }
        if self.file_name == "-" {
            return file.unwrap_or_default().to_vec();
        }
        // Where nothing is drawn or printed, RRDtool says nothing.
        if self.shows_size && !result.facts.is_empty() {
            out.extend(format!("{}x{}\n", result.size.0, result.size.1).bytes());
        }
        let lines_of = |wanted: fn(&str) -> bool| {
            result.facts.iter().filter(move |(name, _)| wanted(name)).map(|(_, fact)| fact)
        };
        let lines = lines_of(|name| name == "image_info")
            .chain(lines_of(|name| name.starts_with("print[")));
        for fact in lines {
            if let Fact::Text(text) = fact {
                out.extend(text.bytes());
                out.push(b'\n');
            }
        }
        out
    }

    /// The formats that are no picture.
    fn table(
        &self,
        mut facts: Vec<(String, Fact)>,
        data: &Data,
        span: Span,
        printed: &[Option<String>],
    ) -> Result<GraphResult, GraphError> {
        let rows = xport::rows(&self.description, data, span, true)?;
        let format = match self.settings.format {
            ImageFormat::Xml => XportFormat::Xml { enumerates: false, shows_time: true },
            ImageFormat::XmlEnum => XportFormat::Xml { enumerates: true, shows_time: true },
            ImageFormat::Json => XportFormat::Json { shows_time: self.settings.json_time },
            ImageFormat::JsonTime => XportFormat::Json { shows_time: true },
            ImageFormat::Tsv => XportFormat::Separated('\t'),
            ImageFormat::Ssv => XportFormat::Separated(';'),
            _ => XportFormat::Separated(','),
        };
        let text = xport::write(&self.description, &rows, printed, format);
        let mut all = vec![
            ("graph_start".to_owned(), Fact::Count(rows.start_s)),
            ("graph_end".to_owned(), Fact::Count(rows.end_s)),
            ("graph_step".to_owned(), Fact::Count(rows.step_s)),
        ];
        all.append(&mut facts);
        Ok(GraphResult { facts: all, size: (0, 0), file: Some(text.into_bytes()) })
    }

    /// Whether the time axis was given: then it formats the times of separated values.
    #[must_use]
    pub fn time_format(&self) -> Option<&str> {
        match &self.settings.x_grid {
            XGrid::Given(grid) => Some(&grid.format),
            _ => None,
        }
    }
}

/// `--use-nan-for-all-missing-data`: what a database lacks is unknown.
struct Lenient<'a> {
    source: &'a mut dyn SeriesSource,
    description: &'a Description,
}

impl SeriesSource for Lenient<'_> {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let step_s = request.step_s.max(1);
        let error = match self.source.fetch(request) {
            Ok(table) => return Ok(table),
            Err(error) => error,
        };
        let (start_s, end_s) = (request.start_s, request.end_s);
        let (start_s, end_s) = (start_s - start_s % step_s, end_s - end_s % step_s + step_s);
        let wanted = self.description.elements.iter().filter_map(|element| match element {
            Element::Def(def) if def.file == request.file => Some(def.source.clone()),
            _ => None,
        });
        let columns: Vec<String> = wanted.collect();
        let cells = (end_s - start_s) / step_s * columns.len() as i64;
        match usize::try_from(cells) {
            Ok(cells) if cells <= VALUES_MAX => {
                Ok(SeriesTable { start_s, end_s, step_s, columns, values: vec![f64::NAN; cells] })
            }
            _ => Err(error),
        }
    }
}

/// `--daemon` is for all series that name no other.
struct WithDaemon<'a> {
    source: &'a mut dyn SeriesSource,
    daemon: Option<&'a str>,
}

impl SeriesSource for WithDaemon<'_> {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let daemon = request.daemon.or(self.daemon);
        self.source.fetch(&SeriesRequest { daemon, ..request.clone() })
    }
}

/// The clock in the zone of a graph: `--utc` is for its times in words, labels and texts.
fn in_zone<'a>(settings: &Settings, environment: &WallClock<'a>) -> WallClock<'a> {
    match settings.utc {
        true => WallClock { zone: &UTC, ..*environment },
        false => *environment,
    }
}

/// Start and end in seconds since the epoch.
fn times(start: &str, end: &str, environment: &WallClock<'_>) -> Result<(i64, i64), GraphError> {
    let zone: &CivilZone = environment.zone;
    // Both were parsed when they were read.
    let parse = |text: &str| {
        let time = time_words::parse(text, environment.now_s, zone);
        time.map_err(|error| SettingsError(error.to_string()))
    };
    let (start, end) = time_words::resolve(&parse(start)?, &parse(end)?, zone)?;
    if start < EARLIEST_S {
        return Err(GraphError::TooEarly(start));
    }
    if end < start {
        return Err(GraphError::Backwards(start, end));
    }
    Ok((start, end))
}

fn print_facts(description: &Description, printed: &[Option<String>]) -> Vec<(String, Fact)> {
    let texts =
        description.elements.iter().zip(printed).filter_map(|(element, text)| match element {
            Element::Print(print) if !print.is_in_graph => text.clone(),
            _ => None,
        });
    texts.enumerate().map(|(at, text)| (format!("print[{at}]"), Fact::Text(text))).collect()
}

/// The name without its folder, width and height by a format.
fn image_info(format: &str, file_name: &str, width: i64, height: i64) -> String {
    let name = match file_name {
        "-" => "",
        _ => file_name.trim_end_matches('/').rsplit('/').next().unwrap_or(""),
    };
    let mut sizes = [width, height].into_iter();
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix("lu") {
            out.push_str(&sizes.next().unwrap_or(0).to_string());
            rest = after;
        } else if let Some(after) = rest.strip_prefix('s') {
            out.push_str(name);
            rest = after;
        } else {
            out.push('%');
            rest = rest.strip_prefix('%').unwrap_or(rest);
        }
    }
    out + rest
}

/// Options of `xport`.
const XPORT_OPTIONS: &[settings_line::KnownOption] = &[
    ("start", 's', true),
    ("end", 'e', true),
    ("maxrows", 'm', true),
    ("daemon", 'd', true),
    ("showtime", 't', false),
    ("step", '\u{1}', true),
    ("enumds", '\u{2}', false),
    ("json", '\u{3}', false),
    ("add-jsontime", '\u{4}', false),
];

/// What `xport` makes.
#[derive(Debug, Clone, PartialEq)]
pub struct XportResult {
    /// The table.
    pub rows: xport::Rows,
    description: Description,
    printed: Vec<Option<String>>,
    format: XportFormat,
}

impl XportResult {
    /// What `xport` writes to the standard output.
    #[must_use]
    pub fn text(&self) -> String {
        xport::write(&self.description, &self.rows, &self.printed, self.format)
    }
}

/// Reads the arguments after `xport`, and makes its table.
///
/// # Errors
/// If the arguments or the data are refused.
pub fn xport(
    arguments: &[String],
    source: &mut dyn SeriesSource,
    environment: &WallClock<'_>,
) -> Result<XportResult, GraphError> {
    let (now_s, zone) = (environment.now_s, environment.zone);
    let (mut start, mut end) = ("end-24h".to_owned(), "now".to_owned());
    let (mut rows_max, mut step) = (400, 0);
    let (mut shows_time, mut enumerates) = (false, false);
    let (mut is_json, mut json_time) = (false, false);
    let mut daemon: Option<String> = None;
    let elements = read(arguments, XPORT_OPTIONS, &mut |letter, value| {
        let fail = |text: &str| Err(SettingsError(text.to_owned()));
        match letter {
            's' | 'e' => {
                let (name, slot) =
                    if letter == 's' { ("start", &mut start) } else { ("end", &mut end) };
                if let Err(error) = time_words::parse(value, now_s, zone) {
                    return fail(&format!("{name} time: {error}"));
                }
                value.clone_into(slot);
            }
            'm' => {
                rows_max = leading_integer(value);
                if rows_max < 10 {
                    return fail("maxrows below 10 rows");
                }
            }
            'd' if daemon.is_some() => return fail("You cannot specify --daemon more than once."),
            'd' => daemon = Some(value.to_owned()),
            't' => shows_time = true,
            '\u{1}' => step = leading_integer(value),
            '\u{2}' => enumerates = true,
            '\u{3}' => is_json = true,
            _ => json_time = true,
        }
        Ok(())
    })?;
    let (start_s, end_s) = times(&start, &end, environment)?;
    if elements.is_empty() {
        return Err(SettingsError("can't make an xport without contents".to_owned()).into());
    }
    let context = GraphTimes { start_s, end_s, now_s, zone };
    let description = Description::parse(elements.iter().map(String::as_str), &context)?;
    let span = Span::of_width(start_s, end_s, step, rows_max);
    let mut source = WithDaemon { source, daemon: daemon.as_deref() };
    let data = evaluate(&description, &mut source, span, environment)?;
    let rows = xport::rows(&description, &data, span, false)?;
    let printed = print(&description, &data, 1000.0, Target::Table, environment)?;
    let format = match is_json {
        true => XportFormat::Json { shows_time: shows_time || json_time },
        false => XportFormat::Xml { enumerates, shows_time },
    };
    Ok(XportResult { rows, description, printed, format })
}
