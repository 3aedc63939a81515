//! `sadf`: the tables of `sar` for programs: fields between tabs or semicolons, or a document.
//!
//! `-p` writes a line for each number, `-d` a line for each instance with a heading before each table,
//! with `-h` one for each interval; `-j` and `-x` write a [`Document`].
//! The columns are those of `sar`: [`crate::activities`].

use std::fmt::Write as _;
use std::sync::Arc;

use feed::SadcComment;
use sample::SourceDef;

use crate::SysstatError;
use crate::activities::{Activity, Chosen};
use crate::daily_file::FileAction;
use crate::format::Style;
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::sadf_document::{self, Document, Markup};
use crate::sadf_graph::{GraphOptions, Graphs};
use crate::sar::{Options, ShownColumn, columns, comment_text, sources};
use crate::stamp::Stamp;
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, is_number, unknown};

pub(crate) const USAGE: &str = "\
Usage: sadf [options] [interval [count]] [recording] [-- options of sar]
  -p  a line for each number (the default)   -d  a line for each instance; with -h for each interval
  -j  JSON                                   -x  XML
  -g  pictures, as SVG; -O packed,showtoc,showidle,skipempty,oneday,bwcol,height=PIXELS
  -c  a daily file of sysstat as one of its version 12.6
  -H  what stands in a daily file before its values
  -t  times of the recorded machine          -T  of this one          -U  seconds since 1970
  -C  comments that daily files of sadc have
  -P LIST | ALL                 these CPUs
  --dev= --fs= --iface= --int=  only these, with commas between
  -s [TIME] -e [TIME]           from and until
  -1, -2 …                      of yesterday, of the day before; -s and -e are times of that day
Without a recording, what the service has recorded is shown.
";

/// How the fields of a line are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `-p`.
    Lines,
    /// `-d`.
    Database,
    /// `-d -h`.
    Wide,
}

struct Sadf {
    form: Form,
    stamp: Stamp,
    options: Options,
    /// What is written of each activity, since each is shown as a whole.
    tables: Vec<String>,
    /// The heading of each, if it was written.
    headings: Vec<String>,
}

/// Options of sar that have no meaning behind `--`: those of its own output and of what it reads.
const NOT_OF_SADF: &[&str] = &["D", "dec", "f", "help", "human", "i", "o", "pretty", "t"];

