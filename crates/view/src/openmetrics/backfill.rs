//! A whole recording as one OpenMetrics text, for `promtool tsdb create-blocks-from openmetrics`.
//!
//! The format requires all points of a family together, so all are kept in memory, 12 bytes a
//! point, and written at the end: a day of 8,640 samples of 1,000 numbers needs 100 MB.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options, Row, text};
use sample::{Kind, Meta, SourceDef, State};

use super::{Head, PageForm, push_label, push_labels};
use crate::View;
use crate::fields::{Selection, epoch_text, instance_text, keeps, raw_in_base};

/// Most points in memory: 1.5 GiB.  Beyond it the view fails with advice, because the format cannot
/// be written in pieces.
const POINTS_MAX: usize = 128 * 1024 * 1024;

/// The view of recordings.
#[derive(Default)]
pub struct Backfill {
    families: Vec<Family>,
    by_name: HashMap<String, usize>,
    /// For each source of the feed, its chosen fields and their families.
    chosen: Vec<Vec<ChosenField>>,
    times: Vec<i64>,
    points: usize,
    host: String,
}

struct ChosenField {
    family: usize,
    field: usize,
    instances: Option<Vec<String>>,
}

struct Family {
    head: Head,
    series: Vec<Series>,
    /// From labels to the index in `series`.
    by_labels: HashMap<String, usize>,
}

/// One set of labels with its points.
struct Series {
    labels: String,
    ticks: Vec<u32>,
    values: Vec<f64>,
}

impl View for Backfill {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        let selection = Selection::of(options, defs)?;
        self.host = meta.host().to_owned();
        self.chosen.clear();
        for def in defs {
            let plan = selection.plan(def);
            let mut chosen = Vec::with_capacity(plan.fields.len());
            for (&field, only) in plan.fields.iter().zip(&plan.only) {
                let family = self.family(def, field);
                chosen.push(ChosenField { family, field, instances: only.clone() });
            }
            self.chosen.push(chosen);
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, _out: &mut dyn Write) -> io::Result<()> {
        let tick = u32::try_from(self.times.len()).map_err(|_| too_much())?;
        self.times.push(frame.realtime_ns);
        for (source, track) in frame.tracks.iter().enumerate() {
            if !track.fresh || track.current.state != State::Ok || self.chosen[source].is_empty() {
                continue;
            }
            for row in frame.whole(track).rows().filter(keeps) {
                self.add_row(source, &row, tick);
            }
        }
        if self.points > POINTS_MAX { Err(too_much()) } else { Ok(()) }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = Vec::new();
        for family in self.families.iter().filter(|family| !family.series.is_empty()) {
            family.head.write(PageForm::OpenMetrics, out)?;
            let (name, suffix) = (&family.head.name, family.head.suffix());
            for series in &family.series {
                for (&tick, value) in series.ticks.iter().zip(&series.values) {
                    line.clear();
                    let time = epoch_text(self.times[tick as usize]);
                    writeln!(line, "{name}{suffix}{} {value} {time}", series.labels)?;
                    out.write_all(&line)?;
                }
            }
        }
        out.write_all(b"# EOF\n")
    }
}

impl Backfill {
    /// The family of a field; the texts of a source share one.
    fn family(&mut self, def: &SourceDef, field: usize) -> usize {
        let head = Head::of(def, &def.fields[field]);
        let key = head.key();
        if let Some(&index) = self.by_name.get(&key) {
            return index;
        }
        self.families.push(Family { head, series: Vec::new(), by_labels: HashMap::new() });
        self.by_name.insert(key, self.families.len() - 1);
        self.families.len() - 1
    }

    fn add_row(&mut self, source: usize, row: &Row<'_>, tick: u32) {
        let def = &row.track.def;
        let instance = instance_text(row.name());
        let mut labels = String::new();
        push_labels(&mut labels, ("host", &self.host), None, row);
        let mut texts = labels.clone();
        let mut text_family = None;
        for chosen in &self.chosen[source] {
            if chosen.instances.as_ref().is_some_and(|names| !names.contains(&instance)) {
                continue;
            }
            let of = &def.fields[chosen.field];
            if of.kind == Kind::Text {
                if let Some(text) = row.text(chosen.field) {
                    push_label(&mut texts, 0, &of.name, &text::escape(text));
                    text_family = Some(chosen.family);
                }
                continue;
            }
            let Some(raw) = row.raw(chosen.field) else { continue };
            let value = raw_in_base(of, raw, row.frame.meta);
            self.families[chosen.family].push(&labels, tick, value);
            self.points += 1;
        }
        if let Some(family) = text_family {
            self.families[family].push(&texts, tick, 1.0);
            self.points += 1;
        }
    }
}

impl Family {
    fn push(&mut self, labels: &str, tick: u32, value: f64) {
        let index = self.by_labels.get(labels).copied().unwrap_or_else(|| {
            let closed = if labels == "{" { String::new() } else { format!("{labels}}}") };
            self.series.push(Series { labels: closed, ticks: Vec::new(), values: Vec::new() });
            self.by_labels.insert(labels.to_owned(), self.series.len() - 1);
            self.series.len() - 1
        });
        self.series[index].ticks.push(tick);
        self.series[index].values.push(value);
    }
}

fn too_much() -> io::Error {
    let text = format!(
        "OpenMetrics keeps all points in memory, and these are more than {POINTS_MAX}; choose \
         fewer with --fields, -s or --from and --thru"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::super::reader::parse;
    use super::*;
    use crate::demo::Feed;

    #[test]
    fn a_feed_is_valid_and_whole() {
        let text = Feed::new(Options::default()).show(&mut Backfill::default());
        let series = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(
            series["whit_mem_faults_total{host=\"vm\"}"],
            [(10.0, 100.0), (11.0, 150.0), (12.0, 3.0)]
        );
        assert_eq!(
            series["whit_disk_busy_seconds_total{host=\"vm\",disk=\"a\"}"],
            [(10.0, 0.0), (11.0, 0.25), (12.0, 0.5)]
        );
        assert_eq!(series["whit_mem_free_kb_bytes{host=\"vm\"}"][0], (10.0, 1024.0));
        let hostile = "disk=\"x,\\\\x1b\\\\xff\\\"\"";
        let info = format!("whit_disk_info{{host=\"vm\",{hostile},model=\"q\\\"\"}}");
        assert_eq!(series[&info], [(12.0, 1.0)]);
        assert!(!text.contains("nfs"), "an absent source has no family");
    }
}
