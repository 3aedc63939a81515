//! A period of recordings as one picture: the charts of the page below each other, drawn by whit's graph.

use archive::Recordings;
use calendar::CivilZone;
use graph::command::GraphCommand;
use graph::curves::{COLOURS, legend_text, push_band, push_sums};
use graph::elements::Consolidation;
use graph::picture::{Picture, Rgba};
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, WallClock};
use promql::QueryError;
use sample::SourceDef;

use super::asked::PageRequest;
use super::chart::{ChartData, Curve, shown};
use super::charts::{CHARTS, Chart};
use super::report::PageReportError;
use super::steps::Period;
use crate::clock::now;
use crate::parameters::Parameters;

/// Width and height of the curves of a chart, in pixels.
const CURVES_PIXELS: (i64, i64) = (800, 160);
/// Curves of a chart: those with the largest values; more of them nobody tells apart.
const CURVES_MAX: usize = 12;

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// SVG, text as outlines.
    Svg,
    /// PNG.
    Png,
}

/// Draws the charts of a host over a period, from its first nanosecond up to its second, whose source is
/// asked for; times of the axis are in `zone`.  Curves have steps of a second at least.
///
/// # Errors
/// If the recordings cannot be read, have nothing in the period, or no curve of what is asked for.
pub fn draw_period(
    recordings: &Recordings,
    (host, (from_ns, thru_ns)): (&str, (i64, i64)),
    is_asked: &dyn Fn(&SourceDef) -> bool,
    zone: &CivilZone,
    format: PictureFormat,
) -> Result<Vec<u8>, PageReportError> {
    let parameters = Parameters::with(&[]);
    let asked = PageRequest { recordings: recordings.clone(), parameters: &parameters };
    let whole = super::asked::recorded(recordings, host);
    let (from_ns, thru_ns) = (from_ns.max(whole.from_ns), thru_ns.min(whole.thru_ns + 1));
    if from_ns >= thru_ns {
        return Err(PageReportError::Empty);
    }
    let period = Period { from_ns, thru_ns };
    let seconds = usize::try_from((thru_ns - from_ns) / 1_000_000_000).unwrap_or(0);
    let points = seconds.clamp(1, CURVES_PIXELS.0 as usize);
    let mut pictures = Vec::new();
    let mut known = Vec::new();
    for chart in CHARTS {
        let Ok(def) = recordings.source(host, chart.source) else { continue };
        if chart.series_of(&def).is_empty() {
            continue;
        }
        if !is_asked(&def) {
            known.push(chart.source);
            continue;
        }
        let data = ChartData::of(&asked, host, chart, &[], (period, points))?;
        pictures.extend(draw(
            &data,
            &format!("{}: {}", shown(host.as_bytes()), chart.title),
            period,
            zone,
        )?);
    }
    known.dedup();
    let picture = Picture::stacked(pictures, Rgba::new(1.0, 1.0, 1.0, 1.0))
        .ok_or_else(|| PageReportError::NoCurves(known.join(", ")))?;
    match format {
        PictureFormat::Svg => Ok(graph::svg::write(&picture).into_bytes()),
        PictureFormat::Png => graph::png::write(&picture).ok_or(PageReportError::TooLarge),
    }
}

/// The curves of a chart as a database that a description of a graph reads.
struct Columns<'a> {
    data: &'a ChartData,
    curves: &'a [&'a Curve],
}

impl SeriesSource for Columns<'_> {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let steps = self.data.steps;
        let step_s = (steps.step_ns / 1_000_000_000).max(1);
        let start_s = steps.from_ns.div_euclid(1_000_000_000);
        let mut values = Vec::with_capacity(steps.count * self.curves.len());
        for step in 0..steps.count {
            values.extend(self.curves.iter().map(|curve| {
                let spread = curve.values.get(step).copied().flatten();
                let value = spread.and_then(|spread| match request.consolidation {
                    Consolidation::Minimum => spread.min,
                    Consolidation::Maximum => spread.max,
                    _ => Some(spread.mean),
                });
                value.unwrap_or(f64::NAN)
            }));
        }
        Ok(SeriesTable {
            start_s,
            end_s: start_s + step_s * i64::try_from(steps.count).unwrap_or(0),
            step_s,
            columns: (0..self.curves.len()).map(|place| format!("s{place}")).collect(),
            values,
        })
    }
}

