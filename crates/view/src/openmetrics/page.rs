//! One page with the latest values of some machines, and a page for each tick as it comes.
//!
//! Memory: the labels of the rows of one source of each machine at a time, about as large as its part
//! of the page; nothing is kept from one page to the next.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options, Row, text};
use sample::{Field, Kind, Meta, SourceDef, State, Track};

use super::{Head, MetricNames, PageForm, own_label, push_label, push_labels};
use crate::View;
use crate::fields::{Selection, epoch_text, instance_text, keeps, raw_in_base};

/// A page with the latest values of one or several machines, as a scraper requests it.
pub struct ScrapePage {
    families: Vec<Family>,
    hosts: Vec<HostLabels>,
    form: PageForm,
    /// The sources of machines that are in it.
    sources: HashSet<(String, String)>,
    next: PagePlace,
}

/// How far a page is written.
#[derive(Clone, Copy, Default)]
struct PagePlace {
    family: usize,
    member: usize,
    /// Whether the family has a point.
    has_point: bool,
}

/// A machine of a page: its facts and sources.
pub struct PageHost<'a> {
    /// The facts.
    pub meta: &'a Meta,
    /// The sources, in the order of the frames.
    pub defs: &'a [Arc<SourceDef>],
}

/// The labels of one machine.
#[derive(Default)]
struct HostLabels {
    /// The label and the name of the machine; no label if the label is empty.
    label: (&'static str, String),
    /// With the labels of whit's own names, and with those of other names.
    rows: [RowLabels; 2],
}

struct Family {
    head: Head,
    members: Vec<Member>,
}

/// A source of a machine that has points of a family.
struct Member {
    /// The index of the machine.
    host: usize,
    /// The index of its source in the feed.
    source: usize,
    /// The labels of rows where the name is not whit's own.
    labels: Option<OtherLabels>,
    /// The fields of the family: one, or all texts of the source, or those that a label tells apart.
    fields: Vec<ChosenField>,
}

/// The labels of rows by the names of another program.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OtherLabels {
    /// The label of the instance.
    instance: &'static str,
    /// Texts that are labels: the field and the label.
    texts: &'static [(&'static str, &'static str)],
}

struct ChosenField {
    index: usize,
    /// The instances to show; `None` for all.
    instances: Option<Vec<String>>,
    /// The label and its value that tell it from other fields of the family.
    label: Option<(&'static str, &'static str)>,
}

impl ChosenField {
    fn shows(&self, instance: &str) -> bool {
        self.instances.as_ref().is_none_or(|names| names.iter().any(|name| name == instance))
    }
}

/// The labels of all rows of one source, concatenated.
#[derive(Default)]
struct RowLabels {
    source: Option<(usize, Option<OtherLabels>)>,
    labels: String,
    /// For each row, the end of its labels, and its name if a field is limited to instances.
    rows: Vec<(usize, String)>,
}

/// Which readings a page has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The latest reading of each source, with its own timestamp.
    Latest,
    /// The readings of this tick, with its timestamp.
    Tick,
}

impl ScrapePage {
    /// The page of a feed of these sources, by whit's own names, with the label `host`.
    ///
    /// # Errors
    /// `InvalidInput` for a chosen field that no source has.
    pub fn new(meta: &Meta, defs: &[Arc<SourceDef>], options: &Options) -> io::Result<Self> {
        let mut page = ScrapePage::empty(PageForm::OpenMetrics);
        page.add(&PageHost { meta, defs }, options, "host", |_, _| None)?;
        Ok(page)
    }

