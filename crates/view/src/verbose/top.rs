//! collectl's `--top`: the first few instances of a source, sorted, at each of its readings.
//!
//! The source declares what can be sorted, and by what ([`layout::Top`]).  On a terminal each list
//! overwrites the previous one, and other subsystems scroll in a region above; elsewhere, and in
//! playback, lists follow each other, with record lines between them if others are shown, too.

use std::cmp::Ordering;
use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::number::push_u64;
use layout::{Block, By, Frame, Layout, List, Options, Rank, Row, Show, Top};
use sample::{Meta, SourceDef, State};

use super::{Body, Verbose, push_record_line};
use crate::View;
use crate::brief::{self, CLEAR_SCREEN};
use crate::parts;
use crate::screen::{CLEAR_BELOW, CLEAR_RIGHT};
use crate::time::LocalTime;

/// Heading lines of brief mode, which do not scroll.
const BRIEF_HEADING_LINES: usize = 2;

/// The view.
pub struct TopList {
    zone: TimeZone,
    listed: Option<Listed>,
    others: Option<Others>,
    body: Body,
    text: Vec<u8>,
    ranked: Vec<(usize, Option<f64>)>,
    intervals: usize,
    records: u64,
    /// On a terminal, the line to which the cursor moves at the end.
    last_line: Option<usize>,
}

/// What is listed.
#[derive(Clone, Copy)]
struct Listed {
    source: usize,
    layout: &'static Layout,
    top: &'static Top,
    rank: &'static Rank,
}

/// The other subsystems.
struct Others {
    view: Box<dyn View>,
    options: Options,
}

impl TopList {
    /// A list in the zone's time.
    pub fn new(zone: TimeZone) -> Self {
        TopList {
            zone,
            listed: None,
            others: None,
            body: Body::default(),
            text: Vec::new(),
            ranked: Vec::new(),
            intervals: 0,
            records: 0,
            last_line: None,
        }
    }

    fn open_others(&self, letter: char, options: &Options, screen: bool) -> Option<Others> {
        let mut options = options.clone();
        options.subsystems.retain_letters(|other| other != letter);
        if options.subsystems.is_empty() {
            return None;
        }
        let view: Box<dyn View> = if options.verbose {
            options.home |= screen;
            let mut verbose = Verbose::new(self.zone.clone(), false);
            verbose.is_part = true;
            Box::new(verbose)
        } else {
            if screen {
                options.header_repeat = Some(0);
            }
            (brief::ENTRY.open)(&crate::Setup::of(self.zone.clone()))
        };
        Some(Others { view, options })
    }

    /// The list of this tick, if its source was read: title, headings, lines.
    fn list(&mut self, frame: &Frame<'_>, list: &List) -> bool {
        self.body.buffer.clear();
        let Some(Listed { source, layout, top, rank }) = self.listed else { return false };
        let Some(track) = frame.tracks.get(source).filter(|track| track.fresh) else {
            return false;
        };
        let both = track.current.state == State::Ok && track.previous.state == State::Ok;
        if !both {
            return false;
        }
        let whole = frame.whole(track);
        self.rank(&whole, layout, top, rank);
        let blocks = if top.blocks.is_empty() { layout.verbose } else { top.blocks };
        let is_cells = |block: &&Block| matches!(block.show, Show::Cells(_) | Show::Headed(..));
        let shown: Vec<&'static Block> =
            blocks.iter().filter(|block| (block.when)(frame.options)).filter(is_cells).collect();
        self.push_title(top, rank, frame);
        self.body.push_group_headings(&shown, frame, "");
        for (position, &(index, _)) in self.ranked.iter().take(list.count).enumerate() {
            self.body.push_row(&shown, &Row { index, ..whole }, position);
        }
        true
    }

    fn push_title(&mut self, top: &Top, rank: &Rank, frame: &Frame<'_>) {
        let out = &mut self.body.buffer;
        out.extend_from_slice(b"# ");
        let mut title = (top.title)(frame.options).replace("$order", rank.name);
        if let Some(at) = title.find("$clock") {
            let mut clock = Vec::new();
            LocalTime::new(frame.realtime_ns, &self.zone).push_clock(frame.options, &mut clock);
            title.replace_range(at..at + "$clock".len(), &String::from_utf8_lossy(&clock));
        }
        parts::push_words(out, title.as_bytes(), frame.meta, frame.options);
        out.push(b'\n');
    }

