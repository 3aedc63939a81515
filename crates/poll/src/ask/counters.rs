//! Counters from round to round: whether they were reset, so that what they grew by is not known.
//!
//! A device that was started again shows it by its `sysUpTime`.  Many agents begin that anew when
//! only they were started again, while the counters go on; so a restart counts if a counter of the
//! device went back too, and then for all its counters.  A counter of 64 bits that went back by
//! itself was reset.  One of 32 bits may have wrapped: the interface's
//! `ifCounterDiscontinuityTime` (RFC 2863) is asked then, and only then, so that it costs nothing
//! in other rounds.

use snmp::{Oid, OidRef, SnmpValue};

/// Columns of interfaces: those of `ifTable` and `ifXTable`.
const TABLES: [&[u32]; 2] = [&[1, 3, 6, 1, 2, 1, 2, 2, 1], &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1]];

/// `ifCounterDiscontinuityTime`.
const DISCONTINUITY: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 19];

/// How much a device's clock may differ from ours, in hundredths of a second, besides 2 per cent.
const SLACK_TICKS: u64 = 500;

/// What a `TimeTicks` counts to.
const TICKS: u64 = 1 << 32;

/// A value that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Counter32(u32),
    Counter64(u64),
    Ticks(u32),
}

/// How a counter came from a value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Forward,
    /// The value is less: the counter has wrapped, or was reset.
    Back,
    /// The counter was reset.
    Reset,
}

impl Count {
    pub(super) fn of(value: &SnmpValue<'_>) -> Option<Self> {
        Some(match value {
            SnmpValue::Counter32(number) => Count::Counter32(*number),
            SnmpValue::Counter64(number) => Count::Counter64(*number),
            SnmpValue::TimeTicks(number) => Count::Ticks(*number),
            _ => return None,
        })
    }

    pub(super) fn is_counter(self) -> bool {
        !matches!(self, Count::Ticks(_))
    }

    /// How a counter came here from `before`.
    pub(super) fn growth(self, before: Count) -> Growth {
        match (before, self) {
            (Count::Counter32(before), Count::Counter32(now)) if now < before => Growth::Back,
            (Count::Counter64(before), Count::Counter64(now)) if now < before => {
                // No counter of 64 bits grows by half its range between two rounds.
                let is_wrapped = now.wrapping_sub(before) < 1 << 63;
                if is_wrapped { Growth::Forward } else { Growth::Reset }
            }
            _ => Growth::Forward,
        }
    }
}

/// A device's `sysUpTime`, and when it was answered in ns of a clock that never steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UpTime {
    pub(super) ticks: u32,
    pub(super) at_ns: u64,
}

impl UpTime {
    /// Whether the device was started again between this and `now`.
    pub(super) fn is_restarted(self, now: UpTime) -> bool {
        let elapsed = now.at_ns.saturating_sub(self.at_ns) / 10_000_000;
        let slack = SLACK_TICKS + elapsed / 50;
        let (before, ticks) = (u64::from(self.ticks), u64::from(now.ticks));
        // After 497 days the ticks begin anew by themselves.
        let expected = before + elapsed;
        if expected + slack >= TICKS && (expected % TICKS).abs_diff(ticks) <= slack {
            return false;
        }
        ticks < before || ticks + slack < elapsed
    }
}

/// The object that says when an interface's counter was reset, if `counter` is one of these.
pub(super) fn discontinuity(counter: OidRef<'_>) -> Option<Oid> {
    let rest = TABLES.iter().find_map(|table| {
        let rest: Vec<u32> = counter.after(Oid::new(table).ok()?.as_ref())?.collect();
        Some(rest)
    });
    match rest?.as_slice() {
        [_, interface] => Oid::new(DISCONTINUITY).ok()?.child(&[*interface]).ok(),
        _ => None,
    }
}

/// Whether a discontinuity was between the two times, by the device's own clock.
pub(super) fn is_between(discontinuity: Count, before: UpTime, now: UpTime) -> bool {
    let Count::Ticks(ticks) = discontinuity else { return false };
    ticks != 0
        && ticks.wrapping_sub(before.ticks) <= now.ticks.wrapping_sub(before.ticks)
        && ticks != before.ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_told_from_a_wrap_of_the_clock() {
        let up = |ticks: u32, s: u64| UpTime { ticks, at_ns: s * 1_000_000_000 };
        assert!(!up(100, 0).is_restarted(up(30_100, 300)));
        assert!(up(100_000, 0).is_restarted(up(20_000, 300)));
        // More ticks than before, but fewer than have passed.
        assert!(up(1_000, 0).is_restarted(up(20_000, 300)));
        // Both clocks are a little wrong.
        assert!(!up(1_000, 0).is_restarted(up(30_800, 300)));
        let last = u32::MAX - 9_999;
        assert!(!up(last, 0).is_restarted(up(20_000, 300)));
        assert!(!up(last, 0).is_restarted(up(u32::MAX, 100)));
        assert!(up(last, 0).is_restarted(up(10_000, 300)));
        assert!(up(last - 1_000_000, 0).is_restarted(up(20_000, 300)));
    }

    #[test]
    fn counters_go_on_wrap_or_begin_anew() {
        let (small, wide) = (Count::Counter32, Count::Counter64);
        assert_eq!(small(5).growth(small(4)), Growth::Forward);
        assert_eq!(small(3).growth(small(4)), Growth::Back);
        assert_eq!(wide(3).growth(wide(1 << 62)), Growth::Reset);
        assert_eq!(wide(3).growth(wide(u64::MAX)), Growth::Forward);
        assert_eq!(Count::Ticks(3).growth(Count::Ticks(4)), Growth::Forward);
        assert_eq!(wide(3).growth(small(4)), Growth::Forward);
    }

    #[test]
    fn interfaces_say_when_their_counters_began_anew() {
        let of = |text: &str| {
            let oid: Oid = text.parse().unwrap();
            discontinuity(oid.as_ref()).map(|oid| oid.to_string())
        };
        let expected = Some("1.3.6.1.2.1.31.1.1.1.19.7".to_owned());
        assert_eq!(of("1.3.6.1.2.1.2.2.1.10.7"), expected);
        assert_eq!(of("1.3.6.1.2.1.31.1.1.1.6.7"), expected);
        assert_eq!(of("1.3.6.1.2.1.2.2.1.10"), None);
        assert_eq!(of("1.3.6.1.4.1.9.7"), None);
        let up = |ticks| UpTime { ticks, at_ns: 0 };
        let between = |ticks| is_between(Count::Ticks(ticks), up(100), up(400));
        assert!(between(101) && between(400));
        assert!(!between(0) && !between(100) && !between(401) && !between(50));
    }
}
