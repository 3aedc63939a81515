//! `SendToGraphite`: the readings of a round as lines `m2g.TARGET.NAME VALUE TIME`.
//!
//! The names are MRTG's: `_` becomes a point, commas go away, and `LegendI` and `LegendO` name the
//! values.  A round is one report of a connection to such servers, which has a queue and a thread of its
//! own: a server that hangs delays no round, and one that is back gets what has waited.

use std::fmt::Write as _;

use procfs::SystemClock;
use sink::{Message, Sink};

use crate::config::Config;
use crate::reading::Reading;

/// A connection, kept from round to round.
#[derive(Default)]
pub(super) struct Graphite {
    server: Option<((String, u16), Box<dyn Sink>)>,
    sequence: u64,
}

impl std::fmt::Debug for Graphite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graphite").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl Graphite {
    /// Sends a round's readings, if the configuration names a server.
    pub(super) fn send(
        &mut self,
        config: &Config,
        readings: &[Reading],
        say: &mut dyn FnMut(String),
    ) {
        let Some(address) = &config.global.send_to_graphite else { return };
        let payload = lines(config, readings);
        if payload.is_empty() {
            return;
        }
        let (host, port) = address;
        if self.server.as_ref().is_none_or(|(known, _)| known != address) {
            self.finish(say);
            let clock = Some(Box::new(SystemClock) as _);
            match sink::open_connection(host.clone(), *port, 0, clock) {
                Ok(sink) => self.server = Some((address.clone(), sink)),
                Err(error) => return say(format!("Graphite at {host}:{port}: {error}")),
            }
        }
        let Some((_, server)) = &mut self.server else { return };
        self.sequence += 1;
        let message =
            Message { source: "poll", sequence: self.sequence, payload: payload.as_bytes() };
        let sent = server.send(&message);
        if let Some(notice) = server.take_notice() {
            say(format!("Graphite at {notice}"));
        }
        if let Err(error) = sent {
            say(format!("Graphite at {host}:{port} lost a round: {error}"));
        }
    }

    /// Sends what waits, once more if the server was away; what cannot be sent is said to be lost.
    pub(super) fn finish(&mut self, say: &mut dyn FnMut(String)) {
        let Some(((host, port), mut server)) = self.server.take() else { return };
        let finished = server.finish();
        if let Some(notice) = server.take_notice() {
            say(format!("Graphite at {notice}"));
        }
        let dropped = server.counts().dropped;
        if dropped > 0 || finished.is_err() {
            say(format!("Graphite at {host}:{port} lost {dropped} rounds"));
        }
    }
}

fn lines(config: &Config, readings: &[Reading]) -> String {
    let mut text = String::new();
    for (target, reading) in config.targets.iter().zip(readings) {
        let name = target.name.replace('_', ".").replace(',', "");
        let legends = [(&target.legend_in, "in"), (&target.legend_out, "out")];
        for ((legend, usual), value) in legends.into_iter().zip(&reading.values) {
            let Some(value) = value else { continue };
            let legend = legend.as_deref().filter(|legend| !legend.is_empty() && *legend != "0");
            let legend = legend.map_or_else(|| usual.to_owned(), |legend| legend.replace('_', "."));
            // A space or a line break would be another word or line to the server.
            let legend = legend.replace(|c: char| c.is_whitespace() || c.is_control(), ".");
            let _ = writeln!(text, "m2g.{name}.{legend} {value} {}", reading.time_s());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// A configuration of two targets, and its folder.
    fn config(port: u16) -> (Config, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.cfg");
        let text = format!(
            "WorkDir: /tmp\nLogFormat: rrdtool\nSendToGraphite: 127.0.0.1,{port}\nMaxBytes[_]: 1\n\
             Title[_]: x\nTarget[a_b]: `x`\nLegendI[a_b]: load_1\nTarget[c]: `y`\n"
        );
        std::fs::write(&path, text).expect("written");
        let loading = crate::Config::load(&path, &crate::LoadEnvironment::default());
        let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
        (config, folder)
    }

    fn readings(time_s: i64) -> [Reading; 2] {
        let number = |text: &str| crate::Decimal::parse(text);
        let reading = |time_s: i64, values| Reading {
            time_ns: time_s * 1_000_000_000,
            values,
            ..Reading::default()
        };
        [reading(time_s, [number("1.5"), number("2")]), reading(time_s + 1, [None, number("-3")])]
    }

    fn received(listener: &std::net::TcpListener) -> String {
        let mut text = String::new();
        listener.accept().expect("a client").0.read_to_string(&mut text).expect("text");
        text
    }

    const LINES: &str = "m2g.a.b.load.1 1.5 5\nm2g.a.b.out 2 5\nm2g.c.out -3 6\n";

    #[test]
    fn readings_arrive_as_lines() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (config, _folder) = config(port);
        let mut said = Vec::new();
        let mut graphite = Graphite::default();
        graphite.send(&config, &readings(5), &mut |text| said.push(text));
        graphite.finish(&mut |text| said.push(text));
        assert_eq!(received(&listener), LINES);
        assert_eq!(said, Vec::<String>::new());
    }

    #[test]
    fn a_server_that_is_back_gets_what_has_waited() {
        let closed = testkit::ClosedPort::bind().expect("a port");
        let (config, _folder) = config(closed.port());
        let mut graphite = Graphite::default();
        // Said at once if the connection's thread was quick.
        let mut away = None;
        graphite.send(&config, &readings(5), &mut |text| away = Some(text));
        let notice = || graphite.server.as_mut().and_then(|(_, server)| server.take_notice());
        let away = away.unwrap_or_else(|| testkit::wait_for("the notice", notice));
        assert!(away.contains("refused"), "{away}");
        let listener = closed.listen().expect("the port listens");
        let mut said = Vec::new();
        graphite.send(&config, &readings(5), &mut |text| said.push(text));
        graphite.finish(&mut |text| said.push(text));
        assert_eq!(received(&listener), [LINES, LINES].concat(), "{said:?}");
    }
}
