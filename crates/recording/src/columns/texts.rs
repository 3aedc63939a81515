//! Kernel texts of a block, path by path, so that each follows the one it is like.

use crate::varint::{put, put_bytes};

/// Kernel texts of a block, path by path.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) paths: Vec<TextPath>,
}

#[derive(Debug, Default)]
pub(super) struct TextPath {
    path: Vec<u8>,
    count: u32,
    last_sample: u32,
    /// Samples and lengths, as they will be written.
    index: Vec<u8>,
    bytes: Vec<u8>,
}

impl Texts {
    pub(super) fn add(
        &mut self,
        sample: u32,
        path: usize,
        new: Option<&[u8]>,
        text: Option<&[u8]>,
    ) {
        if let Some(path) = new {
            self.paths.push(TextPath { path: path.to_vec(), ..TextPath::default() });
        }
        let known = &mut self.paths[path];
        put(&mut known.index, u64::from(sample - known.last_sample));
        known.last_sample = sample;
        known.count += 1;
        put(&mut known.index, text.map_or(0, |text| 1 + text.len() as u64));
        known.bytes.extend_from_slice(text.unwrap_or_default());
    }

    pub(super) fn write(&self, plain: &mut Vec<u8>) {
        put(plain, self.paths.len() as u64);
        for path in &self.paths {
            put_bytes(plain, &path.path);
            put(plain, u64::from(path.count));
            plain.extend_from_slice(&path.index);
        }
        for path in &self.paths {
            plain.extend_from_slice(&path.bytes);
        }
    }
}