/// Which curves are drawn: those with the largest values, in their own order.
fn drawn(sizes: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..sizes.len()).collect();
    places.sort_by(|one, other| sizes[*other].total_cmp(&sizes[*one]));
    places.truncate(CURVES_MAX);
    places.sort_unstable();
    places
}

/// Draws a chart; one without a value is left out.
fn draw(
    data: &ChartData,
    title: &str,
    period: Period,
    zone: &CivilZone,
) -> Result<Option<Picture>, PageReportError> {
    let largest = |curve: &Curve| {
        let values = curve.values.iter().flatten();
        values.map(|value| value.max.unwrap_or(value.mean)).fold(f64::NEG_INFINITY, f64::max)
    };
    let mut curves: Vec<&Curve> =
        data.curves.iter().filter(|curve| curve.values.iter().any(Option::is_some)).collect();
    let count = curves.len();
    if !data.chart.is_stack {
        let sizes: Vec<f64> = curves.iter().map(|curve| largest(curve)).collect();
        curves = drawn(&sizes).into_iter().map(|at| curves[at]).collect();
    }
    let mut words = words(data.chart, &curves, title);
    if count > curves.len() {
        words.push(format!("COMMENT:and {} with smaller values\\l", count - curves.len()));
    }
    let from_s = period.from_ns.div_euclid(1_000_000_000);
    let thru_s = (period.thru_ns.saturating_add(999_999_999)).div_euclid(1_000_000_000);
    words.extend([format!("--start={from_s}"), format!("--end={}", thru_s.max(from_s + 1))]);
    let clock = WallClock { now_s: now().timestamp().as_second(), zone };
    let drawn = GraphCommand::parse(&words, None, &clock)
        .and_then(|command| command.picture(&mut Columns { data, curves: &curves }, &clock));
    drawn.map_err(|error| QueryError::Execution(error.to_string()).into())
}

/// The words of `whit rrd graph` for a chart.
fn words(chart: &Chart, curves: &[&Curve], title: &str) -> Vec<String> {
    let mut words = vec!["-".to_owned(), format!("--title={title}"), "--border=0".to_owned()];
    words.push(format!("--vertical-label={}", chart.unit));
    words.extend([format!("--width={}", CURVES_PIXELS.0), format!("--height={}", CURVES_PIXELS.1)]);
    words.extend(["--lower-limit=0".to_owned(), "--slope-mode".to_owned()]);
    if chart.unit.starts_with("bytes") {
        words.push("--base=1024".to_owned());
    }
    if chart.is_stack && chart.unit == "percent" {
        words.push("--upper-limit=100".to_owned());
    }
    let name = |curve: &&Curve| match curve.instance.is_empty() {
        true => curve.series.label.to_owned(),
        false => format!("{} {}", shown(&curve.instance), curve.series.label),
    };
    let names: Vec<String> = curves.iter().map(name).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let has_band = !chart.is_stack && curves.len() <= COLOURS.len();
    for (at, name) in names.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let legend = legend_text(&format!("{name:widest$}"));
        words.push(format!("DEF:v{at}=:s{at}:AVERAGE"));
        if has_band {
            push_band(&mut words, (at, at), colour);
        }
        words.push(match (chart.is_stack, at) {
            (true, 0) => format!("AREA:v{at}#{colour}:{legend}"),
            (true, _) => format!("AREA:v{at}#{colour}:{legend}:STACK"),
            (false, _) if at < COLOURS.len() => format!("LINE1.5:v{at}#{colour}:{legend}"),
            (false, _) => format!("LINE1.5:v{at}#{colour}:{legend}:dashes"),
        });
        push_sums(&mut words, at);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curves_with_the_largest_values_are_drawn_among_many_equal_ones() {
        let mut sizes = vec![0.0; 20];
        (sizes[3], sizes[19]) = (2.0, 5.0);
        let places = drawn(&sizes);
        assert_eq!(places.len(), CURVES_MAX);
        assert!(places.is_sorted() && places.contains(&3) && places.contains(&19), "{places:?}");
        assert_eq!(drawn(&[1.0, f64::NEG_INFINITY]), [0, 1]);
    }
}
