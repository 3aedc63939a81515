//! Which sources of a feed a view shows, in which order and how: by the source's own layout, or by
//! a layout derived from its fields.

use layout::number::{pad_left, pad_right, push_fixed, push_perl, push_scaled};
use layout::text::escape_into;
use layout::{DisplayOrder, Frame, Layout, Options, Row};
use sample::{Cadence, Field, Kind, Level, Meta, SourceDef, State, Track, Unit};
use std::sync::Arc;

/// Most fields that a derived brief block shows.
const DERIVED_BRIEF_FIELDS: usize = 3;

/// A source at one level.
#[derive(Clone)]
pub(crate) struct Part {
    /// The source's index in the feed.
    pub(crate) source: usize,
    /// The source.
    pub(crate) def: Arc<SourceDef>,
    /// Whether it is shown as a summary or by its instances.
    pub(crate) level: Level,
    /// How the part looks; `None` if that is derived from the fields.
    pub(crate) layout: Option<&'static Layout>,
}

impl Part {
    /// The letter that selects it, if it has one.
    pub(crate) fn letter(&self) -> Option<char> {
        self.def.letter(self.level)
    }

    /// Whether it has a line or group for each instance.
    pub(crate) fn is_detail(&self) -> bool {
        self.level == Level::Detail
    }

    /// The source in a frame of the feed it was selected from.
    pub(crate) fn track<'a>(&self, frame: &Frame<'a>) -> Option<&'a Track> {
        frame.tracks.get(self.source).filter(|track| track.def.name == self.def.name)
    }

    /// Whether the layout lets an instance (or a summary's interval) be shown.
    pub(crate) fn keeps(&self, row: &Row<'_>) -> bool {
        self.layout.is_none_or(|layout| (layout.keep)(row))
    }

    /// Whether collectl shows zeros, or headings alone, for a source that was not recorded, and its
    /// digits are wanted: for all but those that it reads less often, and what is read with these.
    pub(crate) fn is_zero_in_collectl(&self, track: &Track, frame: &Frame<'_>) -> bool {
        let is_slow = |other: &Track| {
            other.def.letters == self.def.letters && other.def.cadence != Cadence::First
        };
        frame.options.exact
            && frame.single_clock
            && track.current.state == State::NotRecorded
            && self.layout.is_some()
            && self.letter().is_some()
            && !frame.tracks.iter().any(is_slow)
    }

    /// Whether there is nothing to show yet, because a change needs two readings.
    pub(crate) fn is_too_early(&self, track: &Track) -> bool {
        self.layout.is_some_and(|layout| layout.from_second_reading)
            && track.previous.state != State::Ok
    }
}

/// Whether a frame lies between two ticks, as a recorder's last reading does: no source that is due
/// at every tick was read, of those that were recorded.
pub(crate) fn is_between_ticks<'a>(
    parts: impl Iterator<Item = &'a Part>,
    frame: &Frame<'_>,
) -> bool {
    let steady = parts.filter(|part| part.def.cadence == Cadence::First);
    let is_recorded = |track: &&Track| track.current.state != State::NotRecorded;
    let tracks = steady.filter_map(|part| part.track(frame)).filter(is_recorded);
    let mut tracks = tracks.peekable();
    tracks.peek().is_some() && tracks.all(|track| !track.fresh)
}

/// The selected sources and levels that the feed has, ordered by `position`; those without one come
/// last, in the feed's order.
pub(crate) fn select(
    position: fn(&DisplayOrder) -> u16,
    defs: &[Arc<SourceDef>],
    options: &Options,
) -> Vec<Part> {
    let mut parts = Vec::new();
    for (source, def) in defs.iter().enumerate() {
        for level in def.levels().filter(|&level| options.asks(def, level)) {
            let layout = options.layouts.at(def, level);
            parts.push(Part { source, def: def.clone(), level, layout });
        }
    }
    parts.sort_by_key(|part| part.layout.map_or(u16::MAX, |layout| position(&layout.position)));
    parts
}

