//! Kernel texts of a block: for each path the latest.
//!
//! Cost: a comparison of the path, usually the next one of the previous sample, and one of the
//! text.  The memory is kept from block to block.

use sample::Interner;

use varint::{put, put_bytes};

/// A kernel file's text at one tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelText {
    /// The latest text in this block.
    pub(crate) text: Vec<u8>,
    /// Whether the latest tick has it.
    pub(crate) fresh: bool,
}

/// The kernel texts of a block, their paths in the order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelTexts {
    paths: Interner,
    /// One for each path; further ones are kept for their memory.
    texts: Vec<KernelText>,
}

impl KernelTexts {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Removes all, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.paths.clear();
    }

    /// Adds a path, without a text yet.
    pub(crate) fn push(&mut self, path: &[u8]) {
        let number = self.paths.push(path);
        if number == self.texts.len() {
            self.texts.push(KernelText::default());
        }
        self.texts[number].text.clear();
        self.texts[number].fresh = false;
    }

    /// The texts, by the numbers of their paths.
    pub(crate) fn all_mut(&mut self) -> &mut [KernelText] {
        &mut self.texts[..self.paths.len()]
    }

    /// Paths and texts of the latest tick.
    pub(crate) fn fresh(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let numbered = self.texts.iter().take(self.paths.len()).enumerate();
        numbered
            .filter(|(_, known)| known.fresh)
            .map(|(number, known)| (self.paths.get(number).unwrap_or_default(), &*known.text))
    }

    /// Appends the texts of a tick to its frame.
    pub(super) fn encode<'a>(
        &mut self,
        texts: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
        out: &mut Vec<u8>,
    ) {
        put(out, texts.clone().count() as u64);
        let mut next = 0;
        for (path, text) in texts {
            let expected = (self.paths.get(next) == Some(path)).then_some(next);
            let found = expected.or_else(|| self.paths.find(path, |_| true));
            let number = found.unwrap_or(self.paths.len());
            put(out, number as u64);
            if found.is_none() {
                put_bytes(out, path);
                self.push(path);
            }
            next = number + 1;
            let known = &mut self.texts[number].text;
            if found.is_some() && known == text {
                put(out, 0);
                continue;
            }
            put(out, 1 + text.len() as u64);
            out.extend_from_slice(text);
            known.clear();
            known.extend_from_slice(text);
        }
    }
}
