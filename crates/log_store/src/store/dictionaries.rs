//! The dictionaries of the processes of a store, as far as chunks with their bytes were read, and
//! records with what they mean by them.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use log_protocol::{ProcessId, ProcessInfo};
use logring::{Dictionary, DictionaryEntry, RingRecord};

use crate::store::segment::Segment;
use crate::store::{Chunk, StreamPart, name_bit};

/// A record of a store, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The process that wrote it.
    pub process: &'a ProcessInfo,
    /// The ring and the thread.
    pub stream: &'a StreamPart,
    /// The record; its stamp is in ns since 1970.
    pub record: &'a RingRecord<'a>,
    /// The dictionary of its process, as far as it is known.
    pub dictionary: &'a Dictionary,
    /// The bytes of the dictionary, if the reader keeps them.
    pub dictionary_bytes: &'a [u8],
}

/// What a visitor does with records.
pub type Visit<'a> = dyn FnMut(&Item<'_>) -> ControlFlow<()> + 'a;

/// Dictionaries by process.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries {
    read: HashMap<ProcessId, Dictionary, foldhash::fast::RandomState>,
    /// The bytes of the dictionaries, if they are to be passed on.
    bytes: Option<HashMap<ProcessId, Vec<u8>>>,
}

impl Dictionaries {
    /// Keeps the bytes too.
    pub(crate) fn keep_bytes(&mut self) {
        self.bytes = Some(HashMap::new());
    }

    /// Takes over those of a chunk.
    pub(crate) fn add_chunk(
        &mut self,
        segment: &Segment,
        at: u64,
        chunk: &Chunk,
    ) -> io::Result<()> {
        let bytes = segment.dictionaries(at, chunk)?;
        for (part, bytes) in chunk.processes.iter().zip(bytes) {
            let dictionary = self.read.entry(part.info.id).or_default();
            let here = dictionary.length_bytes();
            let skip = here.checked_sub(part.dictionary_offset).and_then(|n| n.try_into().ok());
            let new = skip.and_then(|skip: usize| bytes.as_deref()?.get(skip..));
            // What is malformed ends the dictionary; its records are shown without their texts.
            let added = new.map(|new| dictionary.add(new));
            if let (Some(kept), Some(new), Some(Ok(used))) = (&mut self.bytes, new, added) {
                let kept = kept.entry(part.info.id).or_default();
                kept.extend_from_slice(new.get(..used).unwrap_or(new));
            }
        }
        Ok(())
    }

    /// Shows a record of a stream of a chunk.
    pub(crate) fn show(
        &self,
        chunk: &Chunk,
        stream: u32,
        record: &RingRecord<'_>,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let Some(stream) = chunk.streams.get(stream as usize) else {
            return ControlFlow::Continue(());
        };
        let process = &chunk.processes[stream.process as usize].info;
        let Some(dictionary) = self.read.get(&process.id) else {
            return ControlFlow::Continue(());
        };
        let kept = self.bytes.as_ref().and_then(|kept| kept.get(&process.id));
        let dictionary_bytes = kept.map_or(&[][..], Vec::as_slice);
        visit(&Item { process, stream, record, dictionary, dictionary_bytes })
    }

    /// The names of a process's loggers of which a bit is set.
    pub(crate) fn loggers(&self, process: ProcessId, bits: u64) -> impl Iterator<Item = &str> {
        let dictionary = self.read.get(&process);
        let count = dictionary.map_or(0, Dictionary::count);
        let numbers = 1..=u32::try_from(count).unwrap_or(u32::MAX);
        let names = numbers.filter_map(move |number| match dictionary?.get(number)? {
            DictionaryEntry::Context(context) => Some(context.logger_name.as_str()),
            _ => None,
        });
        names.filter(move |name| bits & name_bit(name.as_bytes()) != 0)
    }
}
