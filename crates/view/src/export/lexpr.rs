//! `lexpr`: a line `name value` for each metric, after a line with the time.
//!
//! To the terminal or the socket of `-A`; with `f=FILE`, or beside `-f`, to a snapshot file that is
//! replaced at each report.  Whole numbers are rounded (`%d` of the value plus one half), load
//! averages have two decimals.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use layout::number::push_perl;
use layout::{Frame, Options};
use sample::{Meta, SourceDef};

use super::{Destination, Echo, Export, ExportError, Report, Setting, snapshot_beside, split};
use crate::View;
use crate::export::report::help;
use crate::fields::epoch_text;

const HELP: &str = "\
--export lexpr[,OPTION,…]: a line 'name value' for each metric
  f=FILE    write each report to FILE, replacing the one before
  h         show this text
";

struct Lexpr {
    report: Report,
    text: Vec<u8>,
}

pub(super) fn open(options: &[&str], setting: &Setting) -> Result<Export, ExportError> {
    // Summaries come first, then the time if there are none, then details.
    let mut report = Report::new("lexpr", |position| position.lexpr);
    let mut file = None;
    for option in options {
        let (name, value) = split(option);
        if report.option(name, value)? {
            continue;
        }
        match name {
            "f" if !value.is_empty() => file = Some(PathBuf::from(value)),
            "h" => return Err(help(HELP)),
            "d" => return Err(report.wrong("d= shows collectl's own workings; not here".into())),
            "x" => return Err(report.wrong("x= loads Perl; whit runs none".into())),
            _ => return Err(report.wrong(format!("no option is called '{option}'; see lexpr,h"))),
        }
    }
    report.set(setting.playing, setting.aligned)?;
    if setting.sending && file.is_some() {
        return Err(report.wrong("f= and -A exclude each other".into()));
    }
    if setting.file.is_some() && file.is_some() && !setting.writing {
        return Err(report.wrong("f= and -f together need -P or --rawtoo".into()));
    }
    let beside = setting.file.as_deref().filter(|_| !setting.playing);
    let file = file.or_else(|| beside.map(|path| snapshot_beside(path, path.is_dir())));
    let destination = match file {
        Some(path) if !setting.sending => Destination::Snapshot(path),
        _ => Destination::Output,
    };
    let view = Box::new(Lexpr { report, text: Vec::new() });
    Ok(Export { view, destination, echo: Echo::Nothing, delay_max_seconds: 0 })
}

impl View for Lexpr {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.report.begin(meta, defs, options)
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let reported = self.report.frame(frame);
        let looks = reported.is_some() || (self.report.reduces() && frame.seconds > 0.0);
        if looks && frame.options.exact && frame.meta.origin() == "collectl" {
            self.text.clear();
            self.report.push_exact_lines(frame, &mut self.text);
            out.write_all(&self.text)?;
        }
        let Some(reported) = reported else { return Ok(()) };
        let text = &mut self.text;
        text.clear();
        let mut time = format!("sample.time {}", epoch_text(frame.realtime_ns));
        if frame.single_clock {
            // collectl prints its own times as numbers: 12 and not 12.000.
            time.truncate(time.trim_end_matches('0').trim_end_matches('.').len());
        }
        time.push('\n');
        let mut time_written = self.report.has_summary();
        if time_written {
            text.extend_from_slice(time.as_bytes());
        }
        for metric in reported.iter().filter(|metric| metric.known.is_none_or(|known| known.lexpr))
        {
            if metric.is_detail && !time_written {
                text.extend_from_slice(time.as_bytes());
                time_written = true;
            }
            match metric.digits {
                Some(digits) => {
                    writeln!(text, "{} {:.*}", metric.name, usize::from(digits), metric.value)?;
                }
                None if metric.plain => {
                    write!(text, "{} ", metric.name)?;
                    push_perl(text, metric.value);
                    text.push(b'\n');
                }
                None => {
                    let rounded = (metric.value + 0.5).trunc();
                    // In Perl a number beyond 63 bits becomes negative.
                    let overflows = frame.options.exact && rounded >= 9_223_372_036_854_775_808.0;
                    let whole =
                        if overflows { (rounded as u64).cast_signed() } else { rounded as i64 };
                    writeln!(text, "{} {whole}", metric.name)?;
                }
            }
        }
        if !time_written {
            text.extend_from_slice(time.as_bytes());
        }
        out.write_all(text)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Feed;

