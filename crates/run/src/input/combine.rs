//! All sources as one: opened, named, combined, shuffled.

use std::fs::File;
use std::io::Read;
use std::mem;
use std::vec;

use super::columns::Cut;
use super::lines::Lines;
use super::link::Link;
use super::product::Product;
use super::values::{Reading, Values};
use super::{InputError, InputOptions, InputSource, Linked, Sources, ValueNames};
use template::Record;

/// The records of all sources.  After a temporary error (`WouldBlock` of a stream) it may be called
/// again.
pub struct Input {
    names: Vec<Vec<u8>>,
    /// The first column whose name is empty.
    unnamed: Option<usize>,
    reading: Reading,
    how: How,
    mixing: Option<Mixing>,
    warned_of_nul: bool,
}

/// The first column without a name before one that has a name.
fn unnamed_column(header: &[Vec<u8>]) -> Option<usize> {
    let last = header.iter().rposition(|name| !name.is_empty())?;
    header[..last].iter().position(Vec::is_empty)
}

enum How {
    /// One source, streamed.
    Single(Values),
    Product(Product),
    Link(Link),
}

/// State of `--shuf`: everything is read, then shuffled.
enum Mixing {
    Reading { seed: u64, records: Vec<Record> },
    Giving(vec::IntoIter<Record>),
}

impl Input {
    pub(super) fn new(
        sources: Sources,
        options: &InputOptions,
        stdin: Box<dyn Read + Send>,
    ) -> Result<Input, InputError> {
        let sources =
            if sources.is_empty() { vec![(InputSource::Stdin, Linked::No)] } else { sources };
        let file_names = sources.iter().map(|(source, _)| name_of(source)).collect();
        let (mut values, lines) = open_all(sources, options, stdin)?;
        let mut reading = Reading::new(lines, Cut::new(options)?);
        if options.skip_first_line
            && let Some((first, _)) = values.first_mut()
        {
            first.skip_line(&mut reading)?;
        }
        let (mut names, mut unnamed) = (Vec::new(), None);
        match options.header {
            ValueNames::None => {}
            ValueNames::FileNames => names = file_names,
            ValueNames::First => {
                for (values, _) in &mut values {
                    let header = values.header(&mut reading)?;
                    let unnamed_here = unnamed_column(&header).map(|at| names.len() + at);
                    unnamed = unnamed.or(unnamed_here);
                    names.extend(header);
                }
            }
        }
        let how = match values.len() {
            1 => How::Single(values.remove(0).0),
            _ if options.link => How::Link(Link::new(values)),
            _ => How::Product(Product::new(values, &reading)),
        };
        let mixing = options.shuffle.map(|seed| Mixing::Reading { seed, records: Vec::new() });
        Ok(Input { names, unnamed, reading, how, mixing, warned_of_nul: false })
    }

    /// The names of the values, by position (`--header`); empty without a header, and an empty name
    /// is no name.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The position, from 1, of a column whose name in the header is empty.
    pub fn unnamed(&self) -> Option<i32> {
        self.unnamed.and_then(|at| i32::try_from(at + 1).ok())
    }

    /// The warnings since the last call, each text once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        if !self.reading.had_nul || mem::replace(&mut self.warned_of_nul, true) {
            return Vec::new();
        }
        let text = "a NUL in the input was replaced with \\0, as no argument can hold one: \
                    did you mean --null?";
        vec![text.to_owned()]
    }

    fn next_combined(&mut self) -> Result<Option<Record>, InputError> {
        match &mut self.how {
            How::Single(values) => {
                Ok(values.next(&mut self.reading)?.map(|values| Record { values }))
            }
            How::Product(product) => product.next(&mut self.reading),
            How::Link(link) => link.next(&mut self.reading),
        }
    }

    /// Reads all records to shuffle, then shuffles them (Fisher and Yates).
    fn next_mixed(&mut self) -> Result<Option<Record>, InputError> {
        loop {
            let next = match &self.mixing {
                Some(Mixing::Giving(_)) => None,
                _ => self.next_combined()?,
            };
            match &mut self.mixing {
                None => return Ok(next),
                Some(Mixing::Giving(records)) => return Ok(records.next()),
                Some(Mixing::Reading { seed, records }) => match next {
                    Some(record) => {
                        self.reading.keep(&record.values)?;
                        records.push(record);
                    }
                    None => {
                        let mut random = Random(*seed);
                        let mut records = mem::take(records);
                        for last in (1..records.len()).rev() {
                            records.swap(last, random.below(last + 1));
                        }
                        self.mixing = Some(Mixing::Giving(records.into_iter()));
                    }
                },
            }
        }
    }
}

impl Iterator for Input {
    type Item = Result<Record, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.mixing.is_none() {
            return self.next_combined().transpose();
        }
        self.next_mixed().transpose()
    }
}

/// The name of a source for `--header 0`.
fn name_of(source: &InputSource) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    match source {
        InputSource::Arguments(_) => Vec::new(),
        InputSource::File(path) => path.as_os_str().as_bytes().to_vec(),
        InputSource::Stdin => b"-".to_vec(),
    }
}

type LinkedValues = Vec<(Values, Linked)>;

/// Opens all sources.  If standard input is several of them, they take turns with its lines.
fn open_all(
    sources: Sources,
    options: &InputOptions,
    stdin: Box<dyn Read + Send>,
) -> Result<(LinkedValues, Vec<Lines>), InputError> {
    let mut values = Vec::with_capacity(sources.len());
    let mut lines: Vec<Lines> = Vec::with_capacity(sources.len());
    let (mut stdin, mut stdin_number) = (Some(stdin), 0);
    for (source, linked) in sources {
        let delimiter = &options.delimiter;
        let mut number = lines.len();
        match source {
            InputSource::Arguments(arguments) => {
                lines.push(Lines::of_arguments(arguments, delimiter));
            }
            InputSource::File(path) => {
                let name = path.display().to_string();
                let file = File::open(&path)
                    .map_err(|error| InputError::Open { path: name.clone(), error })?;
                lines.push(Lines::of_stream(name, Box::new(file), delimiter));
            }
            InputSource::Stdin => match stdin.take() {
                Some(stream) => {
                    stdin_number = number;
                    lines.push(Lines::of_stream("standard input".to_owned(), stream, delimiter));
                }
                None => number = stdin_number,
            },
        }
        values.push((Values::new(number, options), linked));
    }
    Ok((values, lines))
}

/// Pseudo-random numbers (SplitMix64): good enough for shuffling, and reproducible by the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The high half of the product is uniform below the limit, with an error of less than
        // 2^-40.
        ((u128::from(mixed) * limit as u128) >> 64) as usize
    }
}