    /// The page of several machines, of all their fields.  `names` gives fields other names than
    /// whit's own; `host_label` is the label of the machine, and nothing for none.  A source of a
    /// machine that is given twice counts where it is first.
    #[must_use]
    pub fn of_hosts(
        form: PageForm,
        hosts: &[PageHost<'_>],
        host_label: &'static str,
        names: MetricNames,
    ) -> Self {
        let mut page = ScrapePage::empty(form);
        for host in hosts {
            // Without chosen fields there is none that is wrong.
            let _ = page.add(host, &Options::default(), host_label, names);
        }
        page
    }

    fn empty(form: PageForm) -> Self {
        let (families, hosts) = (Vec::new(), Vec::new());
        let (sources, next) = (HashSet::new(), PagePlace::default());
        ScrapePage { families, hosts, form, sources, next }
    }

    fn add(
        &mut self,
        host: &PageHost<'_>,
        options: &Options,
        host_label: &'static str,
        names: MetricNames,
    ) -> io::Result<()> {
        let selection = Selection::of(options, host.defs)?;
        let number = self.hosts.len();
        let label = (host_label, host.meta.host().to_owned());
        self.hosts.push(HostLabels { label, ..HostLabels::default() });
        let mut by_key: HashMap<String, usize> = HashMap::new();
        by_key.extend(self.families.iter().enumerate().map(|(at, one)| (one.head.key(), at)));
        for (source, def) in host.defs.iter().enumerate() {
            if !self.sources.insert((host.meta.host().to_owned(), def.name.to_string())) {
                continue;
            }
            let plan = selection.plan(def);
            for (&index, only) in plan.fields.iter().zip(&plan.only) {
                let field = &def.fields[index];
                let known = names(&def.name, &field.name).filter(|_| field.kind != Kind::Text);
                let head = match &known {
                    None => Head::of(def, field),
                    Some(known) => Head::of_known(def, field, known),
                };
                let label = known.as_ref().and_then(|known| known.label);
                let chosen = ChosenField { index, instances: only.clone(), label };
                let labels =
                    known.map(|known| OtherLabels { instance: known.instance, texts: known.texts });
                let place = *by_key.entry(head.key()).or_insert_with(|| {
                    self.families.push(Family { head, members: Vec::new() });
                    self.families.len() - 1
                });
                self.families[place].add((number, source), labels, chosen);
            }
        }
        Ok(())
    }

    /// Writes the latest values of each machine, each with the time of its reading, and the end.
    /// The frames are in the order of the machines.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(&mut self, frames: &[Frame<'_>], out: &mut dyn Write) -> io::Result<()> {
        self.next = PagePlace::default();
        while self.write_next(frames, out)? {}
        out.write_all(self.form.end().as_bytes())
    }

