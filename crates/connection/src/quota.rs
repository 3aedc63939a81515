//! How many of a kind there may be at once: connections, peers that have not signed in, questions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of places, which are taken and given back; clones count together.
#[derive(Debug, Clone)]
pub struct Quota {
    most: usize,
    taken: Arc<AtomicUsize>,
}

/// One place of a quota, given back when it is dropped.
#[derive(Debug)]
pub struct QuotaPlace(Arc<AtomicUsize>);

impl Quota {
    /// A quota of so many places.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Takes a place; `None` if all are taken.
    #[must_use]
    pub fn acquire(&self) -> Option<QuotaPlace> {
        // A place that is too much is given back at once.
        let before = self.taken.fetch_add(1, Ordering::AcqRel);
        let place = QuotaPlace(Arc::clone(&self.taken));
        (before < self.most).then_some(place)
    }

    /// How many places are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

impl Drop for QuotaPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let quota = Quota::new(2);
        let (first, second) = (quota.acquire(), quota.clone().acquire());
        assert!(first.is_some() && second.is_some() && quota.acquire().is_none());
        drop(first);
        assert_eq!(quota.taken(), 1);
        assert!(quota.acquire().is_some());
    }
}
