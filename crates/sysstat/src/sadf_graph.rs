//! `sadf -g`: the tables of `sar` as pictures in one SVG document, drawn by the crate `graph`.
//!
//! Each instance of an activity has a picture for each kind of unit, so that all its curves have one
//! scale.  A value is that of the time between two readings; where there was none, as while the machine
//! was off, the curve is interrupted.
//!
//! Cost: 24 bytes a value until the end, at most [`VALUES_MAX`] values.

use std::collections::HashMap;
use std::fmt::Write as _;

use calendar::CivilZone;
use graph::command::{GraphCommand, GraphError};
use graph::curves::{COLOURS, legend_text, push_sums};
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, WallClock};

use crate::SysstatError;
use crate::activities::Activity;
use crate::format::Unit;
use crate::report::{Facts, Report};
use crate::sar::{Options, columns, sources};
use crate::stamp::Stamp;
use crate::values::Span;

/// The most values that are kept: 100 curves of a day of seconds, 400 MB.
const VALUES_MAX: usize = 1 << 24;

/// The most steps of a curve: far more than its pixels.
const STEPS_MAX: i64 = 4096;

/// The size of the canvas of a picture, in pixels.
const WIDTH: u32 = 600;
const HEIGHT: u32 = 150;
const HEIGHTS: std::ops::RangeInclusive<u32> = 50..=2000;

/// Where the first picture begins, and the height of a line of text.
const TOP: i64 = 60;
const LINE: i64 = 18;

const SECONDS_OF_DAY: i64 = 86_400;

/// What `-O` says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphOptions {
    /// The pictures of an activity side by side.
    is_packed: bool,
    /// Without pictures in which all is 0.
    skips_empty: bool,
    /// Each picture shows a whole day.
    is_one_day: bool,
    /// A list of the activities at the top.
    has_contents: bool,
    /// `%idle`, too.
    shows_idle: bool,
    /// Shades of grey.
    is_grey: bool,
    height: u32,
}

impl Default for GraphOptions {
    fn default() -> Self {
        GraphOptions {
            is_packed: false,
            skips_empty: false,
            is_one_day: false,
            has_contents: false,
            shows_idle: false,
            is_grey: false,
            height: HEIGHT,
        }
    }
}

impl GraphOptions {
    /// Takes the words after `-O`, with commas between.
    pub(crate) fn read_words(&mut self, words: &str) -> Result<(), SysstatError> {
        for word in words.split(',') {
            match word {
                "packed" => self.is_packed = true,
                "skipempty" => self.skips_empty = true,
                "oneday" => self.is_one_day = true,
                "showtoc" => self.has_contents = true,
                "showidle" => self.shows_idle = true,
                "bwcol" => self.is_grey = true,
                _ => match word.strip_prefix("height=").map(str::parse) {
                    Some(Ok(height)) if HEIGHTS.contains(&height) => self.height = height,
                    Some(_) => {
                        let text = format!(
                            "-O height takes {} to {} pixels",
                            HEIGHTS.start(),
                            HEIGHTS.end()
                        );
                        return Err(SysstatError::Usage(text));
                    }
                    None => return Err(refused(word)),
                },
            }
        }
        Ok(())
    }
}

fn refused(word: &str) -> SysstatError {
    let why = match word {
        "autoscale" => "curves of one unit have one scale",
        "customcol" => "colours are those that the colour-blind tell apart; bwcol has greys",
        "showinfo" => "host and date stand at the top",
        "debug" => "there is nothing to be seen in it",
        _ if word.starts_with("preallocate") || word.starts_with("pcp") => "it belongs to -l",
        _ => return SysstatError::Usage(format!("unknown keyword {word} of -O")),
    };
    SysstatError::Refused(format!("-O {word}"), why)
}

/// One picture.
struct Picture {
    /// Which activity, and of it the instance and the unit.
    activity: usize,
    instance: String,
    unit: &'static str,
    curves: Vec<Curve>,
}

