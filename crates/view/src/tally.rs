//! The usage of each instance in an interval, including those that ended in it: the input of groups
//! and trees.
//!
//! A living instance contributes the growth of its counters since the previous reading; a new one
//! its whole counters, because it began after that reading.  An ended one contributes the totals of
//! its exit event minus what earlier readings showed.  Exit events come at every tick, readings of
//! living instances only at the second interval: [`Tally`] passes each exit on at once, and the
//! receiver keeps it until the interval is complete.
//!
//! Costs a look-up by name for each exit, and for each instance when any began or ended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use layout::{Account, Balance, Frame, Options, Role};
use sample::{Cells, Kind, SourceDef, State, Track};

/// Most instances kept until the next reading because they vanished without an exit event.  A late
/// exit event of any other counts with the usage of its whole life.
const GONE_MAX: usize = 65_536;

/// What happened to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It lives.
    Lives,
    /// It ended, and its exit event has its usage.
    Ended,
    /// It is gone, and there was no exit event.
    Vanished,
    /// Not an instance, but the usage of several that ended without exit events.
    Inferred,
}

/// The usage of one instance.
pub(crate) struct Event<'a> {
    /// The account that `cells` belong to.
    pub(crate) account: &'static Account,
    /// The instance.
    pub(crate) cells: Cells<'a>,
    /// For an ended instance: its latest reading while it lived.
    pub(crate) seen: Option<(&'static Account, Cells<'a>)>,
    pub(crate) fate: Fate,
    /// Whether it began in this interval.
    pub(crate) born: bool,
    /// Growth in the interval, in the order of the living account's measures; levels as read.
    pub(crate) gains: &'a [Option<f64>],
    /// Values of its whole life, in the same order.
    pub(crate) whole: &'a [Option<f64>],
}

/// The end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Close {
    /// The measured length of the interval.
    pub(crate) seconds: f64,
    /// Whether the kernel reports each exit (BPF or taskstats).
    pub(crate) has_exit_events: bool,
    /// CPU time by the machine's own counters.
    pub(crate) busy_ns: Option<f64>,
    pub(crate) attributed_ns: Option<f64>,
    pub(crate) ends_lost: Option<f64>,
}

/// What a tick means for the interval.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tick {
    /// The interval is not complete yet.
    Incomplete,
    /// A first reading: the usage passed on so far belongs to no interval.
    Base,
    /// The interval is complete.
    Complete(Close),
}

