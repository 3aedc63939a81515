//! Reads all sources in parallel (`--link`): short ones start again until the longest ends.

use super::values::{Cells, Reading, Values};
use super::{InputError, Linked};
use template::Record;

pub(super) struct Link {
    sources: Vec<Cycled>,
    /// Number of records made.
    made: usize,
    /// Number of sources that were read for the next record.
    asked: usize,
}

struct Cycled {
    values: Values,
    /// The values that were read, to start again with.
    kept: Vec<Cells>,
    /// The value for the record that is being made.
    present: Option<Cells>,
    ended: bool,
}

impl Link {
    pub(super) fn new(sources: Vec<(Values, Linked)>) -> Link {
        let sources = sources.into_iter().map(|(values, _)| Cycled {
            values,
            kept: Vec::new(),
            present: None,
            ended: false,
        });
        Link { sources: sources.collect(), made: 0, asked: 0 }
    }

    /// The next record; `None` when the longest source is at its end.
    pub(super) fn next(&mut self, reading: &mut Reading) -> Result<Option<Record>, InputError> {
        while self.asked < self.sources.len() {
            self.ask(self.asked, reading)?;
            self.asked += 1;
        }
        self.asked = 0;
        if self.sources.iter().all(|source| source.ended) {
            return Ok(None);
        }
        let mut values = Vec::new();
        for source in &mut self.sources {
            match source.present.take() {
                Some(cells) => values.extend(cells),
                // A source without any value gives empty ones.
                None if source.kept.is_empty() => values.push(Vec::new()),
                None => values.extend_from_slice(&source.kept[self.made % source.kept.len()]),
            }
        }
        self.made += 1;
        Ok(Some(Record { values }))
    }

    /// Reads the next value of a source.
    fn ask(&mut self, number: usize, reading: &mut Reading) -> Result<(), InputError> {
        // The last source that has not ended need not be kept: it never starts again.
        let others_ended = {
            let mut others = self.sources.iter().enumerate().filter(|(at, _)| *at != number);
            others.all(|(_, other)| other.ended)
        };
        let source = &mut self.sources[number];
        if source.ended {
            return Ok(());
        }
        source.present = source.values.next(reading)?;
        match &source.present {
            None => source.ended = true,
            Some(_) if others_ended => {}
            Some(cells) => {
                reading.keep(cells)?;
                source.kept.push(cells.clone());
            }
        }
        Ok(())
    }
}
