//! How collectl shows sensors: `-sE`, a column for each.

use layout::{
    Block, DisplayOrder, Frame, Layout, OptionKind, Part, Plot, PlotColumn, Row, Show,
    SourceOption, number,
};
use sample::Level;

use super::{FAN_RPM, KIND, POWER_UW, READING, READING_DIGITS, TEMPERATURE_MC, VOLTAGE_MV};

/// Characters of a column.
const WIDTH: usize = 7;

pub(super) static SENSOR_OPTIONS: SourceOption = SourceOption {
    name: "envopts",
    help: "f p t: fans, power, temperatures; C F: degrees; M: a line for each kind; T, a digit: \
           width",
    kind: OptionKind::Letters { known: "fptCFMT0123456789", default: "" },
    letters: "E",
    ..SourceOption::EMPTY
};

pub(super) static SENSOR_FILTER: SourceOption = SourceOption {
    name: "envfilt",
    value_name: "REGEX",
    help: "Sensors to show: a regular expression",
    kind: OptionKind::NamePatterns,
    letters: "E",
    ..SourceOption::EMPTY
};

/// The value of a sensor in the unit that is shown.
fn value(row: &Row<'_>) -> Option<f64> {
    const SCALES: [(usize, f64); 5] =
        [(FAN_RPM, 1.0), (POWER_UW, 1e6), (TEMPERATURE_MC, 1e3), (VOLTAGE_MV, 1e3), (READING, 1e2)];
    let stored = |field: usize| row.raw(field).map(|raw| raw.cast_signed() as f64);
    let mut value = SCALES.iter().find_map(|&(field, scale)| Some(stored(field)? / scale))?;
    let given = row.options().value(&SENSOR_OPTIONS);
    // -1 means that ipmitool could not read the sensor; it is not a temperature.
    let is_read = row.raw(READING).is_none() || value != -1.0;
    if row.text(KIND) == Some(b"temperature") && given.has('F') && is_read {
        value = value * 1.8 + 32.0;
    }
    Some(if given.has('T') { value.trunc() } else { value })
}

/// Digits after the point: as many as `ipmitool` printed; 0 to print the value as Perl does.
fn digits(row: &Row<'_>) -> u8 {
    let given = row.options().value(&SENSOR_OPTIONS);
    let converts = is_kind(row, b"temperature") && given.has('F');
    let told = row.raw(READING_DIGITS).and_then(|digits| u8::try_from(digits).ok());
    told.filter(|_| !converts && !given.has('T')).unwrap_or(0)
}

/// Whether a sensor is of this kind and its values have this number of digits.
fn has(row: &Row<'_>, kind: &[u8], wanted: u8) -> bool {
    is_kind(row, kind) && digits(row) == wanted
}

fn push_value(row: &Row<'_>, value: f64, out: &mut Vec<u8>) {
    match digits(row) {
        0 => number::push_perl(out, value),
        digits => number::push_fixed(out, value, digits),
    }
}

/// Whether `--envopts` selects sensors of that kind.
fn is_kept(row: &Row<'_>) -> bool {
    let given = row.options().value(&SENSOR_OPTIONS);
    let kinds = ['f', 'p', 't'];
    let asked = match row.text(KIND) {
        Some(b"fan") => given.has('f'),
        Some(b"power") => given.has('p'),
        Some(b"temperature") => given.has('t'),
        // collectl has no letter for other kinds: it shows them only if no kind is left out.
        _ => kinds.iter().all(|&kind| given.has(kind)),
    };
    (asked || !given.has_any(&kinds)) && row.options().value(&SENSOR_FILTER).keeps(row.name())
}

fn is_kind(row: &Row<'_>, kind: &[u8]) -> bool {
    row.text(KIND) == Some(kind)
}

