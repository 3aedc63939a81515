//! `gexpr`: packets to Ganglia's gmond (UDP, also to a multicast group).
//!
//! For each metric a packet with its description and one with its value, in gmond's format since
//! 3.1, which is XDR (RFC 4506): numbers have 4 bytes, big-endian; texts follow their length and
//! are padded with zeros to a multiple of 4.
//!
//! | packet | content |
//! |---|---|
//! | 0x80 | host, name, spoof = 0, type, name, units, slope = 3, tmax, dmax, extras: (key, value) … |
//! | 0x85 | host, name, spoof = 0, format, value as text |
//!
//! Each packet is written by one call of `write`.  Values are whole numbers as collectl sends them,
//! except load averages, which collectl truncates (`--exact` also truncates them).

use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options};
use sample::{Meta, SourceDef};

use super::graphite::sent_name;
use super::report::{ReportedMetric, help};
use super::{
    Destination, Echo, Export, ExportError, Report, Setting, address, check_files, mask, split,
};
use crate::View;

const METADATA: u32 = 0x80;
const VALUE: u32 = 0x85;
/// The slope of a metric that both rises and falls.
const SLOPE_BOTH: u32 = 3;

const HELP: &str = "\
--export gexpr,HOST:PORT[,OPTION,…]: packets to Ganglia's gmond
  d=MASK    4 show the packets in hexadecimal, 8 send nothing
  g         only Ganglia's own metrics, under its names
  G         Ganglia's names where it has them, collectl's for the rest
  h         show this text
";

/// The names that are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Collectl,
    Standard,
    Both,
}

struct Gexpr {
    report: Report,
    names: Names,
    host: String,
    packet: Vec<u8>,
}

pub(super) fn open(options: &[&str], setting: &Setting) -> Result<Export, ExportError> {
    if options.first() == Some(&"h") {
        return Err(help(HELP));
    }
    let (host, port) = address("gexpr", options.first(), None)?;
    check_files("gexpr", setting)?;
    let mut report = Report::new("gexpr", |position| position.gexpr);
    if setting.sending {
        return Err(report.wrong("-A sends elsewhere; leave it out".into()));
    }
    let (mut names, mut bits) = (Names::Collectl, 0);
    for option in &options[1..] {
        let (name, value) = split(option);
        if report.option(name, value)? {
            continue;
        }
        match name {
            "d" => bits = mask("gexpr", value, 12)?,
            "g" | "G" if names != Names::Collectl => {
                return Err(report.wrong("only one of 'g' and 'G'".into()));
            }
            "g" => names = Names::Standard,
            "G" => names = Names::Both,
            "h" => return Err(help(HELP)),
            _ => return Err(report.wrong(format!("no option is called '{option}'"))),
        }
    }
    report.set(setting.playing, setting.aligned)?;
    let destination =
        if bits & 8 != 0 { Destination::Nowhere } else { Destination::Udp { host, port } };
    let echo = if bits & 4 != 0 { Echo::Hex } else { Echo::Nothing };
    let view = Box::new(Gexpr { report, names, host: String::new(), packet: Vec::new() });
    Ok(Export { view, destination, echo, delay_max_seconds: 0 })
}

