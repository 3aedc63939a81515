//! Labels of series, each text once: hundreds of thousands of series share some thousand texts.
//!
//! A series is the numbers of the texts of its labels, which has a number of its own by that.  So it takes
//! some 40 bytes, and whoever writes a table of texts into a request looks them up by number.

use promql::Labels;
use sample::Interner;
use varint::{Bytes, put};

/// Labels of series, and their texts, by numbers that count up from 0.
#[derive(Debug, Default)]
pub(crate) struct LabelTable {
    texts: Interner,
    /// For each series the numbers of the texts of its labels: name, value, name, value, in the order of
    /// the names.
    series: Interner,
    /// The numbers of one.
    packed: Vec<u8>,
}

impl LabelTable {
    /// The number of the series with these labels, and whether it is a new one.  Labels are in the order of
    /// their names.
    pub(crate) fn number<'t>(
        &mut self,
        labels: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> (u32, bool) {
        self.packed.clear();
        for (name, value) in labels {
            for text in [name, value] {
                let known = self.texts.find(text.as_bytes(), |_| true);
                let number = known.unwrap_or_else(|| self.texts.push(text.as_bytes()));
                put(&mut self.packed, number as u64);
            }
        }
        let known = self.series.find(&self.packed, |_| true);
        let number = known.unwrap_or_else(|| self.series.push(&self.packed));
        // There is no memory for so many.
        (u32::try_from(number).unwrap_or(u32::MAX), known.is_none())
    }

    /// The labels of a series; none of one that is not there.
    pub(crate) fn get(&self, number: u32) -> SeriesLabels<'_> {
        let packed = self.series.get(number as usize).unwrap_or_default();
        SeriesLabels { texts: &self.texts, packed }
    }

    /// How many texts there are: their numbers are below.
    pub(crate) fn texts(&self) -> usize {
        self.texts.len()
    }

    /// The text of a number; empty if there is none.
    pub(crate) fn text(&self, number: u32) -> &str {
        let text = self.texts.get(number as usize).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// The number of a text, if a label has it.
    pub(crate) fn text_number(&self, text: &str) -> Option<usize> {
        self.texts.find(text.as_bytes(), |_| true)
    }
}

/// The labels of a series.
#[derive(Clone, Copy)]
pub(crate) struct SeriesLabels<'a> {
    texts: &'a Interner,
    packed: &'a [u8],
}

impl<'a> SeriesLabels<'a> {
    /// The texts with their numbers: name, value, name, value, in the order of the names.
    pub(crate) fn numbered(self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let mut bytes = Bytes::new(self.packed);
        std::iter::from_fn(move || {
            let number = usize::try_from(bytes.varint().ok()?).ok()?;
            Some((number, self.texts.get(number)?))
        })
    }

    /// All labels, as name and value, in the order of the names.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        // They were made of texts.
        let mut texts =
            self.numbered().map(|(_, text)| std::str::from_utf8(text).unwrap_or_default());
        std::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
    }

    /// The value of a label; empty if there is none, which means the same.
    pub(crate) fn get(self, name: &str) -> &'a str {
        self.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }

    /// The same labels by themselves.
    pub(crate) fn to_labels(self) -> Labels {
        self.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_one_number_and_come_back() {
        let mut table = LabelTable::default();
        let all: Vec<Labels> = (0..300_u32)
            .map(|at| {
                let name = format!("m{}", at % 7);
                let pairs = [("__name__", name), ("host", format!("h{at}")), ("job", "w".into())];
                pairs.into_iter().take(1 + at as usize % 3).collect()
            })
            .collect();
        let mut numbers: Vec<u32> = Vec::new();
        for labels in &all {
            let (number, is_new) = table.number(labels.iter());
            assert_eq!(is_new, !numbers.contains(&number));
            assert_eq!(table.number(labels.iter()), (number, false));
            assert_eq!(table.get(number).to_labels(), *labels);
            assert_eq!(table.get(number).get("host"), labels.get("host"));
            numbers.push(number);
        }
        let mut apart = all.clone();
        apart.sort();
        apart.dedup();
        let highest = numbers.iter().max().copied().unwrap_or(0) as usize;
        assert_eq!(highest + 1, apart.len());
        // Names of labels and values that many have stand once.
        assert!(table.texts() < 300 + 20, "{}", table.texts());
        assert!(table.text_number("job").is_some());
        assert_eq!(table.text_number("jo"), None);
        assert_eq!(table.get(9999).to_labels(), Labels::default());
    }
}
