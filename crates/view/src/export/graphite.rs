//! `graphite`: lines `host.name value seconds` for carbon's plain-text port (TCP 2003).
//!
//! Values are whole numbers as collectl sends them, except load averages.  The time is that of the
//! sample.  All lines of a report are written by one call.

use std::io::{self, Write};
use std::sync::Arc;

use layout::number::push_perl;
use layout::{Frame, Options, text};
use sample::{Meta, SourceDef};

use super::{
    Destination, Echo, Export, ExportError, Report, Setting, address, check_files, mask, split,
};
use crate::View;
use crate::export::report::{ReportedMetric, help};

/// Carbon's plain-text port.
const PORT: u16 = 2003;

const HELP: &str = "\
--export graphite,HOST[:PORT][,OPTION,…]: lines to carbon
  b=TEXT    before the host's name
  d=MASK    1 show the lines, 8 send nothing
  e=TEXT    instead of each full stop in the host's name
  f         the host's name with its domain
  h         show this text
  p=TEXT    behind the host's name
  r=SECS    wait a random time up to this before sending
";

struct Graphite {
    report: Report,
    before: String,
    behind: String,
    escape: Option<String>,
    full_name: Option<String>,
    prefix: String,
    text: Vec<u8>,
}

pub(super) fn open(options: &[&str], setting: &Setting) -> Result<Export, ExportError> {
    if options.first() == Some(&"h") {
        return Err(help(HELP));
    }
    let (host, port) = address("graphite", options.first(), Some(PORT))?;
    check_files("graphite", setting)?;
    let mut report = Report::new("graphite", |position| position.gexpr);
    if setting.sending {
        return Err(report.wrong("-A sends elsewhere; leave it out".into()));
    }
    let (mut before, mut behind, mut escape) = (String::new(), String::new(), None);
    let (mut full, mut bits, mut delay_max_seconds) = (false, 0, 0);
    for option in &options[1..] {
        let (name, value) = split(option);
        if report.option(name, value)? {
            continue;
        }
        match name {
            "b" => before = value.to_owned(),
            "d" => bits = mask("graphite", value, 9)?,
            "e" => escape = Some(value.to_owned()),
            "f" => full = true,
            "h" => return Err(help(HELP)),
            "p" => behind = value.to_owned(),
            "r" => {
                let wrong = || report.wrong(format!("r={value}: give a number of seconds"));
                delay_max_seconds = value.parse().map_err(|_| wrong())?;
            }
            _ => return Err(report.wrong(format!("no option is called '{option}'"))),
        }
    }
    report.set(setting.playing, setting.aligned)?;
    let full_name = setting.full_host_name.clone().filter(|_| full);
    if full && full_name.is_none() {
        return Err(report.wrong("f: this machine's full name is not known".into()));
    }
    let view = Graphite {
        report,
        before,
        behind,
        escape,
        full_name,
        prefix: String::new(),
        text: Vec::new(),
    };
    let destination =
        if bits & 8 != 0 { Destination::Nowhere } else { Destination::Tcp { host, port } };
    let echo = if bits & 1 != 0 { Echo::Text } else { Echo::Nothing };
    let view = Box::new(Checked { view, delay_max_seconds });
    Ok(Export { view, destination, echo, delay_max_seconds })
}

/// Checks the random delay against the interval, which is known only when a feed begins.
struct Checked {
    view: Graphite,
    delay_max_seconds: u32,
}

impl View for Checked {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        let view = &mut self.view;
        view.report.begin(meta, defs, options)?;
        let limit = view.report.every_seconds() - 1.0;
        if self.delay_max_seconds > 0 && f64::from(self.delay_max_seconds) > limit {
            let text = format!("r={}: must be at most {limit}", self.delay_max_seconds);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, view.report.wrong(text)));
        }
        let host = view.full_name.as_deref().unwrap_or(meta.host());
        let host = text::escape(host.as_bytes()).replace(char::is_whitespace, "_");
        let host = match &view.escape {
            Some(escape) => host.replace('.', escape),
            None => host,
        };
        view.prefix = format!("{}{host}{}", view.before, view.behind);
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let view = &mut self.view;
        let Some(reported) = view.report.frame(frame) else { return Ok(()) };
        view.text.clear();
        let seconds = frame.realtime_ns.div_euclid(1_000_000_000);
        for metric in &reported {
            let Some(name) = sent_name(metric) else { continue };
            write!(view.text, "{}.{name} ", view.prefix)?;
            match metric.digits {
                Some(digits) => write!(view.text, "{:.*}", usize::from(digits), metric.value)?,
                None if metric.plain => push_perl(&mut view.text, metric.value),
                None => write!(view.text, "{}", metric.value as i64)?,
            }
            writeln!(view.text, " {seconds}")?;
        }
        out.write_all(&view.text)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The name of a metric for graphite and Ganglia; `None` if collectl does not send it to them.
pub(super) fn sent_name(metric: &ReportedMetric) -> Option<String> {
    let Some(known) = metric.known else { return Some(metric.name.clone()) };
    let sent = known.sent?;
    // The instance and what precedes it (`.cpu0`) follow the name.
    Some(format!("{sent}{}", metric.name.strip_prefix(known.name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Feed;

    #[test]
    fn lines_have_host_value_and_time() {
        let options = ["carbon", "b=a.", "p=.x", "e=-", "d=9"];
        let mut export = open(&options, &Setting::default()).unwrap();
        assert_eq!(export.destination, Destination::Nowhere);
        assert_eq!(export.echo, Echo::Text);
        let mut feed = Feed::new(Options::default());
        feed.meta.set("host", "vm.example org");
        let text = feed.show(export.view.as_mut());
        assert_eq!(
            text.lines().take(5).collect::<Vec<_>>(),
            [
                "a.vm-example_org.x.diskinfo.reads.a 10 11",
                "a.vm-example_org.x.diskinfo.time.a 250 11",
                "a.vm-example_org.x.diskinfo.reads.gone 1 11",
                "a.vm-example_org.x.meminfo.free 1 11",
                "a.vm-example_org.x.pageinfo.fault 50 11",
            ]
        );
        assert!(text.contains("cpuload.avg1 0.25 12\n"));
    }

    #[test]
    fn options_that_cannot_be_are_refused() {
        let refused =
            |options: &[&str], setting: &Setting| open(options, setting).err().unwrap().to_string();
        let set = Setting::default();
        assert!(refused(&[], &set).contains("give the address first"));
        assert!(refused(&["carbon", "d=4"], &set).contains("d=4"));
        assert!(refused(&["carbon", "f"], &set).contains("not known"));
        assert!(refused(&["carbon", "r=x"], &set).contains("r=x"));
        let file = Setting { file: Some("x".into()), ..Setting::default() };
        assert!(refused(&["carbon"], &file).contains("needs -P"));
        let mut export = open(&["carbon", "r=5"], &set).unwrap();
        assert_eq!(export.destination, Destination::Tcp { host: "carbon".into(), port: 2003 });
        let error = Feed::new(Options::default()).try_show(export.view.as_mut()).unwrap_err();
        assert!(error.to_string().contains("at most 0"), "{error}");
    }
}
