//! A device as the session sees it: how long it takes to answer, what it is asked at the moment.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;

use super::Refusal;
use super::engine::Engine;
use crate::message::Version;
use crate::usm::UsmUser;

/// Shortest wait before a request is repeated, in ns.  RFC 6298 takes a second; agents on a local
/// network that lose a request should not wait for that, and 200 ms is far above their hiccups.
const WAIT_NS_MIN: u64 = 200_000_000;

/// The community or the user that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Versions 1 and 2c: a community in clear text.
    Community {
        /// [`Version::V1`] or [`Version::V2c`].
        version: Version,
        /// The community.
        community: Vec<u8>,
    },
    /// Version 3: a user.
    User(UsmUser),
}

/// How a device is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSettings {
    /// Where it listens.
    pub address: SocketAddr,
    /// The socket of the session that it is asked by.
    pub socket: usize,
    /// The community or the user that asks.
    pub security: Security,
    /// How long the first try waits for an answer, in ns.
    pub timeout_ns: u64,
    /// How often a request is sent in all.
    pub tries: u32,
    /// The wait of each further try is that of the try before times this.
    pub backoff: f64,
    /// Most requests that wait for an answer at once; further ones wait their turn.
    pub in_flight_max: u32,
    /// Request ids of 16 bits, for agents that cut them.
    pub has_16_bit_request_ids: bool,
    /// Answers from another address are taken.
    pub is_source_address_lenient: bool,
    /// Answers from another port are taken.
    pub is_source_port_lenient: bool,
}

impl DeviceSettings {
    /// MRTG's defaults for a device: 2 s, five times; a strict address, any port.
    #[must_use]
    pub fn new(address: SocketAddr, security: Security) -> Self {
        Self {
            address,
            socket: 0,
            security,
            timeout_ns: 2_000_000_000,
            tries: 5,
            backoff: 1.0,
            in_flight_max: 2,
            has_16_bit_request_ids: false,
            is_source_address_lenient: false,
            is_source_port_lenient: true,
        }
    }

    /// The configured wait of a try, the first is 0; in ns.
    pub(super) fn try_ns(&self, index: u32) -> u64 {
        let factor = self.backoff.max(0.0).powi(index.min(64) as i32);
        let wait = self.timeout_ns as f64 * factor;
        // Ten minutes are longer than any round.
        wait.clamp(1_000_000.0, 600e9) as u64
    }

    /// The wait of some of the tries together, in ns.
    pub(super) fn whole_ns(&self, tries: Range<u32>) -> u64 {
        tries.take(100).map(|index| self.try_ns(index)).sum()
    }

    /// Whether an answer may come from there.
    pub(super) fn is_source(&self, from: SocketAddr) -> bool {
        (self.is_source_address_lenient || from.ip() == self.address.ip())
            && (self.is_source_port_lenient || from.port() == self.address.port())
    }
}

/// A device and its state.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) settings: DeviceSettings,
    pub(super) queue: VecDeque<u32>,
    pub(super) in_flight: u32,
    pub(super) is_ready: bool,
    pub(super) is_removed: bool,
    /// Why the last answer was refused, since the last that was taken.
    pub(super) refusal: Option<Refusal>,
    /// The engine of version 3; unknown until the device has named it.
    pub(super) engine: Engine,
    round_trip: RoundTrip,
}

/// The round trip of RFC 6298, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    smoothed: u64,
    variation: u64,
}

impl Device {
    pub(super) fn new(settings: DeviceSettings) -> Self {
        Self {
            settings,
            queue: VecDeque::new(),
            in_flight: 0,
            is_ready: false,
            is_removed: false,
            refusal: None,
            engine: Engine::default(),
            round_trip: RoundTrip::default(),
        }
    }

    /// Takes the time between a request that was sent once, and its answer.
    pub(super) fn measure(&mut self, ns: u64) {
        let RoundTrip { smoothed, variation } = &mut self.round_trip;
        let ns = ns.max(1);
        if *smoothed == 0 {
            (*smoothed, *variation) = (ns, ns / 2);
            return;
        }
        *variation = (3 * *variation + smoothed.abs_diff(ns)) / 4;
        *smoothed = (7 * *smoothed + ns) / 8;
    }

    /// The smoothed round trip, in ns; `None` before the first answer.
    pub(super) fn smoothed_ns(&self) -> Option<u64> {
        (self.round_trip.smoothed != 0).then_some(self.round_trip.smoothed)
    }

    /// How long a try waits, in ns: by the round trips, at most as configured.
    pub(super) fn wait_ns(&self, index: u32) -> u64 {
        let most = self.settings.try_ns(index);
        let RoundTrip { smoothed, variation } = self.round_trip;
        if smoothed == 0 {
            return most;
        }
        let wait = (smoothed + 4 * variation).max(WAIT_NS_MIN);
        wait.saturating_mul(1 << index.min(20)).min(most)
    }

    /// Whether a request may be sent.
    pub(super) fn has_room(&self) -> bool {
        !self.is_removed && self.in_flight < self.settings.in_flight_max.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> DeviceSettings {
        let community = b"public".to_vec();
        let security = Security::Community { version: Version::V2c, community };
        DeviceSettings::new("127.0.0.1:161".parse().unwrap(), security)
    }

    #[test]
    fn waits_follow_the_round_trips_below_the_configured_ones() {
        let mut device = Device::new(settings());
        assert_eq!(device.wait_ns(0), 2_000_000_000);
        (0..50).for_each(|_| device.measure(1_000_000));
        assert_eq!(device.wait_ns(0), WAIT_NS_MIN);
        assert_eq!(device.wait_ns(1), 2 * WAIT_NS_MIN);
        assert_eq!(device.wait_ns(9), 2_000_000_000);
        (0..50).for_each(|_| device.measure(3_000_000_000));
        assert_eq!(device.wait_ns(0), 2_000_000_000);
    }

    #[test]
    fn the_whole_wait_is_that_of_all_tries() {
        let mut settings = settings();
        assert_eq!(settings.whole_ns(0..5), 10_000_000_000);
        settings.backoff = 2.0;
        assert_eq!(settings.whole_ns(0..3), 14_000_000_000);
        assert_eq!(settings.whole_ns(1..3), 12_000_000_000);
        settings.backoff = f64::NAN;
        assert!(settings.whole_ns(0..1) > 0);
    }
}