    /// Sorts the instances that are shown.
    fn rank(&mut self, whole: &Row<'_>, layout: &Layout, top: &Top, rank: &Rank) {
        let ranked = &mut self.ranked;
        ranked.clear();
        for row in whole.rows().filter(|row| (layout.keep)(row)) {
            let value = match rank.by {
                By::Most(of) | By::Least(of) => of(&row),
                By::LayoutOrder => None,
            };
            // collectl sorts by whole numbers.
            let value = if row.collectl_digits() { value.map(f64::ceil) } else { value };
            if (top.keep)(&row, value) {
                ranked.push((row.index, value));
            }
        }
        let row_at = |index| Row { index, ..*whole };
        ranked.sort_by(|left, right| {
            let by_value = match (left.1, right.1) {
                (Some(left), Some(right)) if matches!(rank.by, By::Least(_)) => {
                    left.total_cmp(&right)
                }
                (Some(left), Some(right)) => right.total_cmp(&left),
                (left, right) => right.is_some().cmp(&left.is_some()),
            };
            by_value.then_with(|| {
                let (left, right) = (row_at(left.0), row_at(right.0));
                match (rank.by, layout.order) {
                    (By::LayoutOrder, Some(order)) => order(&left, &right),
                    (By::LayoutOrder, None) => Ordering::Equal,
                    _ => (top.tie)(&left, &right),
                }
            })
        });
    }

    /// Writes the list below the previous one.
    fn push_below(&mut self, frame: &Frame<'_>, list: &List, others: &[u8], has_list: bool) {
        self.text.clear();
        if list.records && (has_list || !others.is_empty()) {
            self.records += 1;
            self.text.push(b'\n');
            let local = LocalTime::new(frame.realtime_ns, &self.zone);
            push_record_line(&mut self.text, self.records, frame, local, None);
        }
        self.text.extend_from_slice(others);
        if has_list {
            self.text.push(b'\n');
            self.text.extend_from_slice(&self.body.buffer);
        }
        parts::cut_lines(&mut self.text, frame.options);
    }

    /// Overwrites the list on the terminal.
    fn push_over(&mut self, frame: &Frame<'_>, list: &List, others: &[u8], has_list: bool) {
        let scroll_end = list.scroll_end.unwrap_or(0);
        parts::cut_lines(&mut self.body.buffer, frame.options);
        let out = &mut self.text;
        out.clear();
        if self.intervals == 0 {
            if scroll_end > 0 {
                out.extend_from_slice(format!("\x1b[3;{scroll_end}r").as_bytes());
            }
            out.extend_from_slice(CLEAR_SCREEN);
        } else if !others.is_empty() && !frame.options.verbose {
            let line = (self.intervals + BRIEF_HEADING_LINES + 1).min(scroll_end);
            push_move(out, line);
        }
        out.extend_from_slice(others);
        if has_list {
            push_move(out, if scroll_end > 0 { scroll_end + 1 } else { 0 });
            let text = self.body.buffer.strip_suffix(b"\n").unwrap_or(&self.body.buffer);
            for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
                if at > 0 {
                    out.push(b'\n');
                }
                out.extend_from_slice(line);
                out.extend_from_slice(CLEAR_RIGHT);
            }
            out.extend_from_slice(CLEAR_BELOW);
            self.last_line = Some(scroll_end.saturating_add(list.count).saturating_add(2));
        }
        self.intervals += 1;
    }
}

/// Moves the cursor to the beginning of a line.
fn push_move(out: &mut Vec<u8>, line: usize) {
    out.extend_from_slice(b"\x1b[");
    push_u64(out, line as u64);
    out.extend_from_slice(b";H");
}

