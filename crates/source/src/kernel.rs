//! The kernel's types, parsed once for all sources that load a BPF program, and the reasons why
//! sources have nothing to read.
//!
//! Parsing takes 100 ms and 30 MB; the memory is freed when the sampler has opened its sources.

use std::sync::{Mutex, PoisonError};

use bpf::{Error, KernelTypes};

/// The kernel's types while sources are being opened, in [`SourceContext`](crate::SourceContext).
#[derive(Default)]
pub struct SharedKernel(Mutex<Option<KernelTypes>>);

impl SharedKernel {
    /// Loads a program with the kernel's types, which the first call parses.
    ///
    /// # Errors
    /// If the kernel's types cannot be opened ([`KernelTypes::open`]), or the error of `load`.
    pub fn load<T>(&self, load: impl FnOnce(&KernelTypes) -> Result<T, Error>) -> Result<T, Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = match held.take() {
            Some(kernel) => kernel,
            None => KernelTypes::open()?,
        };
        load(held.insert(kernel))
    }

    /// Frees the memory.  Loading another program later parses the types again.
    pub fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The reasons why sources have nothing to read, in [`SourceContext`](crate::SourceContext); set
/// when sources are opened.
#[derive(Default)]
pub struct Refusals(Mutex<Vec<(&'static str, String)>>);

impl Refusals {
    /// Sets the reason why the source of this name has nothing to read.
    pub(crate) fn set(&self, source: &'static str, why: String) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|(name, _)| *name != source);
        held.push((source, why));
    }

    /// The reason why the source of this name has nothing to read, if there is one.
    pub fn of(&self, source: &str) -> Option<String> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().find(|(name, _)| *name == source).map(|(_, why)| why.clone())
    }
}
