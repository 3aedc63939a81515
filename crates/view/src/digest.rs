//! One line for each instance over a whole recording (`--procanalyze`, `--slabanalyze`).
//!
//! The columns of a line are data of the source ([`layout::Digest`]).  As in collectl, counting
//! begins with the first interval shown; an instance that comes later counts from its start.  If
//! another source has exit events, they add what came after the last reading, and instances that no
//! reading has seen get lines, too.
//!
//! Keeps one entry for each instance ever seen.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::number::{pad_left, pad_right};
use layout::{Digest, DigestColumn, Fold, Folded, Form, Frame, Of, Options, Role, Row};
use sample::{SourceDef, State};

use crate::time::LocalTime;

/// Most instances; readings of further ones are counted and left out.
const INSTANCES_MAX: usize = 1_000_000;

/// Takes the extension and the text of a file.
pub type WriteFile<'a, E> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), E>;

/// The digests of a recording.
pub struct Digests {
    zone: TimeZone,
    parts: Vec<Part>,
}

/// One digest.
struct Part {
    living: (usize, &'static Digest),
    ended: Option<(usize, &'static Digest)>,
    entries: Vec<Entry>,
    places: HashMap<Vec<u8>, usize>,
    intervals: u64,
    left_out: u64,
    /// Whether the numbers are shown as collectl's, which has 0 for missing ones.
    zeros: bool,
}

/// One instance.
struct Entry {
    name: Vec<u8>,
    from_ns: i64,
    thru_ns: i64,
    values: Vec<Option<f64>>,
    /// Escaped.
    texts: Vec<Option<Vec<u8>>>,
    /// The counters at the last reading.
    last: Vec<Option<f64>>,
}

impl Digests {
    /// The digests with these names that a feed has.
    pub fn of(names: &[&str], defs: &[Arc<SourceDef>], options: &Options, zone: TimeZone) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        let all = |role: Role| {
            defs.iter().enumerate().flat_map(move |(source, def)| {
                let digests = options.layouts.of(def).iter().filter_map(|layout| layout.digest);
                digests.filter(move |digest| digest.role == role).map(move |one| (source, one))
            })
        };
        for living in all(Role::Living).filter(|(_, digest)| names.contains(&digest.name)) {
            let ended = all(Role::Ended).find(|(_, digest)| digest.name == living.1.name);
            parts.push(Part {
                living,
                ended,
                entries: Vec::new(),
                places: HashMap::new(),
                intervals: 0,
                left_out: 0,
                zeros: false,
            });
        }
        Digests { zone, parts }
    }

    /// A recording with other sources follows: instances of the same digest continue.
    pub fn continue_with(&mut self, names: &[&str], defs: &[Arc<SourceDef>], options: &Options) {
        let next = Digests::of(names, defs, options, self.zone.clone());
        // A digest that this recording does not have keeps its entries, and finds no source.
        for part in &mut self.parts {
            (part.living.0, part.ended) = (usize::MAX, None);
        }
        for part in next.parts {
            let name = part.living.1.name;
            match self.parts.iter_mut().find(|known| known.living.1.name == name) {
                Some(known) => (known.living, known.ended) = (part.living, part.ended),
                None => self.parts.push(part),
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds an interval.
    pub fn add_interval(&mut self, frame: &Frame<'_>) {
        if frame.seconds > 0.0 {
            self.parts.iter_mut().for_each(|part| part.add_interval(frame));
        }
    }

    /// Writes the files, each by its extension and text.
    ///
    /// # Errors
    /// The first error of `write`.
    pub fn finish<E>(self, options: &Options, write: WriteFile<'_, E>) -> Result<Vec<String>, E> {
        let mut notes = Vec::new();
        for part in &self.parts {
            let digest = part.living.1;
            if part.intervals == 0 {
                notes.push(format!("--{}analyze: nothing was recorded", short(digest.name)));
                continue;
            }
            if part.left_out > 0 {
                notes.push(format!(
                    "--{}analyze: more than {INSTANCES_MAX} came; {} readings were left out",
                    short(digest.name),
                    part.left_out
                ));
            }
            write(digest.extension, &part.text(&self.zone, options))?;
        }
        Ok(notes)
    }
}

/// The beginning of collectl's switch.
fn short(name: &str) -> &str {
    if name == "process" { "proc" } else { name }
}

impl Part {
    fn add_interval(&mut self, frame: &Frame<'_>) {
        let (source, digest) = self.living;
        let Some(track) = frame.tracks.get(source) else { return };
        let whole = frame.whole(track);
        if track.fresh && track.current.state == State::Ok && track.previous.state == State::Ok {
            self.intervals += 1;
            self.zeros = whole.collectl_digits();
            for row in whole.rows().filter(|row| (digest.counts)(row)) {
                self.fold(&row, digest, frame.realtime_ns);
            }
        }
        // Before the first reading it is unknown which part of an account belongs here.
        let Some((source, digest)) = self.ended.filter(|_| self.intervals > 1) else { return };
        let Some(track) = frame.tracks.get(source).filter(|track| track.fresh) else { return };
        if track.current.state != State::Ok {
            return;
        }
        for row in frame.whole(track).rows().filter(|row| (digest.counts)(row)) {
            self.fold(&row, digest, frame.realtime_ns);
        }
    }

    fn fold(&mut self, row: &Row<'_>, digest: &'static Digest, now_ns: i64) {
        let place = match self.places.get(row.name()) {
            Some(&place) => place,
            None if self.entries.len() >= INSTANCES_MAX => {
                self.left_out += 1;
                return;
            }
            None => {
                let entry = Entry::new(row, digest, now_ns, self.intervals == 1);
                self.entries.push(entry);
                self.places.insert(row.name().to_vec(), self.entries.len() - 1);
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[place];
        entry.thru_ns = now_ns;
        for (at, column) in digest.columns.iter().enumerate() {
            let Of::Number(value) = column.value else { continue };
            if let Some(value) = value(row) {
                entry.fold(at, column.fold, value);
            }
        }
    }

    fn text(&self, zone: &TimeZone, options: &Options) -> Vec<u8> {
        let digest = self.living.1;
        let mut out = Vec::new();
        let separator = if digest.has_times { options.separator.as_bytes() } else { b"" };
        if digest.has_times {
            for name in ["Date", "From", "Thru"] {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(separator);
            }
        }
        for (at, column) in digest.columns.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(separator);
            }
            // With separators headings are not padded.
            let width = if digest.has_times { 0 } else { column.width };
            push_padded(&mut out, column, width, |out| {
                out.extend_from_slice(column.name.as_bytes());
            });
        }
        out.push(b'\n');
        let mut order: Vec<&Entry> = self.entries.iter().collect();
        if digest.is_sorted {
            order.sort_by(|left, right| left.name.cmp(&right.name));
        }
        for entry in order {
            self.push_entry(&mut out, entry, zone, options, separator);
        }
        out
    }

    fn push_entry(
        &self,
        out: &mut Vec<u8>,
        entry: &Entry,
        zone: &TimeZone,
        options: &Options,
        separator: &[u8],
    ) {
        let digest = self.living.1;
        let seconds = (entry.thru_ns - entry.from_ns) as f64 / 1e9;
        let (values, exact) = (&entry.values[..], options.exact);
        let folded = Folded { values, seconds, intervals: self.intervals, exact };
        if !(digest.keep)(&folded) {
            return;
        }
        if digest.has_times {
            let from = LocalTime::new(entry.from_ns, zone);
            from.push_day_and_clock(options, separator, out);
            out.extend_from_slice(separator);
            LocalTime::new(entry.thru_ns, zone).push_clock(options, out);
            out.extend_from_slice(separator);
        }
        for (at, column) in digest.columns.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(separator);
            }
            let value = match column.fold {
                Fold::From(of) => of(&folded),
                _ => entry.values[at],
            };
            push_padded(out, column, column.width, |out| match (column.value, value) {
                (Of::Text(_) | Of::Written(_), _) => match &entry.texts[at] {
                    Some(text) => out.extend_from_slice(text),
                    None => out.push(b'-'),
                },
                (_, Some(value)) => column.form.push_number(out, value, options),
                _ if self.zeros || exact => column.form.push_number(out, 0.0, options),
                _ => out.push(b'-'),
            });
        }
        out.push(b'\n');
    }
}

fn push_padded(
    out: &mut Vec<u8>,
    column: &DigestColumn,
    width: usize,
    write: impl FnOnce(&mut Vec<u8>),
) {
    out.extend_from_slice(column.lead.as_bytes());
    let start = out.len();
    write(out);
    if column.form == Form::Left {
        pad_right(out, start, width);
    } else {
        pad_left(out, start, width);
    }
}

impl Entry {
    /// An instance when it is first seen; `is_base` if its counters count from there.
    fn new(row: &Row<'_>, digest: &'static Digest, now_ns: i64, is_base: bool) -> Self {
        let count = digest.columns.len();
        let mut entry = Entry {
            name: row.name().to_vec(),
            from_ns: now_ns,
            thru_ns: now_ns,
            values: vec![None; count],
            texts: vec![None; count],
            last: vec![None; count],
        };
        for (at, column) in digest.columns.iter().enumerate() {
            match column.value {
                Of::Text(text) => {
                    entry.texts[at] = text(row).map(|text| layout::text::escape(text).into_bytes());
                }
                Of::Written(write) => write(row, entry.texts[at].get_or_insert_default()),
                Of::Number(value) if matches!(column.fold, Fold::Gain) => {
                    entry.last[at] = if is_base { value(row) } else { Some(0.0) };
                    entry.values[at] = entry.last[at].map(|_| 0.0);
                }
                Of::Number(_) | Of::Position => {}
            }
        }
        entry
    }

    fn fold(&mut self, at: usize, fold: Fold, value: f64) {
        let held = self.values[at];
        self.values[at] = match fold {
            Fold::First => held.or(Some(value)),
            Fold::Last => Some(value),
            Fold::Least => Some(held.map_or(value, |held| held.min(value))),
            Fold::Most => Some(held.map_or(value, |held| held.max(value))),
            Fold::Gain => {
                // A counter that decreased was reset: that interval has no gain.
                let gain = self.last[at].map(|last| (value - last).max(0.0));
                self.last[at] = Some(value);
                match (held, gain) {
                    (None, None) => None,
                    (held, gain) => Some(held.unwrap_or(0.0) + gain.unwrap_or(0.0)),
                }
            }
            Fold::From(_) => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::instances::{DEFS, HOSTILE, run, with_layouts};

    #[test]
    fn a_digest_has_a_line_for_each_instance_that_was_ever_there() {
        let options = Options { separator: " ".to_owned(), ..Options::default() };
        let mut digests = Digests::of(&["process"], &DEFS, &with_layouts(&options), TimeZone::UTC);
        run(&options, |frame| {
            digests.add_interval(frame);
            Ok(())
        })
        .unwrap();
        let mut files = Vec::new();
        let notes = digests.finish(&options, &mut |extension, text| {
            files.push((extension.to_owned(), String::from_utf8(text.to_vec()).unwrap()));
            Ok::<(), std::io::Error>(())
        });
        assert!(notes.unwrap().is_empty());
        let hostile = layout::text::escape(HOSTILE);
        let expected = format!(
            "Date From Thru Pid RSSMin RSSMax T Command\n\
             19700101 00:00:11 00:00:13 1 100 100 0:00:00 init\n\
             19700101 00:00:11 00:00:11 7 60 60 0:00:00 work\n\
             19700101 00:00:11 00:00:11 9 10 10 0:00:00 {hostile}\n\
             19700101 00:00:13 00:00:13 7 1 1 0:00:00 again\n\
             19700101 00:00:13 00:00:13 11 2 2 0:00:00 work\n"
        );
        assert_eq!(files, [("prcs".to_owned(), expected)]);
    }

    #[test]
    fn counters_count_from_the_first_interval_or_from_birth() {
        let entry = |last: Option<f64>| Entry {
            name: Vec::new(),
            from_ns: 0,
            thru_ns: 0,
            values: vec![last.map(|_| 0.0)],
            texts: vec![None],
            last: vec![last],
        };
        let mut seen = entry(Some(10.0));
        for value in [10.0, 12.5, 1.0, 2.0] {
            seen.fold(0, Fold::Gain, value);
        }
        assert_eq!(seen.values[0], Some(3.5), "a counter that went back gains nothing");
        let mut unknown = entry(None);
        unknown.fold(0, Fold::Gain, 5.0);
        assert_eq!(unknown.values[0], None, "one reading is no gain");
        unknown.fold(0, Fold::Gain, 6.0);
        assert_eq!(unknown.values[0], Some(1.0));
    }
}