impl View for TopList {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let order = options.list.as_ref().map_or("", |list| list.order.as_str());
        self.listed = find(defs, order, options);
        let screen = options.list.as_ref().is_some_and(|list| list.scroll_end.is_some());
        let letter = self
            .listed
            .as_ref()
            .map_or(' ', |listed| defs[listed.source].letter(listed.layout.level).unwrap_or(' '));
        if self.others.is_none() {
            self.others = self.open_others(letter, options, screen);
        }
        if let Some(Others { view, options }) = &mut self.others {
            view.begin(meta, defs, options, out)?;
        }
        Ok(())
    }

    fn next_recording(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match &mut self.others {
            Some(others) => others.view.next_recording(out),
            None => Ok(()),
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if frame.seconds == 0.0 {
            return Ok(());
        }
        let Some(list) = &frame.options.list else { return Ok(()) };
        let mut others = Vec::new();
        if let Some(Others { view, options }) = &mut self.others {
            view.frame(&Frame { options, ..*frame }, &mut others)?;
        }
        let has_list = self.list(frame, list);
        if !has_list && others.is_empty() {
            return Ok(());
        }
        match list.scroll_end {
            Some(_) => self.push_over(frame, list, &others, has_list),
            None => self.push_below(frame, list, &others, has_list),
        }
        out.write_all(&self.text)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(Others { view, .. }) = &mut self.others {
            view.end(out)?;
        }
        let Some(line) = self.last_line else { return Ok(()) };
        self.text.clear();
        if self.others.is_some() {
            self.text.extend_from_slice(b"\x1b[r");
        }
        push_move(&mut self.text, line);
        self.text.push(b'\n');
        out.write_all(&self.text)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.others.as_ref().map_or_else(Vec::new, |others| others.view.notes());
        if self.listed.is_none() {
            notes.push("--top: the recording has no such instances".to_owned());
        }
        notes
    }
}

/// The source and the rank of that name.
fn find(defs: &[Arc<SourceDef>], order: &str, options: &Options) -> Option<Listed> {
    defs.iter().enumerate().find_map(|(source, def)| {
        options.layouts.of(def).iter().find_map(|layout| {
            let top = layout.top?;
            let rank = top.ranks.iter().find(|rank| rank.name == order)?;
            Some(Listed { source, layout, top, rank })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::instances::{HOSTILE, show};

    fn options(order: &str, scroll_end: Option<usize>) -> Options {
        let list = List { order: order.to_owned(), count: 2, scroll_end, records: false };
        Options { subsystems: "Z".into(), verbose: true, list: Some(list), ..Options::default() }
    }

    #[test]
    fn lists_are_sorted_and_cut() {
        let mut view = TopList::new(TimeZone::UTC);
        let text = show(&mut view, &options("rss", None)).unwrap();
        assert_eq!(
            text,
            "
# TOP PROCESSES sorted by rss (counters are /sec) 00:00:11
#Pid  RSS Command
   1  100 init
   7   60 work

# TOP PROCESSES sorted by rss (counters are /sec) 00:00:13
#Pid  RSS Command
   1  100 init
  11    2 work
"
        );
        let mut options = options("pid", None);
        options.list = options.list.map(|list| List { count: 3, records: true, ..list });
        let text = show(&mut TopList::new(TimeZone::UTC), &options).unwrap();
        assert!(text.starts_with("\n### RECORD    1 >>> vm <<< (11.000)"), "{text}");
        let hostile = layout::text::escape(HOSTILE);
        assert!(text.contains(&format!("   7   60 work\n   9   10 {hostile}\n")), "{text}");
    }

    #[test]
    fn on_a_terminal_lists_are_painted_over() {
        let text = show(&mut TopList::new(TimeZone::UTC), &options("rss", Some(0))).unwrap();
        let list = "# TOP PROCESSES sorted by rss (counters are /sec) 00:00:11\x1b[K\n\
                    #Pid  RSS Command\x1b[K\n   1  100 init\x1b[K\n   7   60 work\x1b[K\x1b[J";
        assert!(text.starts_with(&format!("\x1b[H\x1b[J\x1b[0;H{list}")), "{text:?}");
        assert!(text.ends_with("\x1b[J\x1b[4;H\n"), "{text:?}");
        let mut view = TopList::new(TimeZone::UTC);
        let nothing = show(&mut view, &options("name", None)).unwrap();
        assert_eq!(nothing, "");
        assert_eq!(view.notes().len(), 1);
    }
}