/// The accounts of a feed, and the state between readings.
#[derive(Default)]
pub(crate) struct Tally {
    living: Option<(usize, &'static Account)>,
    ended: Option<(usize, &'static Account)>,
    balance: Option<(usize, &'static Balance)>,
    /// For each measure of the living account, the index of the same measure in the ended one.
    matching: Vec<Option<usize>>,
    /// Instances that vanished without an exit event: readings since then, and the last values.
    gone: HashMap<Vec<u8>, (u8, Vec<Option<f64>>)>,
    /// Instances with an exit event since the latest reading.
    exited: HashSet<Vec<u8>>,
    gains: Vec<Option<f64>>,
    whole: Vec<Option<f64>>,
}

impl Tally {
    /// Finds the accounts of a feed.
    pub(crate) fn of(defs: &[Arc<SourceDef>], options: &Options) -> Self {
        let mut tally = Tally::default();
        for (source, def) in defs.iter().enumerate() {
            for layout in options.layouts.of(def) {
                match layout.account {
                    Some(account) if account.role == Role::Living => {
                        tally.living.get_or_insert((source, account));
                    }
                    Some(account) => {
                        tally.ended.get_or_insert((source, account));
                    }
                    None => {}
                }
                if let Some(balance) = layout.balance {
                    tally.balance.get_or_insert((source, balance));
                }
            }
        }
        if let (Some((_, living)), Some((_, ended))) = (tally.living, tally.ended) {
            let index = |name: &str| ended.measures.iter().position(|other| other.name == name);
            tally.matching = living.measures.iter().map(|measure| index(measure.name)).collect();
        }
        tally
    }

    /// The account of living instances.
    pub(crate) fn account(&self) -> Option<&'static Account> {
        self.living.map(|(_, account)| account)
    }

    /// Adds a tick and passes the usage of each instance to `receive`.
    pub(crate) fn add_tick(
        &mut self,
        frame: &Frame<'_>,
        receive: &mut dyn FnMut(&Event<'_>),
    ) -> Tick {
        let Some((source, account)) = self.living else { return Tick::Incomplete };
        let Some(track) = frame.tracks.get(source) else { return Tick::Incomplete };
        let is_base = track.fresh && track.previous.state != State::Ok;
        if is_base || track.current.state != State::Ok {
            self.gone.clear();
            self.exited.clear();
            return if is_base { Tick::Base } else { Tick::Incomplete };
        }
        let seconds = frame.whole(track).interval_seconds();
        let closes = seconds.filter(|_| track.fresh);
        let has_exit_events = self.take_ends(frame, track, account, receive);
        let Some(seconds) = closes else { return Tick::Incomplete };
        self.take_living(frame, track, account, receive);
        self.take_vanished(track, account, !has_exit_events, receive);
        let balance = self.balance.and_then(|(source, balance)| {
            let row = frame.whole(frame.tracks.get(source).filter(|track| track.fresh)?);
            let values = [balance.busy_ns, balance.attributed_ns, balance.ends_lost];
            Some(values.map(|value| value(&row)))
        });
        let [busy_ns, attributed_ns, ends_lost] = balance.unwrap_or_default();
        Tick::Complete(Close { seconds, has_exit_events, busy_ns, attributed_ns, ends_lost })
    }

    /// Passes on instances that ended since the previous tick.  False without exit events.
    fn take_ends(
        &mut self,
        frame: &Frame<'_>,
        living: &Track,
        living_account: &'static Account,
        receive: &mut dyn FnMut(&Event<'_>),
    ) -> bool {
        let Some((source, account)) = self.ended else { return false };
        let Some(track) = frame.tracks.get(source) else { return false };
        if track.current.state != State::Ok {
            return false;
        }
        let table = &track.current.table;
        let has_exit_events = self.exits_are_reported(frame);
        if !track.fresh || table.rows() == 0 {
            return has_exit_events;
        }
        let now = index_of(living, false);
        // Between two readings of living instances, only the latest one says who was seen.
        let before = if living.fresh { index_of(living, true) } else { HashMap::new() };
        for row in 0..table.rows() {
            let cells = Cells { table, row };
            if !(account.counts)(&cells) {
                continue;
            }
            if (account.inferred)(&cells) {
                self.take_inferred(account, cells, living_account, receive);
                continue;
            }
            let name = cells.name();
            let seen = now.get(name).or_else(|| before.get(name)).copied();
            let gone = self.gone.remove(name);
            self.gains.clear();
            self.whole.clear();
            for (at, measure) in living_account.measures.iter().enumerate() {
                let life = self.matching[at].and_then(|index| (account.measures[index].of)(&cells));
                let shown = match (&seen, &gone) {
                    (Some(seen), _) => (measure.of)(seen),
                    (None, Some((_, shown))) => shown[at],
                    (None, None) => Some(0.0),
                };
                let is_counter = measure.kind == Kind::Counter;
                let life = life.filter(|_| is_counter);
                self.whole.push(life);
                // The exit event's clock may lag the reading's by a tick: a negative gain is 0.
                self.gains.push(life.zip(shown).map(|(life, shown)| (life - shown).max(0.0)));
            }
            if seen.is_some() {
                self.exited.insert(name.to_vec());
            }
            receive(&Event {
                account,
                cells,
                seen: seen.map(|seen| (living_account, seen)),
                fate: Fate::Ended,
                born: seen.is_none() && gone.is_none(),
                gains: &self.gains,
                whole: &self.whole,
            });
        }
        has_exit_events
    }

    /// Passes on the usage of several instances without exit events: all of it is new.
    fn take_inferred(
        &mut self,
        account: &'static Account,
        cells: Cells<'_>,
        living_account: &'static Account,
        receive: &mut dyn FnMut(&Event<'_>),
    ) {
        self.gains.clear();
        for (at, measure) in living_account.measures.iter().enumerate() {
            let used = self.matching[at].and_then(|index| (account.measures[index].of)(&cells));
            self.gains.push(used.filter(|_| measure.kind == Kind::Counter));
        }
        let gains = &self.gains[..];
        let (fate, seen, born) = (Fate::Inferred, None, false);
        receive(&Event { account, cells, seen, fate, born, gains, whole: gains });
    }

    /// Whether the kernel reports each exit; assumed when no source says so.
    fn exits_are_reported(&self, frame: &Frame<'_>) -> bool {
        let Some((source, balance)) = self.balance else { return true };
        let table = frame.tracks.get(source).map(|track| &track.current.table);
        let Some(table) = table.filter(|table| table.rows() > 0) else { return true };
        (balance.reports_each_end)(&Cells { table, row: 0 })
    }

    fn take_living(
        &mut self,
        frame: &Frame<'_>,
        track: &Track,
        account: &'static Account,
        receive: &mut dyn FnMut(&Event<'_>),
    ) {
        for row in frame.whole(track).rows() {
            let cells = row.now();
            if !(account.counts)(&cells) {
                continue;
            }
            let before = row.before();
            // An instance that one reading missed continues from its last values.
            let gone = if before.is_none() { self.gone.remove(cells.name()) } else { None };
            let born = before.is_none() && gone.is_none();
            self.gains.clear();
            self.whole.clear();
            for (at, measure) in account.measures.iter().enumerate() {
                let value = (measure.of)(&cells);
                self.whole.push(value);
                let shown = match (&before, &gone) {
                    _ if measure.kind != Kind::Counter => Some(0.0),
                    (Some(before), _) => (measure.of)(before),
                    (None, Some((_, shown))) => shown[at],
                    (None, None) => Some(0.0),
                };
                let gain = value.zip(shown).map(|(value, shown)| value - shown);
                // A counter that decreased was reset: its gain is unknown.
                let valid = |gain: &f64| measure.kind != Kind::Counter || *gain >= 0.0;
                self.gains.push(gain.filter(valid));
            }
            let (gains, whole) = (&self.gains[..], &self.whole[..]);
            let fate = Fate::Lives;
            receive(&Event { account, cells, seen: None, fate, born, gains, whole });
        }
    }

    /// Keeps instances that the latest reading lacks and that have had no exit event yet.  They are
    /// passed on as vanished only if `pass_on`, that is without exit events.
    fn take_vanished(
        &mut self,
        track: &Track,
        account: &'static Account,
        pass_on: bool,
        receive: &mut dyn FnMut(&Event<'_>),
    ) {
        self.gone.retain(|_, (age, _)| {
            *age += 1;
            *age <= 1
        });
        let (previous, current) = (&track.previous.table, &track.current.table);
        if !previous.same_rows(current) {
            let now = index_of(track, false);
            for row in 0..previous.rows() {
                let cells = Cells { table: previous, row };
                let name = cells.name();
                if now.contains_key(name) || self.exited.contains(name) || !(account.counts)(&cells)
                {
                    continue;
                }
                let values: Vec<_> =
                    account.measures.iter().map(|measure| (measure.of)(&cells)).collect();
                if pass_on {
                    let (fate, whole) = (Fate::Vanished, &values[..]);
                    let (seen, born, gains) = (None, false, &[][..]);
                    receive(&Event { account, cells, seen, fate, born, gains, whole });
                }
                if self.gone.len() < GONE_MAX {
                    self.gone.insert(name.to_vec(), (0, values));
                }
            }
            self.exited.retain(|name| now.contains_key(name.as_slice()));
        }
    }
}

/// The rows of a reading by their names.
fn index_of(track: &Track, previous: bool) -> HashMap<&[u8], Cells<'_>> {
    let table = if previous { &track.previous.table } else { &track.current.table };
    (0..table.rows()).map(|row| (table.name(row), Cells { table, row })).collect()
}