    /// Writes the next piece of the same without the end, and says whether there is more: a piece is
    /// what a source of a machine has of a family.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write_next(&mut self, frames: &[Frame<'_>], out: &mut dyn Write) -> io::Result<bool> {
        Ok(self.write_piece(Which::Latest, frames, out)?.is_some())
    }

    /// Writes the next piece: whether it had a value, and `None` after the last one.
    fn write_piece(
        &mut self,
        which: Which,
        frames: &[Frame<'_>],
        out: &mut dyn Write,
    ) -> io::Result<Option<bool>> {
        let Some(family) = self.families.get(self.next.family) else {
            self.next = PagePlace::default();
            return Ok(None);
        };
        if self.next.family == 0 && self.next.member == 0 {
            for rows in self.hosts.iter_mut().flat_map(|host| &mut host.rows) {
                rows.source = None;
            }
        }
        let Some(member) = family.members.get(self.next.member) else {
            self.next = PagePlace { family: self.next.family + 1, ..PagePlace::default() };
            return Ok(Some(false));
        };
        self.next.member += 1;
        let Some(frame) = frames.get(member.host) else { return Ok(Some(false)) };
        let track = &frame.tracks[member.source];
        if track.current.state != State::Ok || which == Which::Tick && !track.fresh {
            return Ok(Some(false));
        }
        let host = &mut self.hosts[member.host];
        let rows = &mut host.rows[usize::from(member.labels.is_some())];
        rows.fill(member, &host.label, frame, track);
        let any = self.next.has_point;
        let mut writer = FamilyWriter { form: self.form, which, any, out };
        writer.write(family, member, frame, track, rows)?;
        self.next.has_point = writer.any;
        Ok(Some(writer.any))
    }

    /// Writes all families; whether there was a value.
    fn write_as(
        &mut self,
        which: Which,
        frames: &[Frame<'_>],
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        self.next = PagePlace::default();
        let mut any = false;
        while let Some(has_any) = self.write_piece(which, frames, out)? {
            any |= has_any;
        }
        Ok(any)
    }
}

impl RowLabels {
    /// Makes the labels of the rows of a source, unless they exist.
    fn fill(
        &mut self,
        member: &Member,
        (host_label, host): &(&'static str, String),
        frame: &Frame<'_>,
        track: &Track,
    ) {
        let own = Some((member.source, member.labels));
        if std::mem::replace(&mut self.source, own) == own {
            return;
        }
        self.labels.clear();
        self.rows.clear();
        for row in frame.whole(track).rows().filter(keeps) {
            let start = self.labels.len();
            let instance = member.labels.map(|other| other.instance);
            push_labels(&mut self.labels, (host_label, host), instance, &row);
            for (field, label) in member.labels.iter().flat_map(|other| other.texts) {
                let value = track.def.field(field).and_then(|index| row.text(index));
                let value = value.map(text::escape).unwrap_or_default();
                push_label(&mut self.labels, start, label, &value);
            }
            self.rows.push((self.labels.len(), instance_text(row.name())));
        }
    }
}

impl Family {
    /// Adds a field of a source of a machine, unless another one would give a series two values.
    fn add(
        &mut self,
        (host, source): (usize, usize),
        labels: Option<OtherLabels>,
        chosen: ChosenField,
    ) {
        match self.members.iter_mut().find(|member| member.host == host) {
            None => self.members.push(Member { host, source, labels, fields: vec![chosen] }),
            Some(own) if own.source == source => {
                let is_other = own.fields.iter().all(|field| field.label != chosen.label);
                if self.head.kind == Kind::Text || is_other {
                    own.fields.push(chosen);
                }
            }
            Some(_) => {}
        }
    }
}

/// Writes one family.
struct FamilyWriter<'a> {
    form: PageForm,
    which: Which,
    /// Whether there was a point.
    any: bool,
    out: &'a mut dyn Write,
}

impl FamilyWriter<'_> {
    /// Writes the points of a member, after the head if they are the first.
    fn write(
        &mut self,
        family: &Family,
        member: &Member,
        frame: &Frame<'_>,
        track: &Track,
        labels: &RowLabels,
    ) -> io::Result<()> {
        let time = match self.which {
            Which::Latest => self.form.time(track.current.realtime_ns),
            Which::Tick => epoch_text(frame.realtime_ns),
        };
        let mut start = 0;
        for (row, (end, instance)) in frame.whole(track).rows().filter(keeps).zip(&labels.rows) {
            let of_row = &labels.labels[start..*end];
            start = *end;
            if family.head.kind == Kind::Text {
                let texts = texts(member, &row, instance, of_row);
                if !texts.is_empty() {
                    self.point(family, &texts, 1.0, &time)?;
                }
                continue;
            }
            for chosen in member.fields.iter().filter(|chosen| chosen.shows(instance)) {
                let field: &Field = &track.def.fields[chosen.index];
                let Some(raw) = row.raw(chosen.index) else { continue };
                let value = raw_in_base(field, raw, frame.meta);
                match chosen.label {
                    None => self.point(family, of_row, value, &time)?,
                    Some((label, text)) => {
                        let mut all = of_row.to_owned();
                        push_label(&mut all, 0, label, text);
                        self.point(family, &all, value, &time)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn point(&mut self, family: &Family, labels: &str, value: f64, time: &str) -> io::Result<()> {
        if !std::mem::replace(&mut self.any, true) {
            family.head.write(self.form, self.out)?;
        }
        let (labels, close) = if labels == "{" { ("", "") } else { (labels, "}") };
        let (name, suffix) = (&family.head.name, family.head.suffix());
        writeln!(self.out, "{name}{suffix}{labels}{close} {value} {time}")
    }
}

/// The labels of a row with its texts added; nothing if it has none.
fn texts(member: &Member, row: &Row<'_>, instance: &str, labels: &str) -> String {
    let mut texts = String::new();
    for chosen in member.fields.iter().filter(|chosen| chosen.shows(instance)) {
        let Some(value) = row.text(chosen.index) else { continue };
        if texts.is_empty() {
            texts.push_str(labels);
        }
        let name = own_label(&row.track.def.fields[chosen.index].name);
        push_label(&mut texts, 0, &name, &text::escape(value));
    }
    texts
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
        if page.write_as(Which::Tick, std::slice::from_ref(frame), out)? {
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
            let rows = &stream.0.as_ref().unwrap().hosts[0].rows[0];
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

    /// Pages of the latest values, by other names.
    struct Scraper {
        form: PageForm,
        host_label: &'static str,
        machines: usize,
        page: Option<ScrapePage>,
        written: Vec<String>,
    }

    fn other_names(source: &str, field: &str) -> Option<crate::KnownMetric> {
        let name = match (source, field) {
            ("disk", "reads") => "node_disk_reads_completed_total",
            ("disk", "busy") => "node_disk_busy",
            ("mem", "faults") => "node_faults_total",
            _ => return None,
        };
        let label = (source == "mem").then_some(("mode", "a"));
        Some(crate::KnownMetric { name, instance: "device", texts: &[], label })
    }

    /// The first machine has the name of the feed's, as well as the fourth.
    fn named(meta: &Meta, number: usize) -> Meta {
        let mut meta = meta.clone();
        if !number.is_multiple_of(3) {
            meta.set("host", format!("vm{number}"));
        }
        meta
    }

    impl View for Scraper {
        fn begin(
            &mut self,
            meta: &Meta,
            defs: &[Arc<SourceDef>],
            _: &Options,
            _: &mut dyn Write,
        ) -> io::Result<()> {
            let metas: Vec<Meta> = (0..self.machines).map(|number| named(meta, number)).collect();
            let hosts: Vec<_> = metas.iter().map(|meta| PageHost { meta, defs }).collect();
            let page = ScrapePage::of_hosts(self.form, &hosts, self.host_label, other_names);
            self.page = Some(page);
            Ok(())
        }
        fn frame(&mut self, frame: &Frame<'_>, _: &mut dyn Write) -> io::Result<()> {
            let mut page = Vec::new();
            self.page.as_mut().unwrap().write(&vec![*frame; self.machines], &mut page)?;
            self.written.push(String::from_utf8(page).unwrap());
            Ok(())
        }
        fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
            Ok(())
        }
    }

    /// The last page.
    fn scrape(form: PageForm, host_label: &'static str, machines: usize) -> String {
        let written = Vec::new();
        let mut scraper = Scraper { form, host_label, machines, page: None, written };
        Feed::new(Options::default()).show(&mut scraper);
        scraper.written.pop().unwrap()
    }

    #[test]
    fn a_scrape_has_the_latest_values_with_the_times_of_their_readings() {
        let text = scrape(PageForm::OpenMetrics, "", 1);
        let points = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let faults = &points["node_faults_total{mode=\"a\"}"];
        assert_eq!((faults.len(), faults[0].1), (1, 3.0), "{text}");
        assert!(points.contains_key("node_disk_reads_completed_total{device=\"a\"}"), "{text}");
        assert!(text.contains("# TYPE node_faults counter\n"), "{text}");
        assert!(text.contains("# TYPE node_disk_busy unknown\n"), "{text}");
        assert!(points.contains_key("node_disk_busy{device=\"a\"}"), "{text}");
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    }

    #[test]
    fn the_older_form_names_counters_and_texts_by_their_points_and_has_milliseconds() {
        let text = scrape(PageForm::PrometheusText, "instance", 1);
        assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
        assert!(text.contains("# TYPE node_faults_total counter\n"), "{text}");
        assert!(text.contains("# TYPE node_disk_busy untyped\n"), "{text}");
        let line = text.lines().find(|line| line.starts_with("node_faults_total{")).unwrap();
        let (point, time) = line.rsplit_once(' ').unwrap();
        assert_eq!(point, "node_faults_total{instance=\"vm\",mode=\"a\"} 3");
        assert_eq!(time, "12000");
        let of_newer = scrape(PageForm::OpenMetrics, "instance", 1);
        let points = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(points(&text), points(&of_newer));
        assert!(!text.contains(" info\n"), "{text}");
    }

    #[test]
    fn machines_share_the_families_of_a_page() {
        let one = scrape(PageForm::PrometheusText, "instance", 1);
        let two = scrape(PageForm::PrometheusText, "instance", 2);
        let count = |text: &str, what: &str| text.matches(what).count();
        assert_eq!(count(&one, "# TYPE"), count(&two, "# TYPE"));
        assert_eq!(2 * count(&one, "instance="), count(&two, "instance="));
        // The fourth is the first again.
        let [three, four] =
            [3, 4].map(|machines| scrape(PageForm::PrometheusText, "instance", machines));
        assert_eq!(three, four);
    }
}
