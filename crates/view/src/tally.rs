//! What instances did in an interval, those that ended in it included: the sums behind groups and
//! trees.
//!
//! Each instance that lives counts with what its counters gained since the reading before; one
//! that is new with all it has, since it is no older than that.  One that ended counts with the
//! account of its whole life, less what readings before have shown of it.  Ends are told at every
//! tick, living ones at the second interval: what ends in between is handed on at once and waits
//! at the receiver until the interval closes.
//!
//! Costs a look-up by name for each end, and for each instance when any came or went.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use layout::{Account, Balance, Frame, Options, Role};
use sample::{Cells, Kind, SourceDef, State, Track};

/// Instances that are gone without an exit event, kept until the next reading.
/// Beyond it their ends count with their whole lives again.
const GONE_MAX: usize = 65_536;

/// What happened to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It lives.
    Lives,
    /// It ended, and its account is known.
    Ended,
    /// It is gone, and there was no exit event.
    Vanished,
    /// It is none, but what several used whose ends nobody told.
    Inferred,
}

/// What an instance did.
pub(crate) struct Event<'a> {
    /// The account that `cells` belong to.
    pub(crate) account: &'static Account,
    /// The instance.
    pub(crate) cells: Cells<'a>,
    /// Of one that ended: where it was seen alive last.
    pub(crate) seen: Option<(&'static Account, Cells<'a>)>,
    pub(crate) fate: Fate,
    /// Whether it began in this interval.
    pub(crate) born: bool,
    /// What it did, by the living account's measures; a level is as it stands.
    pub(crate) gains: &'a [Option<f64>],
    /// All that it ever had of each measure.
    pub(crate) whole: &'a [Option<f64>],
}

/// The end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Close {
    /// How long it was, truly.
    pub(crate) seconds: f64,
    /// Whether there were exit events at all.
    pub(crate) ends_told: bool,
    /// By the machine's own count, in ns.
    pub(crate) busy_ns: Option<f64>,
    pub(crate) attributed_ns: Option<f64>,
    pub(crate) ends_lost: Option<f64>,
}

/// What a tick meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tick {
    /// Nothing is complete yet.
    Goes,
    /// A first reading: whatever was gathered belongs to no interval.
    Base,
    /// An interval is complete.
    Closes(Close),
}

/// Where the accounts of a feed are, and what is remembered between readings.
#[derive(Default)]
pub(crate) struct Tally {
    living: Option<(usize, &'static Account)>,
    ended: Option<(usize, &'static Account)>,
    balance: Option<(usize, &'static Balance)>,
    /// For each measure of the living account that of the ended one.
    matching: Vec<Option<usize>>,
    /// What readings showed of instances that are gone without an end, and for how many readings.
    gone: HashMap<Vec<u8>, (u8, Vec<Option<f64>>)>,
    /// Instances with an exit event since the latest reading.
    told: HashSet<Vec<u8>>,
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
            let place = |name: &str| ended.measures.iter().position(|other| other.name == name);
            tally.matching = living.measures.iter().map(|measure| place(measure.name)).collect();
        }
        tally
    }

    /// The account of those that live.
    pub(crate) fn account(&self) -> Option<&'static Account> {
        self.living.map(|(_, account)| account)
    }

