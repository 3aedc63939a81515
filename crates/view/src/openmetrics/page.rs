//! One page with the latest values, and a page for each tick as it comes.
//!
//! Memory: the labels of the rows of one source at a time, about as large as its part of the page;
//! nothing is kept from one page to the next.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options, Row, text};
use sample::{Field, Kind, Meta, SourceDef, State, Track};

use super::{Head, push_label, push_labels};
use crate::View;
use crate::fields::{Selection, epoch_text, instance_text, keeps, raw_in_base};

/// A page with the latest values of a feed, as a scraper requests it.
pub struct ScrapePage {
    families: Vec<Family>,
    host: String,
    rows: RowLabels,
}

struct Family {
    head: Head,
    /// The index of its source in the feed.
    source: usize,
    /// The fields of the family: one, or all texts of the source.
    fields: Vec<ChosenField>,
}

struct ChosenField {
    index: usize,
    /// The instances to show; `None` for all.
    instances: Option<Vec<String>>,
}

impl ChosenField {
    fn shows(&self, instance: &str) -> bool {
        self.instances.as_ref().is_none_or(|names| names.iter().any(|name| name == instance))
    }
}

/// The labels of all rows of one source, concatenated.
#[derive(Default)]
struct RowLabels {
    source: Option<usize>,
    labels: String,
    /// For each row, the end of its labels, and its name if a field is limited to instances.
    rows: Vec<(usize, String)>,
}

/// Which readings a page has, and whether its lines have timestamps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The latest reading of each source, without timestamps: the scraper adds its own.
    Latest,
    /// The readings of this tick, with its timestamp.
    Tick,
}

impl ScrapePage {
    /// The page of a feed of these sources.
    ///
    /// # Errors
    /// `InvalidInput` for a chosen field that no source has.
    pub fn new(meta: &Meta, defs: &[Arc<SourceDef>], options: &Options) -> io::Result<Self> {
        let selection = Selection::of(options, defs)?;
        let mut families: Vec<Family> = Vec::new();
        let mut by_key: HashMap<String, usize> = HashMap::new();
        for (source, def) in defs.iter().enumerate() {
            let plan = selection.plan(def);
            for (&index, only) in plan.fields.iter().zip(&plan.only) {
                let chosen = ChosenField { index, instances: only.clone() };
                let head = Head::of(def, &def.fields[index]);
                match by_key.get(&head.key()) {
                    // Two fields with one family name would give one series two values.
                    Some(_) if head.kind != Kind::Text => {}
                    Some(&family) => families[family].fields.push(chosen),
                    None => {
                        by_key.insert(head.key(), families.len());
                        families.push(Family { head, source, fields: vec![chosen] });
                    }
                }
            }
        }
        Ok(ScrapePage { families, host: meta.host().to_owned(), rows: RowLabels::default() })
    }

    /// Writes the latest values, without timestamps, and `# EOF`.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.write_as(Form::Latest, frame, out)?;
        out.write_all(b"# EOF\n")
    }

    /// Writes all families; whether there was a value.
    fn write_as(&mut self, form: Form, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<bool> {
        let time = match form {
            Form::Latest => String::new(),
            Form::Tick => format!(" {}", epoch_text(frame.realtime_ns)),
        };
        self.rows.source = None;
        let mut any = false;
        for family in &self.families {
            let track = &frame.tracks[family.source];
            if track.current.state != State::Ok || form == Form::Tick && !track.fresh {
                continue;
            }
            self.rows.fill(family.source, &self.host, frame, track);
            any |= family.write(frame, track, &self.rows, &time, out)?;
        }
        Ok(any)
    }
}

impl RowLabels {
    /// Makes the labels of the rows of a source, unless they exist.
    fn fill(&mut self, source: usize, host: &str, frame: &Frame<'_>, track: &Track) {
        if self.source.replace(source) == Some(source) {
            return;
        }
        self.labels.clear();
        self.rows.clear();
        for row in frame.whole(track).rows().filter(keeps) {
            push_labels(&mut self.labels, host, &row);
            self.rows.push((self.labels.len(), instance_text(row.name())));
        }
    }
}

impl Family {
    /// Writes its head and points; whether there was one.
    fn write(
        &self,
        frame: &Frame<'_>,
        track: &Track,
        labels: &RowLabels,
        time: &str,
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        let (name, suffix) = (&self.head.name, self.head.suffix());
        let mut any = false;
        let mut start = 0;
        for (row, (end, instance)) in frame.whole(track).rows().filter(keeps).zip(&labels.rows) {
            let of_row = &labels.labels[start..*end];
            start = *end;
            let Some((value, texts)) = self.point(&row, instance, of_row) else { continue };
            if !std::mem::replace(&mut any, true) {
                self.head.write(out)?;
            }
            let all = if texts.is_empty() { of_row } else { &texts };
            let close = if all == "{" { "" } else { "}" };
            let all = if all == "{" { "" } else { all };
            writeln!(out, "{name}{suffix}{all}{close} {value}{time}")?;
        }
        Ok(any)
    }

