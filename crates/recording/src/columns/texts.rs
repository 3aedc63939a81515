//! Texts of a block: names of instances, texts in cells, and kernel texts.  Kernel texts are sorted
//! by path, so that each follows a similar one and compresses well.

use crate::state::SourceState;
use varint::{put, put_bytes};

/// Writes the names of a table's slots and the texts of its cells; the tick's table, which is of
/// no source, has one slot without a name.
pub(super) fn put_names(plain: &mut Vec<u8>, source: Option<&SourceState>, slots: usize) {
    put(plain, slots as u64);
    for slot in 0..slots {
        let name = source.and_then(|source| source.names.get(slot));
        put_bytes(plain, name.unwrap_or_default());
    }
    let texts = source.map_or(0, |source| source.texts.len());
    put(plain, texts as u64);
    for number in 0..texts {
        let text = source.and_then(|source| source.texts.get(number));
        put_bytes(plain, text.unwrap_or_default());
    }
}

/// Kernel texts of a block, path by path.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Only the first `count` are in use; the others are kept for their memory.
    paths: Vec<TextPath>,
    count: usize,
}

#[derive(Debug, Default)]
struct TextPath {
    path: Vec<u8>,
    count: u32,
    last_sample: u32,
    /// Samples and lengths, as they will be written.
    index: Vec<u8>,
    bytes: Vec<u8>,
}

impl TextPath {
    fn begin(&mut self, path: &[u8]) {
        (self.count, self.last_sample) = (0, 0);
        self.path.clear();
        self.path.extend_from_slice(path);
        self.index.clear();
        self.bytes.clear();
    }
}

impl Texts {
    /// Removes all texts, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(
        &mut self,
        sample: u32,
        path: usize,
        new: Option<&[u8]>,
        text: Option<&[u8]>,
    ) {
        if let Some(path) = new {
            if self.count == self.paths.len() {
                self.paths.push(TextPath::default());
            }
            self.paths[self.count].begin(path);
            self.count += 1;
        }
        let known = &mut self.paths[path];
        put(&mut known.index, u64::from(sample - known.last_sample));
        known.last_sample = sample;
        known.count += 1;
        put(&mut known.index, text.map_or(0, |text| 1 + text.len() as u64));
        known.bytes.extend_from_slice(text.unwrap_or_default());
    }

    pub(super) fn write(&self, plain: &mut Vec<u8>) {
        let paths = &self.paths[..self.count];
        put(plain, paths.len() as u64);
        for path in paths {
            put_bytes(plain, &path.path);
            put(plain, u64::from(path.count));
            plain.extend_from_slice(&path.index);
        }
        for path in paths {
            plain.extend_from_slice(&path.bytes);
        }
    }
}