/// Writes `text` with the `$` words of layouts replaced.
pub(crate) fn push_words(out: &mut Vec<u8>, text: &[u8], meta: &Meta, options: &Options) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        let word = &rest[at..];
        if let Some(after) = word.strip_prefix(b"$rate") {
            out.extend_from_slice(if options.per_interval() { b"/int" } else { b"/sec" });
            rest = after;
        } else if let Some(after) = word.strip_prefix(b"$hyper") {
            out.extend_from_slice(if meta.is_hyperthreaded() { b"[HYPER]" } else { b"" });
            rest = after;
        } else if let Some(after) = word.strip_prefix(b"$page_kb") {
            push_perl(out, meta.page_size_bytes() as f64 / 1024.0);
            rest = after;
        } else {
            out.push(b'$');
            rest = &word[1..];
        }
    }
    out.extend_from_slice(rest);
}

/// The fields that derived layouts show: all but texts.
pub(crate) fn derived_fields(def: &SourceDef) -> impl Iterator<Item = (usize, &Field)> {
    def.fields.iter().enumerate().filter(|(_, field)| field.kind != Kind::Text)
}

/// The derived fields that a derived brief block shows.
pub(crate) fn derived_brief_fields(def: &SourceDef) -> impl Iterator<Item = (usize, &Field)> {
    derived_fields(def).take(DERIVED_BRIEF_FIELDS)
}

/// What a derived layout shows of a field: a counter per second, a level in its unit.
pub(crate) fn derived_value(row: &Row<'_>, index: usize, field: &Field) -> Option<f64> {
    match field.kind {
        Kind::Counter => row.rate(index),
        Kind::Gauge if matches!(field.unit, Unit::Hundredths | Unit::PercentHundredths) => {
            row.gauge(index).map(|value| value / 100.0)
        }
        Kind::Gauge => row.gauge(index),
        Kind::Text => None,
    }
}

/// A derived value over all instances of a source.
pub(crate) fn derived_sum(whole: &Row<'_>, index: usize, field: &Field) -> Option<f64> {
    if whole.track.def.instance.is_empty() {
        return derived_value(whole, index, field);
    }
    whole.sum(|_| true, |row| derived_value(row, index, field))
}

/// The width of a derived column: its heading's, but enough for a scaled number.
fn derived_width(field: &Field) -> usize {
    field.name.len().max(6)
}

fn push_derived_heading(out: &mut Vec<u8>, field: &Field) {
    let start = out.len();
    out.extend_from_slice(field.name.as_bytes());
    pad_left(out, start, derived_width(field));
    out.push(b' ');
}

pub(crate) fn push_derived_cell(
    out: &mut Vec<u8>,
    value: Option<f64>,
    field: &Field,
    options: &Options,
) {
    let start = out.len();
    match value.or(options.exact.then_some(0.0)) {
        Some(value) if matches!(field.unit, Unit::Hundredths | Unit::PercentHundredths) => {
            push_fixed(out, value, 2);
        }
        Some(value) => {
            let scale = layout::number::Scale { width: 6, unit: 0, binary: false };
            push_scaled(out, value, scale, options);
        }
        None => out.push(b'-'),
    }
    pad_left(out, start, derived_width(field));
    out.push(b' ');
}

/// A derived brief block: `<----name---->` above the first few fields.
pub(crate) fn push_derived_brief_title(out: &mut Vec<u8>, def: &SourceDef) {
    let fields = derived_brief_fields(def);
    let width: usize = fields.map(|(_, field)| derived_width(field) + 1).sum();
    let dashes = width.saturating_sub(def.name.len() + 2);
    out.push(b'<');
    out.resize(out.len() + dashes / 2, b'-');
    out.extend_from_slice(def.name.as_bytes());
    out.resize(out.len() + dashes.div_ceil(2), b'-');
    out.push(b'>');
}

pub(crate) fn push_derived_brief_heading(out: &mut Vec<u8>, def: &SourceDef) {
    for (_, field) in derived_brief_fields(def) {
        push_derived_heading(out, field);
    }
}

pub(crate) fn push_derived_brief(
    out: &mut Vec<u8>,
    whole: Option<&Row<'_>>,
    part: &Part,
    options: &Options,
) {
    for (index, field) in derived_brief_fields(&part.def) {
        let value = whole.and_then(|row| derived_sum(row, index, field));
        push_derived_cell(out, value, field, options);
    }
}

