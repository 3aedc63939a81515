//! The places of connections: a bounded number, and which of them only wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All places of a server.
pub(crate) struct Places {
    most: usize,
    state: Mutex<PlacesState>,
}

#[derive(Default)]
struct PlacesState {
    taken: usize,
    next: u64,
    /// Connections that wait for a request or for their client, by the time since when.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// The place of one connection; free again when it is dropped.
pub(crate) struct ConnectionPlace {
    places: Arc<Places>,
    end: Arc<Notify>,
    /// Since when it waits; 0 if it works.
    since: Mutex<u64>,
}

/// How a place was found.
pub(crate) enum FoundPlace {
    /// One was free.
    Free(ConnectionPlace),
    /// Another connection gives way.
    Instead(ConnectionPlace),
    /// All connections work.
    None,
}

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Places { most: most.max(1), state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, PlacesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection, which waits.
    pub(crate) fn acquire(self: &Arc<Self>) -> FoundPlace {
        let mut state = self.lock();
        let is_full = state.taken >= self.most;
        if is_full {
            let Some((_, end)) = state.waiting.pop_first() else { return FoundPlace::None };
            end.notify_one();
        }
        state.taken += 1;
        drop(state);
        let place =
            ConnectionPlace { places: self.clone(), end: Arc::default(), since: Mutex::new(0) };
        place.waits();
        if is_full { FoundPlace::Instead(place) } else { FoundPlace::Free(place) }
    }
}

impl ConnectionPlace {
    fn since(&self) -> MutexGuard<'_, u64> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it waits for its client, and gives way to others.
    pub(crate) fn waits(&self) {
        let mut since = self.since();
        let mut state = self.places.lock();
        state.waiting.remove(&since);
        state.next += 1;
        *since = state.next;
        let end = self.end.clone();
        let next = state.next;
        state.waiting.insert(next, end);
    }

    /// From now on it works on a request.
    pub(crate) fn works(&self) {
        let mut since = self.since();
        self.places.lock().waiting.remove(&since);
        *since = 0;
    }

    /// Returns when it has to give way.
    pub(crate) async fn must_end(&self) {
        self.end.notified().await;
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let since = *self.since();
        let mut state = self.places.lock();
        state.waiting.remove(&since);
        state.taken -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(found: FoundPlace) -> ConnectionPlace {
        match found {
            FoundPlace::Free(place) | FoundPlace::Instead(place) => place,
            FoundPlace::None => panic!("no place"),
        }
    }

    #[test]
    fn the_one_that_waits_longest_gives_way_and_no_other() {
        let places = Places::new(3);
        let [first, second, third] = [(); 3].map(|()| place(places.acquire()));
        first.works();
        second.waits();
        // The third has waited longest now.
        let instead = places.acquire();
        assert!(matches!(instead, FoundPlace::Instead(_)));
        let fourth = place(instead);
        assert_eq!(places.lock().waiting.len(), 2);
        drop(third);
        second.works();
        fourth.works();
        assert!(matches!(places.acquire(), FoundPlace::None));
        drop(first);
        assert!(matches!(places.acquire(), FoundPlace::Free(_)));
        drop((second, fourth));
        let state = places.lock();
        assert_eq!((state.taken, state.waiting.len()), (0, 0));
    }
}
