//! The kernel's types, parsed once for all sources that load a program, and why one could not.
//!
//! Parsing takes 100 ms and 30 MB; they are given back when the sampler has opened its sources.

use std::sync::{Mutex, PoisonError};

use bpf::{Error, KernelTypes};

/// The kernel's types while sources are being opened: [`SourceContext`](crate::SourceContext) holds it.
#[derive(Default)]
pub struct SharedKernel(Mutex<Option<KernelTypes>>);

impl SharedKernel {
    /// Loads a program with the kernel's types, which the first call parses.
    ///
    /// # Errors
    /// Those of [`KernelTypes::open`] and of `load`.
    pub fn load<T>(&self, load: impl FnOnce(&KernelTypes) -> Result<T, Error>) -> Result<T, Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = match held.take() {
            Some(kernel) => kernel,
            None => KernelTypes::open()?,
        };
        load(held.insert(kernel))
    }

    /// Gives the memory back.  Loading another program later parses them again.
    pub fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Why sources have nothing to read, set when they are opened: [`SourceContext`](crate::SourceContext) holds it.
#[derive(Default)]
pub struct Refusals(Mutex<Vec<(&'static str, String)>>);

impl Refusals {
    /// Sets why the source of this name has nothing.
    pub(crate) fn set(&self, source: &'static str, why: String) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|(name, _)| *name != source);
        held.push((source, why));
    }

    /// Why the source of this name has nothing, if there is a reason.
    pub fn of(&self, source: &str) -> Option<String> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().find(|(name, _)| *name == source).map(|(_, why)| why.clone())
    }
}