/// Width of a derived block's column of instance names.
const DERIVED_NAME_WIDTH: usize = 16;

pub(crate) fn push_derived_verbose_heading(out: &mut Vec<u8>, part: &Part) {
    if part.is_detail() {
        let start = out.len();
        out.extend_from_slice(part.def.instance.join("/").as_bytes());
        pad_right(out, start, DERIVED_NAME_WIDTH);
    }
    for (_, field) in derived_fields(&part.def) {
        push_derived_heading(out, field);
    }
}

/// One derived line, without time column and line end.
pub(crate) fn push_derived_verbose(out: &mut Vec<u8>, row: &Row<'_>, part: &Part) {
    out.push(b' ');
    if part.is_detail() {
        let start = out.len();
        push_instance(out, row.name());
        pad_right(out, start, DERIVED_NAME_WIDTH);
    }
    for (index, field) in derived_fields(&part.def) {
        let value = if part.is_detail() {
            derived_value(row, index, field)
        } else {
            derived_sum(row, index, field)
        };
        push_derived_cell(out, value, field, row.options());
    }
}

/// An instance's name for people: its parts joined by slashes, escaped for terminals.
pub(crate) fn push_instance(out: &mut Vec<u8>, name: &[u8]) {
    for (index, part) in name.split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR).enumerate() {
        if index > 0 {
            out.push(b'/');
        }
        escape_into(out, part);
    }
}

/// Cuts every line of `text` to the width of the terminal, if there is one; the line ends stay.  A
/// number of which a part would stay goes as a whole, but for users of collectl, which cuts it.
pub(crate) fn cut_lines(text: &mut Vec<u8>, options: &Options) {
    let Some(columns) = options.terminal_columns else { return };
    let (mut kept, mut column, mut line) = (0, 0, 0);
    for at in 0..text.len() {
        let byte = text[at];
        let begins_character = byte & 0xc0 != 0x80;
        if byte == b'\n' {
            column = 0;
        } else if begins_character {
            column += 1;
        }
        if byte == b'\n' || column <= columns {
            text[kept] = byte;
            kept += 1;
        } else if column == columns + 1
            && begins_character
            && byte != b' '
            && options.whole_sections
        {
            kept = line + without_number(&text[line..kept]);
        }
        if byte == b'\n' {
            line = kept;
        }
    }
    text.truncate(kept);
}

/// The length of a line without the number at its end, if one is there.
fn without_number(line: &[u8]) -> usize {
    let word = line.iter().rposition(|&byte| byte == b' ').map_or(0, |blank| blank + 1);
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b".,:%+-KMGT".contains(byte);
    if line[word..].iter().all(is_of_number) { word } else { line.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_between_characters() {
        let cut = |whole_sections, columns, text: &str| {
            let mut text = text.as_bytes().to_vec();
            let terminal_columns = Some(columns);
            cut_lines(
                &mut text,
                &Options { terminal_columns, whole_sections, ..Options::default() },
            );
            String::from_utf8(text).unwrap()
        };
        assert_eq!(cut(false, 4, "größer als\nab\n\n1234567\n"), "größ\nab\n\n1234\n");
        assert_eq!(cut(true, 4, "größer als\nab\n\n1234567\n"), "größ\nab\n\n\n");
        assert_eq!(cut(true, 6, "vda 12 345\nvda  1234 1\n"), "vda 12\nvda  \n");
        assert_eq!(
            cut(true, 6, "1 2 3K\n1 2 34K\n1 2 -34\na /usr/bin\n"),
            "1 2 3K\n1 2 \n1 2 \na /usr\n"
        );
    }

    #[test]
    fn words_are_replaced_and_others_left() {
        let (mut meta, mut out) = (Meta::new(), Vec::new());
        meta.set("page_size_bytes", "16384");
        push_words(&mut out, b"A ($rate) $hyper ${page} $page_kbK$", &meta, &Options::default());
        assert_eq!(out, b"A (/sec)  ${page} 16K$");
    }
}