struct Curve {
    title: String,
    /// From when and until when, in seconds since the epoch, and the value.
    values: Vec<(i64, i64, f64)>,
}

/// The report.
pub(crate) struct Graphs {
    options: Options,
    graph: GraphOptions,
    stamp: Stamp,
    pictures: Vec<Picture>,
    places: HashMap<(usize, String, &'static str), usize>,
    values: usize,
    heading: String,
    zone: CivilZone,
}

impl Graphs {
    pub(crate) fn new(options: Options, graph: GraphOptions, stamp: Stamp) -> Self {
        Graphs {
            options,
            graph,
            stamp,
            pictures: Vec::new(),
            places: HashMap::new(),
            values: 0,
            heading: String::new(),
            zone: CivilZone::utc(),
        }
    }

    /// The picture of an instance and a unit.
    fn picture(&mut self, activity: usize, instance: &str, unit: &'static str) -> &mut Picture {
        let next = self.pictures.len();
        let place = *self.places.entry((activity, instance.to_owned(), unit)).or_insert(next);
        if place == next {
            let instance = instance.to_owned();
            self.pictures.push(Picture { activity, instance, unit, curves: Vec::new() });
        }
        &mut self.pictures[place]
    }

    fn title(&self, picture: &Picture) -> String {
        let activity: &Activity = self.options.activities[picture.activity];
        let option = match activity.option.starts_with('-') {
            true => format!("sar {}", activity.option),
            false => format!("sar {} {}", group_of(activity), activity.option),
        };
        match activity.heading(&self.options.chosen) {
            Some(label) => format!("{option}: {label} {}", picture.instance),
            None => option,
        }
    }

    /// The time that pictures show.
    fn period(&self) -> (i64, i64) {
        let values =
            || self.pictures.iter().flat_map(|one| &one.curves).flat_map(|one| &one.values);
        let from = values().map(|value| value.0).min().unwrap_or(0);
        let until = values().map(|value| value.1).max().unwrap_or(1);
        if !self.graph.is_one_day {
            return (from, until);
        }
        let ahead = self.zone.offset(from).0;
        let midnight = (from + ahead).div_euclid(SECONDS_OF_DAY) * SECONDS_OF_DAY - ahead;
        (midnight, midnight + SECONDS_OF_DAY)
    }
}

/// The option of keywords.
fn group_of(activity: &Activity) -> &'static str {
    let is_queue = crate::activities::QUEUES.iter().any(|one| one.option == activity.option);
    if is_queue { "-q" } else { "-n" }
}

/// The unit of a column, of which all curves of a picture are.
fn unit_of(title: &str, unit: Unit) -> &'static str {
    let is_rate = title.ends_with("/s");
    match unit {
        Unit::Percent => "%",
        Unit::Kibibytes | Unit::KibibytesOfBytes | Unit::WholeKibibytes if is_rate => "kB/s",
        Unit::Kibibytes | Unit::KibibytesOfBytes | Unit::WholeKibibytes => "kB",
        Unit::WholeMebibytes => "MB",
        Unit::Plain | Unit::Whole if is_rate => "/s",
        Unit::Plain | Unit::Whole => "number",
    }
}

impl Picture {
    fn is_empty(&self) -> bool {
        self.curves.iter().flat_map(|curve| &curve.values).all(|(_, _, value)| *value == 0.0)
    }

    /// The words of `whit rrd graph`.
    fn words(&self, title: &str, (from, until): (i64, i64), graph: GraphOptions) -> Vec<String> {
        let mut words = vec![
            "-".to_owned(),
            "--imgformat=SVG".to_owned(),
            "--border=0".to_owned(),
            format!("--width={WIDTH}"),
            format!("--height={}", graph.height),
            "--lower-limit=0".to_owned(),
            format!("--title={title}"),
            format!("--vertical-label={}", self.unit),
            format!("--start={from}"),
            format!("--end={until}"),
        ];
        for (at, curve) in self.curves.iter().enumerate() {
            let colour = match graph.is_grey {
                true => ["000000", "888888", "444444", "BBBBBB"][at % 4],
                false => COLOURS[at % COLOURS.len()],
            };
            words.push(format!("DEF:v{at}=:s{at}:AVERAGE"));
            words.push(format!("LINE1.5:v{at}#{colour}:{:<12}", legend_text(&curve.title)));
            push_sums(&mut words, at);
        }
        words
    }