    /// The value of a row; for texts also its labels with the texts added.
    fn point(&self, row: &Row<'_>, instance: &str, labels: &str) -> Option<(f64, String)> {
        let def = &row.track.def;
        let field = |chosen: &ChosenField| -> &Field { &def.fields[chosen.index] };
        let mut shown = self.fields.iter().filter(|chosen| chosen.shows(instance));
        if self.head.kind != Kind::Text {
            let chosen = shown.next()?;
            let value = raw_in_base(field(chosen), row.raw(chosen.index)?, row.frame.meta);
            return Some((value, String::new()));
        }
        let mut texts = String::new();
        for chosen in shown {
            let Some(value) = row.text(chosen.index) else { continue };
            if texts.is_empty() {
                texts.push_str(labels);
            }
            push_label(&mut texts, 0, &field(chosen).name, &text::escape(value));
        }
        (!texts.is_empty()).then_some((1.0, texts))
    }
}

/// The view of live samples: a page for each tick, with its timestamp, ended by `# EOF`.
///
/// A tick at which nothing was read has no page.
#[derive(Default)]
pub struct PageStream(Option<ScrapePage>);

impl View for PageStream {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.0 = Some(ScrapePage::new(meta, defs, options)?);
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(page) = &mut self.0 else { return Ok(()) };
        if page.write_as(Form::Tick, frame, out)? {
            out.write_all(b"# EOF\n")?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backfill;
    use super::super::reader::parse;
    use super::*;
    use crate::demo::Feed;

    /// The pages of a stream, each strictly valid.
    fn pages(text: &str) -> Vec<std::collections::BTreeMap<String, Vec<(f64, f64)>>> {
        let pages = text.split_inclusive("# EOF\n");
        pages.map(|page| parse(page).unwrap_or_else(|error| panic!("{error}\n{page}"))).collect()
    }

    #[test]
    fn each_tick_is_a_whole_page_and_together_they_are_the_backfill() {
        let text = Feed::new(Options::default()).show(&mut PageStream::default());
        let pages = pages(&text);
        assert_eq!(pages.len(), 3);
        let mut together = std::collections::BTreeMap::<String, Vec<(f64, f64)>>::new();
        for (name, points) in pages.into_iter().flatten() {
            assert_eq!(points.len(), 1, "one point of a series in a page");
            together.entry(name).or_default().extend(points);
        }
        let whole = Feed::new(Options::default()).show(&mut Backfill::default());
        assert_eq!(together, parse(&whole).unwrap());
    }

    #[test]
    fn a_page_is_written_at_its_tick_and_nothing_is_held() {
        struct Watched(Vec<u8>, Vec<usize>);
        impl Write for Watched {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.extend_from_slice(bytes);
                if bytes.ends_with(b"# EOF\n") {
                    self.1.push(self.0.len());
                }
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut stream = PageStream::default();
        let (mut out, mut sizes) = (Watched(Vec::new(), Vec::new()), Vec::new());
        for _ in 0..200 {
            // Three ticks each; the second begin is that of another recording.
            Feed::new(Options::default()).run(&mut stream, &mut out).unwrap();
            let rows = &stream.0.as_ref().unwrap().rows;
            sizes.push((rows.labels.capacity(), rows.rows.capacity()));
        }
        assert_eq!(out.1.len(), 600, "a page a tick, at once");
        assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
    }

    #[test]
    fn fields_that_were_chosen_and_no_others() {
        let fields = vec!["disk[a].reads".to_owned(), "mem.faults".to_owned()];
        let options = Options { fields, ..Options::default() };
        let text = Feed::new(options).show(&mut PageStream::default());
        for page in pages(&text) {
            let names: Vec<&String> = page.keys().collect();
            let disk = "whit_disk_reads_total{host=\"vm\",disk=\"a\"}";
            assert_eq!(names, [disk, "whit_mem_faults_total{host=\"vm\"}"]);
        }
    }

    #[test]
    fn a_scrape_has_the_latest_values_without_times() {
        struct Scraper(Option<ScrapePage>, Vec<String>);
        impl View for Scraper {
            fn begin(
                &mut self,
                meta: &Meta,
                defs: &[Arc<SourceDef>],
                options: &Options,
                _: &mut dyn Write,
            ) -> io::Result<()> {
                self.0 = Some(ScrapePage::new(meta, defs, options)?);
                Ok(())
            }
            fn frame(&mut self, frame: &Frame<'_>, _: &mut dyn Write) -> io::Result<()> {
                let mut page = Vec::new();
                self.0.as_mut().unwrap().write(frame, &mut page)?;
                self.1.push(String::from_utf8(page).unwrap());
                Ok(())
            }
            fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
                Ok(())
            }
        }
        let mut scraper = Scraper(None, Vec::new());
        Feed::new(Options::default()).show(&mut scraper);
        let last = scraper.1.last().unwrap();
        assert!(last.contains("\nwhit_mem_faults_total{host=\"vm\"} 3\n"), "{last}");
        assert!(last.ends_with("# EOF\n") && last.matches("# EOF").count() == 1);
    }
}