    /// Takes a tick and hands on what instances did.
    pub(crate) fn take(&mut self, frame: &Frame<'_>, receive: &mut dyn FnMut(&Event<'_>)) -> Tick {
        let Some((source, account)) = self.living else { return Tick::Goes };
        let Some(track) = frame.tracks.get(source) else { return Tick::Goes };
        let is_base = track.fresh && track.previous.state != State::Ok;
        if is_base || track.current.state != State::Ok {
            self.gone.clear();
            self.told.clear();
            return if is_base { Tick::Base } else { Tick::Goes };
        }
        let seconds = frame.whole(track).interval_seconds();
        let closes = seconds.filter(|_| track.fresh);
        let ends_told = self.take_ends(frame, track, account, receive);
        let Some(seconds) = closes else { return Tick::Goes };
        self.take_living(frame, track, account, receive);
        self.take_vanished(track, account, !ends_told, receive);
        let balance = self.balance.and_then(|(source, balance)| {
            let row = frame.whole(frame.tracks.get(source).filter(|track| track.fresh)?);
            let values = [balance.busy_ns, balance.attributed_ns, balance.ends_lost];
            Some(values.map(|value| value(&row)))
        });
        let [busy_ns, attributed_ns, ends_lost] = balance.unwrap_or_default();
        Tick::Closes(Close { seconds, ends_told, busy_ns, attributed_ns, ends_lost })
    }

    /// Those that ended since the tick before.  False if nobody tells of ends.
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
        let ends_told = self.says_ends_are_told(frame);
        if !track.fresh || table.rows() == 0 {
            return ends_told;
        }
        let now = index_of(living, false);
        // Between two readings the latest one is all there is to look at.
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
                let life = self.matching[at].and_then(|place| (account.measures[place].of)(&cells));
                let shown = match (&seen, &gone) {
                    (Some(seen), _) => (measure.of)(seen),
                    (None, Some((_, shown))) => shown[at],
                    (None, None) => Some(0.0),
                };
                let is_counter = measure.kind == Kind::Counter;
                let life = life.filter(|_| is_counter);
                self.whole.push(life);
                // Two clocks disagree by a tick at most; less than was shown is nothing more.
                self.gains.push(life.zip(shown).map(|(life, shown)| (life - shown).max(0.0)));
            }
            if seen.is_some() {
                self.told.insert(name.to_vec());
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
        ends_told
    }

    /// What several used together: all of it is new.
    fn take_inferred(
        &mut self,
        account: &'static Account,
        cells: Cells<'_>,
        living_account: &'static Account,
        receive: &mut dyn FnMut(&Event<'_>),
    ) {
        self.gains.clear();
        for (at, measure) in living_account.measures.iter().enumerate() {
            let used = self.matching[at].and_then(|place| (account.measures[place].of)(&cells));
            self.gains.push(used.filter(|_| measure.kind == Kind::Counter));
        }
        let gains = &self.gains[..];
        let (fate, seen, born) = (Fate::Inferred, None, false);
        receive(&Event { account, cells, seen, fate, born, gains, whole: gains });
    }

    /// Whether each end is told by itself, as far as that is said at all.
    fn says_ends_are_told(&self, frame: &Frame<'_>) -> bool {
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
            // One that a reading missed goes on where it was.
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
                // A counter that went back was reset.
                let valid = |gain: &f64| measure.kind != Kind::Counter || *gain >= 0.0;
                self.gains.push(gain.filter(valid));
            }
            let (gains, whole) = (&self.gains[..], &self.whole[..]);
            let fate = Fate::Lives;
            receive(&Event { account, cells, seen: None, fate, born, gains, whole });
        }
    }

    /// Those that the latest reading has no more and whose end nobody told: yet, or at all.  They
    /// are handed on only if nobody tells of ends.
    fn take_vanished(
        &mut self,
        track: &Track,
        account: &'static Account,
        hand_on: bool,
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
                if now.contains_key(name) || self.told.contains(name) || !(account.counts)(&cells) {
                    continue;
                }
                let values: Vec<_> =
                    account.measures.iter().map(|measure| (measure.of)(&cells)).collect();
                if hand_on {
                    let (fate, whole) = (Fate::Vanished, &values[..]);
                    let (seen, born, gains) = (None, false, &[][..]);
                    receive(&Event { account, cells, seen, fate, born, gains, whole });
                }
                if self.gone.len() < GONE_MAX {
                    self.gone.insert(name.to_vec(), (0, values));
                }
            }
            self.told.retain(|name| now.contains_key(name.as_slice()));
        }
    }
}

/// The rows of a reading by their names.
fn index_of(track: &Track, previous: bool) -> HashMap<&[u8], Cells<'_>> {
    let table = if previous { &track.previous.table } else { &track.current.table };
    (0..table.rows()).map(|row| (table.name(row), Cells { table, row })).collect()
}
