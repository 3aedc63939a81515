//! Graphite's plain text over TCP: `NAME;TAG=VALUE NUMBER SECONDS`, with tags as since Graphite 1.1.
//!
//! The protocol (<https://graphite.readthedocs.io/en/latest/feeding-carbon.html>) has no acknowledgement.  So
//! each batch has a connection of its own: when all is written, our side of it is closed, and once the other
//! side closes, too, the server has read everything.  What it has read and not yet written to a disk is lost
//! if it ends then; it cannot be asked.

use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::time::Duration;

use connection::{Address, ClientTls};
use http_client::ClientSettings;
use promql::NAME;

use crate::SendError;
use crate::batch::{Batch, BatchSeries, in_order_of_series};
use crate::engine::{MetricEngine, OpenedEngine, SendOutcome};
use crate::settings::SendSettings;

/// The usual port.
pub(crate) const PORT: u16 = 2003;

/// The engine.
pub(crate) struct Graphite {
    address: Address,
    tls: Option<ClientTls>,
    timeout: Duration,
    text: Vec<u8>,
}

impl Graphite {
    pub(crate) fn open(address: &Address, settings: &SendSettings) -> OpenedEngine {
        if settings.authorization.is_some() {
            return Err(SendError::NoToken { kind: "graphite" });
        }
        let ClientSettings { tls, timeout, .. } = settings.client.clone();
        Ok(Box::new(Graphite { address: address.clone(), tls, timeout, text: Vec::new() }))
    }

    /// Writes the text and waits until the server has read it.
    fn deliver(&self) -> io::Result<()> {
        let mut stream = self.address.connect(self.timeout, self.tls.as_ref())?;
        stream.set_write_timeout(Some(self.timeout))?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.write_all(&self.text)?;
        stream.end_writing()?;
        let mut said = [0; 64];
        match stream.read(&mut said) {
            Ok(0) => Ok(()),
            Ok(_) => Err(io::Error::other("it answers, which Graphite never does")),
            Err(error) if is_timeout(&error) => Err(io::Error::other(
                "it did not close the connection after everything was written",
            )),
            Err(error) => Err(error),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Adds the name and the tags of a series.
fn put_name(series: &BatchSeries, number: u32, name: &mut String) {
    let labels = series.labels(number);
    name.push_str(labels.get(NAME));
    for (tag, value) in labels.iter().filter(|(tag, _)| *tag != NAME) {
        name.push(';');
        name.push_str(tag);
        name.push('=');
        // A line ends at a space, a tag at a semicolon, and ~ may not be the first character.
        for (place, c) in value.chars().enumerate() {
            let ends = c.is_whitespace() || c.is_control() || c == ';' || (place == 0 && c == '~');
            name.push(if ends { '_' } else { c });
        }
    }
}

impl MetricEngine for Graphite {
    fn hand_over(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> SendOutcome {
        self.text.clear();
        let (mut name, mut name_of) = (String::new(), None);
        let points = in_order_of_series(batch.points_of(samples));
        for point in points.iter().filter(|point| point.value.is_finite()) {
            if name_of != Some(point.series) {
                name.clear();
                put_name(series, point.series, &mut name);
                name_of = Some(point.series);
            }
            let value = point.value;
            let seconds = point.time_ms.div_euclid(1000);
            // Writing into memory does not fail.
            let _ = writeln!(self.text, "{name} {value:?} {seconds}");
        }
        if self.text.is_empty() {
            return SendOutcome::Acknowledged;
        }
        match self.deliver() {
            Ok(()) => SendOutcome::Acknowledged,
            Err(error) => {
                let why = format!("cannot write to {}: {error}", self.address);
                SendOutcome::Retry { why, after: None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::SeriesKind;

    #[test]
    fn names_have_no_character_that_ends_them() {
        let mut series = BatchSeries::default();
        let labels =
            [(NAME, "a_b"), ("mount", "/my disk;x"), ("home", "~root"), ("e", "ü\n"), ("q", "a=b")];
        let number = series.number(&labels.into_iter().collect(), SeriesKind::Gauge, (None, 0));
        let mut name = String::new();
        put_name(&series, number, &mut name);
        assert_eq!(name, "a_b;e=ü_;home=_root;mount=/my_disk_x;q=a=b");
    }
}
