//! What is kept of an output that cannot be written while the jobs go on.

/// The first failure of an output, told once.
#[derive(Debug)]
pub(crate) enum Loss<E> {
    /// Everything was written.
    None,
    /// This failed, and was not told yet.
    New(E),
    /// A failure was told.
    Told,
}

impl<E> Loss<E> {
    /// Keeps the failure if it is the first.
    pub(crate) fn note(&mut self, error: E) {
        if matches!(self, Loss::None) {
            *self = Loss::New(error);
        }
    }

    /// The failure, the first time.
    pub(crate) fn take(&mut self) -> Option<E> {
        if !matches!(self, Loss::New(_)) {
            return None;
        }
        match std::mem::replace(self, Loss::Told) {
            Loss::New(error) => Some(error),
            Loss::None | Loss::Told => None,
        }
    }
}
