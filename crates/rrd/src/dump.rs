//! A file as XML, as `rrdtool dump` writes it.

use calendar::{CivilTime, CivilZone};
use text::rrdtool_number::push_table_number;

use crate::compute;
use crate::error::Result;
use crate::file::File;
use crate::header::{
    Archive, ConsolidationFunction, RrdHeader, SourceKind, Values, archive_value,
    consolidation_value, primary_value,
};
use crate::holt_winters;
use crate::info::history;

/// How the text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Heading {
    /// Begins with the element `<rrd>`, without the line `<?xml`.
    None,
    /// Begins with the line `<?xml` and names the XML schema.
    Schema,
    /// Begins with the line `<?xml` and the document type.
    #[default]
    DocumentType,
}

/// Text is handed out in pieces of about this many bytes.
const PIECE_BYTES: usize = 1 << 18;

/// Writes a file as text, piece by piece.
///
/// # Errors
/// If the file cannot be read, or `write` refuses a piece.
pub fn dump<E: From<crate::Error>>(
    file: &File,
    heading: Heading,
    zone: &CivilZone,
    mut write: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let header = file.header();
    holt_winters::check_windows(header)?;
    let mut out = String::with_capacity(PIECE_BYTES + 4096);
    push_heading(&mut out, heading);
    let mut clock = Clock::new(zone);
    out.push_str(&format!(
        "\t<version>{:04}</version>\n\t<step>{}</step> <!-- Seconds -->\n\t<lastupdate>{}</lastupdate> <!-- ",
        header.version, header.step_seconds, header.last_update.seconds
    ));
    clock.push(&mut out, header.last_update.seconds);
    out.push_str(" -->\n\n");
    for index in 0..header.sources.len() {
        push_source(&mut out, header, index);
    }
    out.push_str("\t<!-- Round Robin Archives -->\n");
    for (index, archive) in header.archives.iter().enumerate() {
        push_archive(&mut out, header, index);
        let cells = file.read_in_order(index)?;
        let row_seconds = header.row_seconds(index) as i64;
        let back = (archive.rows as i64).wrapping_sub(1).wrapping_mul(row_seconds);
        let mut time = header.newest_row(index).wrapping_sub(back);
        out.push_str("\t\t<database>\n");
        for row in cells.chunks_exact(header.sources.len().max(1)) {
            out.push_str("\t\t\t<!-- ");
            clock.push(&mut out, time);
            out.push_str(&format!(" / {time} --> <row>"));
            for cell in row {
                push_element(&mut out, "", "v", *cell);
            }
            out.push_str("</row>\n");
            time = time.wrapping_add(row_seconds);
            if out.len() >= PIECE_BYTES {
                write(&out)?;
                out.clear();
            }
        }
        out.push_str("\t\t</database>\n\t</rra>\n");
    }
    out.push_str("</rrd>\n");
    write(&out)
}

fn push_heading(out: &mut String, heading: Heading) {
    if heading != Heading::None {
        out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    }
    if heading == Heading::DocumentType {
        out.push_str("<!DOCTYPE rrd SYSTEM \"https://oss.oetiker.ch/rrdtool/rrdtool.dtd\">\n");
    }
    out.push_str("<!-- Round Robin Database Dump -->\n");
    out.push_str(match heading {
        Heading::Schema => concat!(
            "<rrd xmlns=\"https://oss.oetiker.ch/rrdtool/rrdtool-dump.xml\" ",
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n",
            "\txsi:schemaLocation=\"https://oss.oetiker.ch/rrdtool/rrdtool-dump.xml ",
            "https://oss.oetiker.ch/rrdtool/rrdtool-dump.xsd\">\n"
        ),
        _ => "<rrd>\n",
    });
}