/// Options of the program that are refused, and why.
static REFUSED: &[(&str, &str)] = &[
    (
        "l",
        "whit writes no archives of Performance Co-Pilot; whit send gives recordings to other programs",
    ),
    ("r", "the numbers of the kernel are given by whit play --csv"),
];

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut options = Options::default();
    let (mut form, mut stamp, mut is_wide, mut is_head) = (None, None, false, false);
    let mut graph = None::<GraphOptions>;
    let (mut pace, mut recording) = (Pace::default(), Recording::Service);
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, of_sar) = (&words[..end], words.get(end + 1..).unwrap_or_default());
    let mut own = Words::new(own);
    while let Some(word) = own.next()? {
        let option = match word {
            Word::Plain(word) if is_number(&word) => {
                pace.read_word(&word)?;
                continue;
            }
            Word::Plain(word) => {
                recording = Recording::File(word.into());
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "p" | "d" | "j" | "x" | "g" | "c" => {
                // One that is given again is refused, too.
                if form.replace(option).is_some() {
                    let text = "-c, -d, -g, -j, -p and -x: give one of them, once";
                    return Err(SysstatError::Usage(text.to_owned()));
                }
            }
            "H" => is_head = true,
            "O" => graph.get_or_insert_default().read_words(&own.value("-O")?)?,
            "t" | "T" | "U" => {
                if stamp.replace(option.clone()).is_some_and(|known| known != option) {
                    return Err(SysstatError::Usage("-t, -T and -U: give one of them".to_owned()));
                }
            }
            "h" => is_wide = true,
            "P" | "C" | "dev" | "fs" | "iface" | "int" | "s" | "e" => {
                options.read_option(&option, &mut own)?;
            }
            days if is_number(days) => options.read_option(days, &mut own)?,
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => match REFUSED.iter().find(|(name, _)| *name == option) {
                Some((name, why)) => return Err(SysstatError::Refused(format!("-{name}"), why)),
                None => return Err(unknown(&option)),
            },
        }
    }
    let mut of_sar = Words::new(of_sar);
    while let Some(word) = of_sar.next()? {
        match word {
            Word::Option(option) if NOT_OF_SADF.contains(&&*option) => {
                let text = format!("not an option of sar that sadf takes: {option}");
                return Err(SysstatError::Usage(text));
            }
            Word::Option(option) => options.read_option(&option, &mut of_sar)?,
            Word::Plain(word) if is_number(&word) => pace.read_word(&word)?,
            Word::Plain(word) => {
                return Err(SysstatError::Usage(format!("not an option of sar: '{word}'")));
            }
        }
    }
    if pace.is_once {
        return Err(SysstatError::Usage("an interval of 0 is none of a recording".to_owned()));
    }
    options.put_in_order();
    let stamp = match stamp.as_deref() {
        Some("t") => Stamp::Recorded,
        Some("T") => Stamp::Here,
        Some("U") => Stamp::Epoch,
        _ => Stamp::Utc,
    };
    if graph.is_some() && form.as_deref() != Some("g") {
        return Err(SysstatError::Usage("-O is of the pictures that -g makes".to_owned()));
    }
    if is_head && matches!(form.as_deref(), Some("j" | "x" | "g" | "c")) {
        let why = "-H alone says what a file holds";
        return Err(SysstatError::Refused("-H beside -c, -g, -j and -x".to_owned(), why));
    }
    let whole_file = match form.as_deref() {
        Some("c") => Some(FileAction::Convert),
        // Beside another form it has no effect.
        None if is_head => Some(FileAction::Head),
        _ => None,
    };
    let (from, thru, days_ago) = (options.from.take(), options.thru.take(), options.days_ago);
    let has_comments = options.has_comments;
    let report: Box<dyn Report> = match form.as_deref() {
        Some("j") => Box::new(DocumentOf::new(Markup::Json, stamp, options)),
        Some("g") => Box::new(Graphs::new(options, graph.unwrap_or_default(), stamp)),
        Some("x") => Box::new(DocumentOf::new(Markup::Xml, stamp, options)),
        form => {
            let form = match form {
                Some("d") if is_wide => Form::Wide,
                Some("d") => Form::Database,
                _ => Form::Lines,
            };
            let tables = vec![String::new(); options.activities.len()];
            let headings = tables.clone();
            Box::new(Sadf { form, stamp, options, tables, headings })
        }
    };
    let mut asked = ReportRequest::new(report, pace);
    (asked.recording, asked.from, asked.thru) = (recording, from, thru);
    asked.days_ago = days_ago;
    (asked.has_comments, asked.whole_file) = (has_comments, whole_file);
    Ok(asked)
}

impl Stamp {
    fn of_document(self, facts: &Facts<'_>, at_ns: i64) -> sadf_document::Stamp {
        let clock = self.clock(facts);
        let text = clock.map_or_else(|| facts.clock.utc(at_ns), |clock| clock.stamp(at_ns));
        let mut words = text.split(' ').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        sadf_document::Stamp { date: word(), time: word(), is_utc: clock.is_none() }
    }
}

impl Sadf {
    fn time(&self, facts: &Facts<'_>, at_ns: i64) -> String {
        match (self.stamp, self.stamp.clock(facts)) {
            (Stamp::Epoch, _) => at_ns.div_euclid(1_000_000_000).to_string(),
            (_, Some(clock)) => clock.stamp(at_ns),
            (_, None) => facts.clock.utc(at_ns),
        }
    }

    /// The fields with which a line begins, with what ends the last one.
    fn start(&self, facts: &Facts<'_>, seconds: i64, at_ns: i64) -> String {
        let end = if self.form == Form::Lines { '\t' } else { ';' };
        let host = text::escape::escape(facts.meta.host().as_bytes());
        format!("{host}{end}{seconds}{end}{}{end}", self.time(facts, at_ns))
    }