/// Writes a cell for each sensor; with `--envopts M` a line for each kind.  In a collectl recording
/// each line begins with `lead`.
fn each(
    frame: &Frame<'_>,
    lead: &[u8],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&Row<'_>, &mut Vec<u8>),
) {
    let Some(whole) = frame.source("environment") else { return };
    let by_kind = frame.options.value(&SENSOR_OPTIONS).has('M');
    let mut kind_before = None;
    for row in whole.rows().filter(is_kept) {
        let kind = row.text(KIND);
        let begins = kind_before.is_none() || by_kind && kind_before != Some(kind);
        if begins && kind_before.is_some() {
            out.push(b'\n');
        }
        if begins && frame.meta.origin() == "collectl" {
            out.extend_from_slice(lead);
        }
        kind_before = Some(kind);
        write(&row, out);
    }
    if kind_before.is_some() {
        out.push(b'\n');
    }
}

/// The width of a sensor's column.
fn width(row: &Row<'_>) -> usize {
    row.name().len().max(WIDTH)
}

fn sensors(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Title => out.extend_from_slice(b"ENVIRONMENTAL STATISTICS"),
        Part::Heading => each(frame, b"", out, |row, out| {
            out.push(b' ');
            let start = out.len();
            layout::text::escape_into(out, row.name());
            number::pad_left(out, start, WIDTH);
        }),
        Part::Body => each(frame, b" ", out, |row, out| {
            out.push(b' ');
            let start = out.len();
            match value(row).or(row.exact().then_some(0.0)) {
                Some(value) => push_value(row, value, out),
                None => out.push(b'-'),
            }
            // For a collectl recording the columns are collectl's, too narrow for long names.
            let is_ours = row.frame.meta.origin() != "collectl";
            number::pad_left(out, start, if is_ours { width(row) } else { WIDTH });
        }),
        Part::Notice => {}
    }
}

/// `-sE`.
pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    is_lexpr_summary: true,
    has_several_tables: |options| options.value(&SENSOR_OPTIONS).has('M'),
    position: DisplayOrder { verbose: 95, plot: 30, lexpr: 100, gexpr: 150, ..DisplayOrder::LAST },
    // Plots of collectl recordings have all sensors, as in collectl.
    keep: |row| match row.frame.meta.origin() {
        "collectl" => row.options().value(&SENSOR_FILTER).keeps(row.name()),
        _ => is_kept(row),
    },
    verbose: &[Block {
        when: |_| true,
        title: "ENVIRONMENTAL STATISTICS",
        headings: &[],
        show: Show::Stacked(sensors),
    }],
    plot: Some(Plot {
        tag: "ENV",
        extension: "env",
        columns: &[
            PlotColumn::plain("Speed", value).applies(|row| has(row, b"fan", 0)),
            PlotColumn::fixed("Speed", 1, value).applies(|row| has(row, b"fan", 1)),
            PlotColumn::fixed("Speed", 2, value).applies(|row| has(row, b"fan", 2)),
            PlotColumn::plain("Watts", value).applies(|row| has(row, b"power", 0)),
            PlotColumn::fixed("Watts", 1, value).applies(|row| has(row, b"power", 1)),
            PlotColumn::fixed("Watts", 2, value).applies(|row| has(row, b"power", 2)),
            PlotColumn::plain("Temp", value).applies(|row| has(row, b"temperature", 0)),
            PlotColumn::fixed("Temp", 1, value).applies(|row| has(row, b"temperature", 1)),
            PlotColumn::fixed("Temp", 2, value).applies(|row| has(row, b"temperature", 2)),
            PlotColumn::plain("Volts", value).applies(|row| is_kind(row, b"voltage")),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::plain("env.{}", value).level().applies(|row| digits(row) == 0),
        PlotColumn::fixed("env.{}", 1, value).level().applies(|row| digits(row) == 1),
        PlotColumn::fixed("env.{}", 2, value).level().applies(|row| digits(row) == 2),
    ],
    ..Layout::EMPTY
};