impl View for Gexpr {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.host = meta.host().to_owned();
        self.report.begin(meta, defs, options)
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(reported) = self.report.frame(frame) else { return Ok(()) };
        let life_seconds = f64::from(self.report.ttl()) * self.report.every_seconds();
        for metric in &reported {
            let Some((name, unit, group, value)) = named(metric, self.names) else { continue };
            let value = match metric.digits {
                Some(digits) if !frame.options.exact => {
                    format!("{value:.*}", usize::from(digits))
                }
                None if metric.plain && !frame.options.exact => value.to_string(),
                _ => (value as i64).to_string(),
            };
            let packet = &mut self.packet;
            packet.clear();
            begin_packet(packet, METADATA, &self.host, &name);
            push_text(packet, "double");
            push_text(packet, &name);
            push_text(packet, unit);
            push_number(packet, SLOPE_BOTH);
            push_number(packet, (2.0 * life_seconds) as u32);
            push_number(packet, (4.0 * life_seconds) as u32);
            push_number(packet, u32::from(!group.is_empty()));
            if !group.is_empty() {
                push_text(packet, "GROUP");
                push_text(packet, group);
            }
            send(out, packet)?;
            packet.clear();
            begin_packet(packet, VALUE, &self.host, &name);
            push_text(packet, "%s");
            push_text(packet, &value);
            send(out, packet)?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The name, unit, group and value of a metric; `None` if it is not sent.
fn named(
    metric: &ReportedMetric,
    names: Names,
) -> Option<(String, &'static str, &'static str, f64)> {
    let Some(known) = metric.known else {
        let own = (metric.name.clone(), "", "whit", metric.value);
        return (names != Names::Standard).then_some(own);
    };
    let standard = known.standard.filter(|_| names != Names::Collectl && metric.instance.is_none());
    if let Some((name, unit, factor)) = standard {
        let group = if known.group.is_empty() { "cpu" } else { known.group };
        return Some((name.to_owned(), unit, group, metric.value * factor));
    }
    if names == Names::Standard || known.group.is_empty() {
        return None;
    }
    Some((sent_name(metric)?, known.unit, known.group, metric.value))
}

fn begin_packet(packet: &mut Vec<u8>, kind: u32, host: &str, name: &str) {
    push_number(packet, kind);
    push_text(packet, host);
    push_text(packet, name);
    // Not spoofed: the values are this host's own.
    push_number(packet, 0);
}

fn push_number(packet: &mut Vec<u8>, number: u32) {
    packet.extend_from_slice(&number.to_be_bytes());
}

fn push_text(packet: &mut Vec<u8>, text: &str) {
    push_number(packet, text.len() as u32);
    packet.extend_from_slice(text.as_bytes());
    packet.resize(packet.len().next_multiple_of(4), 0);
}

/// Sends a packet by one call.
fn send(out: &mut dyn Write, packet: &[u8]) -> io::Result<()> {
    match out.write(packet)? {
        sent if sent == packet.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Feed;

    /// Collects each packet separately, as datagrams.
    #[derive(Default)]
    struct Packets(Vec<Vec<u8>>);

    impl Write for Packets {
        fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
            self.0.push(packet.to_vec());
            Ok(packet.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Reads XDR; checks the padding.
    struct XdrReader<'a>(&'a [u8]);

    impl XdrReader<'_> {
        fn number(&mut self) -> u32 {
            let (number, rest) = self.0.split_first_chunk::<4>().unwrap();
            self.0 = rest;
            u32::from_be_bytes(*number)
        }

        fn text(&mut self) -> String {
            let length = self.number() as usize;
            let (text, rest) = self.0.split_at(length.next_multiple_of(4));
            assert!(text[length..].iter().all(|&byte| byte == 0));
            self.0 = rest;
            String::from_utf8(text[..length].to_vec()).unwrap()
        }
    }

    /// Name, unit and value of every pair of packets, after checking them.
    fn read(options: &[&str], shown: Options) -> Vec<(String, String, String)> {
        let mut export = open(options, &Setting::default()).unwrap();
        let mut packets = Packets::default();
        Feed::new(shown).run(export.view.as_mut(), &mut packets).unwrap();
        assert!(packets.0.len().is_multiple_of(2));
        let mut metrics = Vec::new();
        for pair in packets.0.chunks(2) {
            let mut reader = XdrReader(&pair[0]);
            assert_eq!((reader.number(), reader.text()), (METADATA, "vm".to_owned()));
            let name = reader.text();
            assert_eq!(reader.number(), 0);
            assert_eq!((reader.text(), reader.text()), ("double".to_owned(), name.clone()));
            let unit = reader.text();
            assert_eq!([reader.number(), reader.number(), reader.number()], [3, 10, 20]);
            for _ in 0..reader.number() {
                assert_eq!(reader.text(), "GROUP");
                assert!(!reader.text().is_empty());
            }
            assert!(reader.0.is_empty());
            let mut reader = XdrReader(&pair[1]);
            assert_eq!((reader.number(), reader.text()), (VALUE, "vm".to_owned()));
            assert_eq!((reader.text(), reader.number()), (name.clone(), 0));
            assert_eq!(reader.text(), "%s");
            metrics.push((name, unit, reader.text()));
            assert!(reader.0.is_empty());
        }
        metrics
    }

    fn names(metrics: &[(String, String, String)]) -> Vec<&str> {
        metrics.iter().map(|(name, _, _)| name.as_str()).collect()
    }

    #[test]
    fn packets_say_what_they_are_and_then_the_value() {
        let metrics = read(&["gmond:8649"], Options::default());
        assert_eq!(
            names(&metrics)[..5],
            [
                "diskinfo.reads.a",
                "diskinfo.reads.gone",
                "meminfo.free",
                "pageinfo.fault",
                "cpuload.avg1"
            ]
        );
        assert_eq!(metrics[0].1, "reads/sec");
        assert_eq!(metrics[0].2, "10");
        assert_eq!(metrics[4].2, "0.25");
        let exact = Options { exact: true, ..Options::default() };
        assert!(
            read(&["gmond:8649"], exact)
                .iter()
                .any(|(name, _, v)| { name == "cpuload.avg1" && v == "0" })
        );
    }

    #[test]
    fn ganglia_names() {
        let metrics = read(&["gmond:8649", "g"], Options::default());
        assert_eq!(names(&metrics)[..2], ["mem_free", "load_one"]);
        let metrics = read(&["gmond:8649", "G"], Options::default());
        assert_eq!(names(&metrics)[2..5], ["mem_free", "pageinfo.fault", "load_one"]);
    }
}