    /// A line for each number.
    fn lines(
        start: &str,
        activity: &Activity,
        columns: &[ShownColumn],
        (name, rows): &(String, Vec<Row<'_>>),
        out: &mut String,
    ) {
        for column in columns {
            let value = number(column, rows);
            let title = column.title();
            let _ = match activity.label {
                None => writeln!(out, "{start}-\t{title}\t{value}"),
                Some("CPU") if name != "all" => {
                    writeln!(out, "{start}cpu{name}\t{title}\t{value}")
                }
                Some("TTY") => writeln!(out, "{start}ttyS{name}\t{title}\t{value}"),
                Some("INTR") => {
                    writeln!(out, "{start}{name}\t{}\t{value}", title.to_lowercase())
                }
                Some(_) => writeln!(out, "{start}{name}\t{title}\t{value}"),
            };
        }
    }

    /// The fields of an instance, each with the semicolon behind it.
    fn fields(
        activity: &Activity,
        columns: &[ShownColumn],
        (name, rows): &(String, Vec<Row<'_>>),
        out: &mut String,
    ) {
        let _ = match activity.label {
            None => Ok(()),
            Some("CPU") if name == "all" => write!(out, "-1;"),
            Some(_) => write!(out, "{name};"),
        };
        columns.iter().for_each(|column| _ = write!(out, "{};", number(column, rows)));
    }

    /// One line with every instance of every table.
    fn wide(&mut self, start: &str, span: &Span<'_>, out: &mut String) {
        let chosen = &self.options.chosen;
        let (mut heading, mut line) = (String::new(), start.to_owned());
        for activity in &self.options.activities {
            if !activity.sources.iter().any(|source| span.has(source)) {
                continue;
            }
            heading.push_str(&titles(activity, chosen));
            let lines = (activity.lines)(span, chosen);
            let has_several = match activity.label {
                None => false,
                Some("CPU" | "INTR") => true,
                Some(_) => lines.len() > 1,
            };
            if has_several {
                heading.push_str("[...]");
            }
            let columns = columns(activity, &chosen.cpus, span);
            lines.iter().for_each(|each| Self::fields(activity, &columns, each, &mut line));
        }
        if let Some(known) = self.headings.first_mut().filter(|known| known.is_empty()) {
            *known = format!("# hostname;interval;timestamp{heading}\n");
            out.push_str(known);
        }
        line.pop();
        let _ = writeln!(out, "{line}");
    }

    fn flush(&mut self, out: &mut String) {
        for table in &mut self.tables {
            out.push_str(table);
            table.clear();
        }
    }
}

fn number(column: &ShownColumn, rows: &[Row<'_>]) -> String {
    let value = column.value(rows);
    value.map_or_else(String::new, |value| Style::default().text(value, column.unit()))
}

/// The heading of a table, with the names of the fields.
fn heading(activity: &Activity, chosen: &Chosen) -> String {
    format!("# hostname;interval;timestamp{}\n", titles(activity, chosen))
}

/// The names of the fields of a table.
fn titles(activity: &Activity, chosen: &Chosen) -> String {
    let mut out = activity.heading(chosen).map_or_else(String::new, |label| format!(";{label}"));
    match activity.label {
        Some("INTR") => out.push_str(";CPU*"),
        _ => activity.columns.iter().for_each(|column| _ = write!(out, ";{}", column.title)),
    }
    out
}

impl Report for Sadf {
    fn sources(&self) -> Vec<&'static str> {
        sources(&self.options.activities, &self.options.chosen)
    }

    fn needs_all(&self) -> bool {
        !self.options.is_all && self.options.activities.len() == 1
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        let start = self.start(facts, span.whole_seconds(), span.ended_ns);
        if self.form == Form::Wide {
            self.wide(&start, span, out);
            return Ok(());
        }
        let chosen = &self.options.chosen;
        for (place, activity) in self.options.activities.iter().enumerate() {
            if !activity.sources.iter().any(|source| span.has(source)) {
                continue;
            }
            let out = &mut self.tables[place];
            let known = &mut self.headings[place];
            if self.form == Form::Database && known.is_empty() {
                *known = heading(activity, chosen);
                out.push_str(known);
            }
            let columns = columns(activity, &chosen.cpus, span);
            for line in (activity.lines)(span, chosen) {
                match self.form {
                    Form::Lines => Self::lines(&start, activity, &columns, &line, out),
                    _ => {
                        let _ = write!(out, "{start}");
                        Self::fields(activity, &columns, &line, out);
                        // Behind the last field stands no semicolon.
                        out.pop();
                        out.push('\n');
                    }
                }
            }
        }
        Ok(())
    }

    fn counts_anew(&self) -> bool {
        true
    }

    fn comment(
        &mut self,
        facts: &Facts<'_>,
        defs: &[Arc<SourceDef>],
        comment: &SadcComment,
        out: &mut String,
    ) {
        let text = comment_text(comment);
        let line = format!("{}COM {text}\n", self.start(facts, -1, comment.realtime_ns));
        if self.form == Form::Wide {
            out.push_str(&line);
            return;
        }
        for (activity, table) in self.options.activities.iter().zip(&mut self.tables) {
            if activity.is_recorded(defs) {
                table.push_str(&line);
            }
        }
    }

    fn restart(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        self.flush(out);
        let cpus = facts.meta.cpus();
        let _ = writeln!(out, "{}LINUX-RESTART\t({cpus} CPU)", self.start(facts, -1, now_ns));
        // Headings are repeated, whether something follows or not.
        for (table, heading) in self.tables.iter_mut().zip(&self.headings) {
            table.push_str(heading);
        }
        if self.form == Form::Wide {
            self.flush(out);
        }
    }

    fn end(&mut self, out: &mut String) {
        self.flush(out);
    }
}

/// The report that is a document.
struct DocumentOf {
    document: Document,
    stamp: Stamp,
    options: Options,
}

impl DocumentOf {
    fn new(markup: Markup, stamp: Stamp, options: Options) -> Self {
        let mut document = Document::new(markup);
        document.has_comments = options.has_comments;
        DocumentOf { document, stamp, options }
    }
}

impl Report for DocumentOf {
    fn sources(&self) -> Vec<&'static str> {
        sources(&self.options.activities, &self.options.chosen)
    }

    fn needs_all(&self) -> bool {
        !self.options.is_all && self.options.activities.len() == 1
    }

    fn begin(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        let started_ns = facts.meta.get("started_ns").and_then(|text| text.parse().ok());
        self.document.begin(facts, started_ns.unwrap_or(now_ns), out);
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        let chosen = &self.options.chosen;
        for activity in &self.options.activities {
            if activity.sources.iter().any(|source| span.has(source)) {
                let columns = columns(activity, &chosen.cpus, span);
                let lines = (activity.lines)(span, chosen);
                self.document.table(activity, chosen, &columns, &lines);
            }
        }
        let stamp = self.stamp.of_document(facts, span.ended_ns);
        self.document.interval(&stamp, span.whole_seconds(), out);
        Ok(())
    }

    fn is_whole_when_empty(&self) -> bool {
        true
    }

    fn counts_anew(&self) -> bool {
        true
    }

    fn comment(
        &mut self,
        facts: &Facts<'_>,
        _: &[Arc<SourceDef>],
        comment: &SadcComment,
        _: &mut String,
    ) {
        let stamp = self.stamp.of_document(facts, comment.realtime_ns);
        self.document.comment(&stamp, &String::from_utf8_lossy(&comment.text));
    }

    fn restart(&mut self, facts: &Facts<'_>, now_ns: i64, _: &mut String) {
        let stamp = self.stamp.of_document(facts, now_ns);
        self.document.restart(&stamp, facts.meta.cpus());
    }

    fn end(&mut self, out: &mut String) {
        self.document.end(out);
    }
}