    /// Draws it; returns the document and its width and height.
    fn draw(
        &self,
        title: &str,
        period: (i64, i64),
        graph: GraphOptions,
        zone: &CivilZone,
    ) -> Result<(String, (i64, i64)), GraphError> {
        let words = self.words(title, period, graph);
        let clock = WallClock { now_s: period.1, zone };
        let command = GraphCommand::parse(&words, None, &clock)?;
        let drawn = command.run(&mut Values { curves: &self.curves, period }, &clock, false)?;
        let bytes = drawn.file.unwrap_or_default();
        Ok((String::from_utf8_lossy(&bytes).into_owned(), drawn.size))
    }
}

/// The curves as a database that a description of a graph reads.
struct Values<'a> {
    curves: &'a [Curve],
    period: (i64, i64),
}

impl SeriesSource for Values<'_> {
    fn fetch(&mut self, _: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let (from, until) = self.period;
        let lengths = self.curves.iter().flat_map(|curve| &curve.values);
        let least = lengths.map(|(from, until, _)| until - from).min().unwrap_or(1);
        let step_s = least.max((until - from) / STEPS_MAX).max(1);
        let steps = ((until - from + step_s - 1) / step_s).max(1) as usize;
        let width = self.curves.len();
        let mut sums = vec![(0.0, 0_u32); steps * width];
        for (column, curve) in self.curves.iter().enumerate() {
            for (began, ended, value) in &curve.values {
                let step = |at: i64| ((at - from) / step_s).clamp(0, steps as i64 - 1) as usize;
                for step in step(*began)..=step(ended - 1).max(step(*began)) {
                    let (sum, count) = &mut sums[step * width + column];
                    *sum += value;
                    *count += 1;
                }
            }
        }
        let mean =
            |(sum, count): (f64, u32)| if count > 0 { sum / f64::from(count) } else { f64::NAN };
        Ok(SeriesTable {
            start_s: from,
            end_s: from + steps as i64 * step_s,
            step_s,
            columns: (0..width).map(|place| format!("s{place}")).collect(),
            values: sums.into_iter().map(mean).collect(),
        })
    }
}

/// A picture as a part of the document: without the head of its own, and with names of its own.
fn part(document: &str, number: usize, (x, y): (i64, i64)) -> String {
    let body = document.find("<svg").map_or("", |at| &document[at..]);
    let mut body = body.replacen("<svg", &format!("<svg x=\"{x}\" y=\"{y}\""), 1);
    for start in ["id=\"", "\"#", "(#"] {
        body = body.replace(&format!("{start}d"), &format!("{start}p{number}d"));
    }
    body.replace("id=\"surface\"", &format!("id=\"p{number}\""))
}

fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

