//! A summary that is written: its beginning, and segments one after the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use recording::{put, put_bytes};
use zstd::bulk::Compressor;

use super::column::FieldBytes;
use super::read::{HAS_SAMPLE, Segment, Summary};
use super::{
    FRAMES, HEADER_BYTES, ONE_FRAME, PLAIN, SEGMENT_MAGIC, ZSTD_MAGIC, lengths_ns, prelude,
};
use crate::archived_file::ArchivedFile;

/// Reading the recording takes most of the time: 9 costs a few per cent more of it than 3, and saves
/// 7 % of the bytes of short-lived processes.  Higher levels save 1 % more.
const LEVEL: i32 = 9;

/// A summary that is added to.
pub(super) struct Out {
    pub(super) summary: Summary,
    /// The length of the recording before it was read.
    length: u64,
    compressor: Compressor<'static>,
}

impl Out {
    /// Opens the summary in an open file to add to it; one that cannot be used is made again.
    pub(super) fn open(file: File, archived: &ArchivedFile, length: u64) -> io::Result<Out> {
        let (window_ns, _) = lengths_ns(&archived.file.meta);
        let known = Summary::of(file.try_clone()?, &archived.identity);
        let mut summary = match known.filter(|known| known.window_ns == window_ns) {
            Some(known) => known,
            None => {
                file.set_len(0)?;
                file.write_all_at(&prelude(&archived.identity, 0, window_ns), 0)?;
                let made = Summary::of(file, &archived.identity);
                made.ok_or(io::ErrorKind::InvalidData)?
            }
        };
        // The recording went on after its end.
        let is_old = |segment: &Segment| segment.ends() && segment.recording_bytes != length;
        if let Some(old) = summary.segments.iter().position(is_old) {
            summary.end = summary.segments[old].at;
            summary.segments.truncate(old);
        }
        summary.file.set_len(summary.end)?;
        Ok(Out { summary, length, compressor: Compressor::new(LEVEL)? })
    }

    /// Begins the summary again.
    pub(super) fn begin(&mut self, file: &ArchivedFile, flags: u32) -> io::Result<()> {
        let summary = &mut self.summary;
        summary.file.set_len(0)?;
        let prelude = prelude(&file.identity, flags, summary.window_ns);
        summary.file.write_all_at(&prelude, 0)?;
        summary.segments.clear();
        summary.end = prelude.len() as u64;
        Ok(())
    }

    /// What compresses its parts.
    pub(super) fn compressor(&mut self) -> &mut Compressor<'static> {
        &mut self.compressor
    }

    /// Appends a segment.
    pub(super) fn append(&mut self, mut segment: Segment, body: &Body) -> io::Result<()> {
        segment.at = self.summary.end;
        segment.recording_bytes = self.length;
        segment.directory_bytes = body.directory.len() as u32;
        segment.directory_crc = crc32c::crc32c(&body.directory);
        segment.body_bytes = (body.directory.len() + body.parts.len()) as u64;
        let mut bytes = header(&segment);
        bytes.extend_from_slice(&body.directory);
        bytes.extend_from_slice(&body.parts);
        self.summary.file.write_all_at(&bytes, segment.at)?;
        self.summary.end += bytes.len() as u64;
        self.summary.segments.push(segment);
        Ok(())
    }
}

fn header(segment: &Segment) -> Vec<u8> {
    let mut out = SEGMENT_MAGIC.to_vec();
    let has_sample = if segment.beginning.is_some() { HAS_SAMPLE } else { 0 };
    out.extend_from_slice(&[segment.tier, segment.flags | has_sample, 0, 0]);
    out.extend_from_slice(&segment.from_ns.to_le_bytes());
    out.extend_from_slice(&segment.windows.to_le_bytes());
    out.extend_from_slice(&segment.directory_bytes.to_le_bytes());
    out.extend_from_slice(&segment.body_bytes.to_le_bytes());
    out.extend_from_slice(&segment.recording_bytes.to_le_bytes());
    let beginning = segment.beginning.unwrap_or_default();
    out.extend_from_slice(&beginning.realtime_ns.to_le_bytes());
    out.extend_from_slice(&beginning.monotonic_ns.to_le_bytes());
    out.extend_from_slice(&beginning.missed.to_le_bytes());
    out.extend_from_slice(&segment.latest.0.to_le_bytes());
    out.extend_from_slice(&segment.latest.1.to_le_bytes());
    out.extend_from_slice(&segment.directory_crc.to_le_bytes());
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    debug_assert_eq!(out.len(), HEADER_BYTES);
    out
}

/// Directory and parts of a segment.
#[derive(Default)]
pub(super) struct Body {
    directory: Vec<u8>,
    parts: Vec<u8>,
}

impl Body {
    /// Adds a source without readings.
    pub(super) fn add_nothing(&mut self) {
        put(&mut self.directory, 0);
    }

    /// Adds a source; `edges` has an item for each counter, if the segment has edges.
    pub(super) fn add(
        &mut self,
        compressor: &mut Compressor<'static>,
        head: &[u8],
        fields: &[FieldBytes],
        edges: &[Vec<u8>],
    ) -> io::Result<()> {
        self.add_part(compressor, &[head])?;
        for field in fields {
            match field {
                FieldBytes::Same => put(&mut self.directory, 0),
                FieldBytes::Missing => put(&mut self.directory, 1),
                FieldBytes::Columns(streams) => {
                    self.add_part(compressor, &streams.each_ref().map(Vec::as_slice))?;
                }
            }
        }
        for edges in edges {
            match edges.is_empty() {
                true => put(&mut self.directory, 0),
                false => self.add_part(compressor, &[edges])?,
            }
        }
        Ok(())
    }

    /// Adds a part: its streams in one frame, or each in its own, whichever is smaller.
    fn add_part(
        &mut self,
        compressor: &mut Compressor<'static>,
        streams: &[&[u8]],
    ) -> io::Result<()> {
        let begun = self.parts.len();
        put(&mut self.parts, streams.len() as u64);
        streams.iter().for_each(|stream| put(&mut self.parts, stream.len() as u64));
        let plain = streams.concat();
        let mut each = Vec::new();
        for stream in streams.iter().filter(|stream| !stream.is_empty()) {
            put_bytes(&mut each, frame(&compressor.compress(stream)?));
        }
        let whole = compressor.compress(&plain)?;
        let (kind, stored) = [(PLAIN, &plain[..]), (ONE_FRAME, frame(&whole)), (FRAMES, &each)]
            .into_iter()
            .min_by_key(|kind| kind.1.len())
            .unwrap_or((PLAIN, &plain));
        self.parts.push(kind);
        self.parts.extend_from_slice(stored);
        let crc = crc32c::crc32c(&self.parts[begun..]);
        self.parts.extend_from_slice(&crc.to_le_bytes());
        put(&mut self.directory, (self.parts.len() - begun) as u64);
        Ok(())
    }
}

/// A frame of zstd without its magic number.
fn frame(compressed: &[u8]) -> &[u8] {
    compressed.strip_prefix(&ZSTD_MAGIC).unwrap_or(compressed)
}
