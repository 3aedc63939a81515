//! The tables of interfaces of a device: those that an earlier run found, and when they are walked.
//!
//! A walk costs a request for some 25 rows; so the tables are walked once, and again for an interface
//! that is in none, once a minute at most.

use super::AskedDevice;
use crate::ask::cache::{CachedInterface, InterfaceCache};
use crate::ask::interfaces::table_of;

/// How soon the tables of interfaces are looked at again for one that is not there, in ns.
const LOOK_NS: u64 = 60_000_000_000;

impl AskedDevice {
    /// Takes the interfaces that an earlier run found.
    pub(in crate::ask) fn load_interfaces(&mut self, cache: &InterfaceCache, host: &str) {
        self.tables.interfaces.load(cache, host);
    }

    /// Whether tables of interfaces were walked, and not only found in those of an earlier run.
    pub(in crate::ask) fn has_interfaces(&self) -> bool {
        self.tables.interfaces.is_walked && self.tables.walked_ns.is_some()
    }

    /// The interfaces that are known.
    pub(in crate::ask) fn interfaces(&self) -> impl Iterator<Item = CachedInterface> {
        self.tables.interfaces.entries()
    }

    /// Whether the tables are to be walked before anything else: for the first time, or because an
    /// interface is in none.
    pub(super) fn needs_walk(&self) -> bool {
        let mut selectors = self
            .queries
            .iter()
            .flat_map(|one| one.query.variables.iter())
            .map(|one| &one.interface);
        if !self.tables.interfaces.is_walked {
            return selectors.any(|one| table_of(one).is_some());
        }
        // What an earlier run found of several interfaces is not looked at again at once.
        let Some(walked_ns) = self.tables.walked_ns else {
            return selectors.any(|one| self.tables.interfaces.lacks(one));
        };
        let is_old = self.round.begun_ns.saturating_sub(walked_ns) >= LOOK_NS;
        self.tables.has_missing
            && is_old
            && selectors.any(|one| self.tables.interfaces.find(one).is_err())
    }
}