fn push_element(out: &mut String, indent: &str, name: &str, value: f64) {
    out.push_str(indent);
    out.push('<');
    out.push_str(name);
    out.push('>');
    push_value(out, value);
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

fn push_value(out: &mut String, value: f64) {
    match value.is_nan() {
        true => out.push_str("NaN"),
        false => push_table_number(out, value),
    }
}

fn push_source(out: &mut String, header: &RrdHeader, index: usize) {
    let source = &header.sources[index];
    let (name, kind) = (&source.name, source.kind.name());
    out.push_str(&format!("\t<ds>\n\t\t<name> {name} </name>\n\t\t<type> {kind} </type>\n"));
    if source.kind == SourceKind::Compute {
        let text = compute::text(source, &header.sources);
        out.push_str(&format!("\t\t<cdef> {text} </cdef>\n"));
    } else {
        let heartbeat = source.heartbeat_seconds();
        out.push_str(&format!("\t\t<minimal_heartbeat>{heartbeat}</minimal_heartbeat>\n"));
        push_element(out, "\t\t", "min", source.minimum());
        out.push('\n');
        push_element(out, "\t\t", "max", source.maximum());
        out.push('\n');
    }
    let primary = &header.primary[index];
    let reading = String::from_utf8_lossy(primary.reading());
    out.push_str(&format!("\n\t\t<!-- PDP Status -->\n\t\t<last_ds>{reading}</last_ds>\n"));
    push_element(out, "\t\t", "value", f64::from_bits(primary.values[primary_value::VALUE]));
    let unknown = primary.values[primary_value::UNKNOWN_SECONDS];
    out.push_str(&format!("\n\t\t<unknown_sec> {unknown} </unknown_sec>\n\t</ds>\n\n"));
}

fn push_archive(out: &mut String, header: &RrdHeader, index: usize) {
    let archive = &header.archives[index];
    let (function, steps) = (archive.function.name(), archive.steps_per_row);
    let seconds = header.row_seconds(index);
    out.push_str(&format!(
        "\t<rra>\n\t\t<cf>{function}</cf>\n\t\t<pdp_per_row>{steps}</pdp_per_row> <!-- {seconds} seconds -->\n\n\t\t<params>\n"
    ));
    push_parameters(out, header.version, archive);
    out.push_str("\t\t</params>\n\t\t<cdp_prep>\n");
    for source in 0..header.sources.len() {
        out.push_str("\t\t\t<ds>\n");
        push_state(out, archive, header.state(index, source));
        out.push_str("\t\t\t</ds>\n");
    }
    out.push_str("\t\t</cdp_prep>\n");
}

/// A line with a parameter of an archive.  Not a number is written in small letters here.
fn push_parameter(out: &mut String, name: &str, value: f64) {
    match value.is_nan() {
        true => out.push_str(&format!("\t\t<{name}>nan</{name}>")),
        false => push_element(out, "\t\t", name, value),
    }
    out.push('\n');
}

fn push_parameters(out: &mut String, version: u8, archive: &Archive) {
    let mut double = |name: &str, place: usize| push_parameter(out, name, archive.double(place));
    match archive.function {
        ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
            double("hw_alpha", archive_value::ALPHA);
            double("hw_beta", archive_value::BETA);
        }
        ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
            double("seasonal_gamma", archive_value::GAMMA);
            let row = archive.values[archive_value::SMOOTH_ROW];
            out.push_str(&format!("\t\t<seasonal_smooth_idx>{row}</seasonal_smooth_idx>\n"));
            if version >= 4 {
                let window = archive.double(archive_value::SMOOTHING_WINDOW);
                push_parameter(out, "smoothing_window", window);
            }
        }
        ConsolidationFunction::Failures => {
            double("delta_pos", archive_value::DELTA_POSITIVE);
            double("delta_neg", archive_value::DELTA_NEGATIVE);
            let window = archive.values[archive_value::WINDOW];
            let threshold = archive.values[archive_value::THRESHOLD];
            out.push_str(&format!(
                "\t\t<window_len>{window}</window_len>\n\t\t<failure_threshold>{threshold}</failure_threshold>\n"
            ));
        }
        ConsolidationFunction::DevPredict => {}
        _ => {
            double("xff", archive_value::XFILES_FACTOR);
            return;
        }
    }
    let dependent = archive.values[archive_value::DEPENDENT];
    out.push_str(&format!("\t\t<dependent_rra_idx>{dependent}</dependent_rra_idx>\n"));
}

fn push_state(out: &mut String, archive: &Archive, state: &Values) {
    use consolidation_value as at;
    let mut double = |name: &str, place: usize| {
        push_element(out, "\t\t\t", name, f64::from_bits(state[place]));
        out.push('\n');
    };
    double("primary_value", at::PRIMARY);
    double("secondary_value", at::SECONDARY);
    let (name, count) = match archive.function {
        ConsolidationFunction::HwPredict | ConsolidationFunction::MhwPredict => {
            double("intercept", at::INTERCEPT);
            double("last_intercept", at::LAST_INTERCEPT);
            double("slope", at::SLOPE);
            double("last_slope", at::LAST_SLOPE);
            let count = state[at::NULL_COUNT];
            out.push_str(&format!("\t\t\t<nan_count>{count}</nan_count>\n"));
            ("last_nan_count", state[at::LAST_NULL_COUNT].to_string())
        }
        ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
            double("seasonal", at::SEASONAL);
            double("last_seasonal", at::LAST_SEASONAL);
            ("init_flag", state[at::SEASONS].to_string())
        }
        ConsolidationFunction::DevPredict => return,
        ConsolidationFunction::Failures => ("history", history(archive, state)),
        _ => {
            double("value", at::VALUE);
            ("unknown_datapoints", state[at::UNKNOWN].to_string())
        }
    };
    out.push_str(&format!("\t\t\t<{name}>{count}</{name}>\n"));
}

/// Writes times; zones change at whole quarters of an hour only.
struct Clock<'a> {
    zone: &'a CivilZone,
    quarter: i64,
    offset_seconds: i64,
    abbreviation: String,
}

const QUARTER_SECONDS: i64 = 900;

impl<'a> Clock<'a> {
    fn new(zone: &'a CivilZone) -> Self {
        Self { zone, quarter: i64::MIN, offset_seconds: 0, abbreviation: String::new() }
    }

    /// Appends a time as `2001-09-09 01:46:40 UTC`.
    fn push(&mut self, out: &mut String, seconds: i64) {
        let quarter = seconds.div_euclid(QUARTER_SECONDS);
        if quarter != self.quarter {
            self.offset_seconds = self.zone.offset(seconds).0;
            self.abbreviation = self.zone.abbreviation(seconds);
            self.quarter = quarter;
        }
        let CivilTime { year, month, day, hour, minute, second, .. } =
            CivilTime::of_local(seconds.saturating_add(self.offset_seconds));
        out.push_str(&format!(
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} {}",
            self.abbreviation
        ));
    }
}