impl Report for Graphs {
    fn sources(&self) -> Vec<&'static str> {
        sources(&self.options.activities, &self.options.chosen)
    }

    fn needs_all(&self) -> bool {
        !self.options.is_all && self.options.activities.len() == 1
    }

    fn begin(&mut self, facts: &Facts<'_>, now_ns: i64, _: &mut String) {
        let clock = self.stamp.clock(facts);
        if let Some(clock) = clock {
            self.zone = CivilZone::new(clock.zone.clone());
        }
        let date = clock.map_or_else(|| facts.clock.utc(now_ns), |clock| clock.stamp(now_ns));
        let (host, kernel) = (facts.meta.host(), facts.meta.get("kernel").unwrap_or_default());
        self.heading = format!("{host} ({kernel}), from {date}");
    }

    fn interval(
        &mut self,
        _: &Facts<'_>,
        span: &Span<'_>,
        _: &mut String,
    ) -> Result<(), SysstatError> {
        let second = |ns: i64| ns.div_euclid(1_000_000_000);
        let (from, until) = (second(span.began_ns), second(span.ended_ns));
        for number in 0..self.options.activities.len() {
            let activity = self.options.activities[number];
            if !activity.sources.iter().any(|source| span.has(source)) {
                continue;
            }
            let columns = columns(activity, &self.options.chosen.cpus, span);
            for (instance, rows) in (activity.lines)(span, &self.options.chosen) {
                for column in &columns {
                    let title = column.title();
                    let value = column.value(&rows).filter(|value| value.is_finite());
                    let is_hidden = title == "%idle" && !self.graph.shows_idle;
                    let Some(value) = value.filter(|_| !is_hidden && until > from) else {
                        continue;
                    };
                    self.values += 1;
                    let unit = unit_of(&title, column.unit());
                    self.picture(number, &instance, unit).add(title, (from, until, value));
                }
            }
        }
        match self.values > VALUES_MAX {
            true => Err(SysstatError::NotThere(format!(
                "more than {VALUES_MAX} values: choose activities, a period with -s and -e, or an interval"
            ))),
            false => Ok(()),
        }
    }

    fn end(&mut self, out: &mut String) {
        if self.graph.skips_empty {
            self.pictures.retain(|picture| !picture.is_empty());
        }
        // The pictures of an activity stand together, whenever its instances came.
        self.pictures.sort_by_key(|picture| picture.activity);
        let period = self.period();
        let (mut x, mut y, mut row, mut width) = (0, TOP, 0, i64::from(WIDTH));
        let mut parts = String::new();
        let mut contents: Vec<(usize, String)> = Vec::new();
        let mut before = None;
        if self.graph.has_contents {
            let mut activities: Vec<usize> = self.pictures.iter().map(|one| one.activity).collect();
            activities.dedup();
            y += LINE * activities.len() as i64;
        }
        for (number, picture) in self.pictures.iter().enumerate() {
            let title = self.title(picture);
            let is_new = before.replace(picture.activity) != Some(picture.activity);
            if is_new {
                contents.push((number, title.split(':').next().unwrap_or_default().to_owned()));
            }
            if is_new || !self.graph.is_packed {
                (x, y, row) = (0, y + row, 0);
            }
            match picture.draw(&title, period, self.graph, &self.zone) {
                Ok((document, size)) => {
                    parts.push_str(&part(&document, number, (x, y)));
                    (x, row, width) = (x + size.0, row.max(size.1), width.max(x + size.0));
                }
                Err(error) => {
                    let text = markup(&format!("{title}: {error}"));
                    let _ = writeln!(parts, "<text x=\"{x}\" y=\"{}\">{text}</text>", y + LINE);
                    row = row.max(2 * LINE);
                }
            }
        }
        let height = y + row;
        let _ = write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
             xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" \
             fill=\"#F3F3F3\"/>\n<text x=\"10\" y=\"35\" font-size=\"18\">{}</text>\n",
            markup(&self.heading)
        );
        if self.graph.has_contents {
            for (line, (number, title)) in contents.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "<a xlink:href=\"#p{number}\"><text x=\"10\" y=\"{}\">{}</text></a>",
                    TOP + LINE * line as i64,
                    markup(title)
                );
            }
        }
        out.push_str(&parts);
        out.push_str("</svg>\n");
    }

    fn is_whole_when_empty(&self) -> bool {
        true
    }
}

impl Picture {
    fn add(&mut self, title: String, value: (i64, i64, f64)) {
        match self.curves.iter_mut().find(|curve| curve.title == title) {
            Some(curve) => curve.values.push(value),
            None => self.curves.push(Curve { title, values: vec![value] }),
        }
    }
}