    fn show(options: &[&str], shown: Options) -> String {
        let mut export = open(options, &Setting::default()).unwrap();
        Feed::new(shown).show(export.view.as_mut())
    }

    #[test]
    fn a_line_for_each_metric_that_is_there() {
        assert_eq!(
            show(&[], Options::default()),
            "sample.time 11.000\nmeminfo.free 1\npageinfo.fault 50\ncpuload.avg1 0.25\n\
             diskinfo.reads.a 10\ndiskinfo.svctime.a 250\ndiskinfo.reads.gone 1\n\
             sample.time 12.000\nmeminfo.free 1\ncpuload.avg1 0.25\n\
             diskinfo.reads.a 5\ndiskinfo.svctime.a 250\n"
        );
    }

    #[test]
    fn details_alone_have_the_time_before_them() {
        let text = show(&["s=D"], Options::default());
        assert!(text.starts_with("sample.time 11.000\ndiskinfo.reads.a 10\n"), "{text}");
        assert!(!text.contains("meminfo"));
    }

    #[test]
    fn samples_of_a_report_become_one_value() {
        let of = |reduce: &str, name: &str| {
            let text = show(&["i=2", reduce], Options::default());
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len() + 1..].parse::<f64>().unwrap()
        };
        assert_eq!(of("avg", "diskinfo.reads.a"), 8.0, "7.5 rounds up");
        assert_eq!(of("max", "diskinfo.reads.a"), 10.0);
        assert_eq!(of("min", "diskinfo.reads.a"), 5.0);
        assert_eq!(of("tot", "diskinfo.reads.a"), 15.0);
        assert_eq!(of("tot", "meminfo.free"), 1.0, "a level has no total");
        assert_eq!(of("max", "meminfo.free"), 1.0);
        let exact = show(&["i=2", "max"], Options { exact: true, ..Options::default() });
        assert!(exact.contains("meminfo.free 0\n"), "{exact}");
    }

    #[test]
    fn co_leaves_out_what_did_not_change() {
        let text = show(&["co"], Options::default());
        assert_eq!(text.matches("meminfo.free").count(), 1);
        assert_eq!(text.matches("diskinfo.reads.a ").count(), 2);
        assert_eq!(show(&["co", "ttl=1"], Options::default()).matches("meminfo.free").count(), 2);
        let exact = Options { exact: true, ..Options::default() };
        assert_eq!(show(&["co"], exact).matches("meminfo.free").count(), 2);
    }

    #[test]
    fn wrong_options_are_refused() {
        for (options, part) in [
            (vec!["i=x"], "i=x"),
            (vec!["avg", "max"], "only one"),
            (vec!["zz"], "no option is called 'zz'"),
            (vec!["x=extra"], "runs none"),
            (vec!["align"], "needs --align"),
            (vec!["h"], "a line 'name value'"),
        ] {
            let error = open(&options, &Setting::default()).err().unwrap();
            assert!(error.to_string().contains(part), "{options:?}: {error}");
        }
        for (options, part) in [(["i=1.5"], "not a multiple"), (["avg"], "need an i=")] {
            let mut export = open(&options, &Setting::default()).unwrap();
            let mut feed = Feed::new(Options::default());
            let error = feed.try_show(export.view.as_mut()).unwrap_err();
            assert!(error.to_string().contains(part), "{options:?}: {error}");
        }
        let asked = Options { subsystems: "m".into(), ..Options::default() };
        let mut export = open(&["s=D"], &Setting::default()).unwrap();
        let error = Feed::new(asked).try_show(export.view.as_mut()).unwrap_err();
        assert!(error.to_string().contains("'D' is not among -s m"), "{error}");
    }

    #[test]
    fn the_snapshot_stands_beside_the_files() {
        let destination =
            |setting: &Setting, options: &[&str]| open(options, setting).map(|e| e.destination);
        let beside = Setting { file: Some("/no/such/prefix".into()), ..Setting::default() };
        assert_eq!(destination(&beside, &[]).unwrap(), Destination::Snapshot("/no/such/L".into()));
        assert!(destination(&beside, &["f=x"]).is_err());
        let set = Setting::default();
        assert_eq!(destination(&set, &["f=x"]).unwrap(), Destination::Snapshot("x".into()));
        assert!(destination(&Setting { sending: true, ..set }, &["f=x"]).is_err());
    }
}
