//! The lease by a simulated clock, and four pollers at once whose requests, answers and readings are lost or
//! late.  Some 2 s of CPU.

use testkit::Random;

use super::*;

/// The lease of the tests, in ms and in ns.
const LEASE_MS: u64 = 4_000;
const LEASE_NS: u64 = LEASE_MS * 1_000_000;

/// The bucket: its value and the revision.
#[derive(Default)]
struct Store {
    table: Option<Table>,
    revision: u64,
}

impl Store {
    fn put(&mut self, proposal: &Proposal) -> Option<u64> {
        if proposal.revision != self.revision {
            return None;
        }
        self.revision += 1;
        self.table = Some(proposal.table.clone());
        Some(self.revision)
    }

    fn read(&self) -> (Option<Table>, u64) {
        (self.table.clone(), self.revision)
    }
}

fn lease(name: &str, session: u64) -> Lease {
    let mut lease = Lease::new(name, session);
    lease.configure(LEASE_MS, 0);
    lease
}

/// A beat that succeeds; the pollers that were taken out.
fn beat(lease: &mut Lease, store: &mut Store, now_ns: u64) -> Vec<String> {
    let proposal = lease.propose(store.read(), now_ns, true).expect("a proposal");
    let revision = store.put(&proposal).expect("written");
    lease.written(&proposal, revision, now_ns);
    proposal.silent
}

fn used(lease: &Lease, now_ns: u64) -> usize {
    if lease.is_held(now_ns) { lease.mine().iter().filter(|mine| **mine).count() } else { 0 }
}

/// A store in which the first poller has waited for what was before.
fn begun(first: &mut Lease, at_ns: u64) -> Store {
    let mut store = Store::default();
    beat(first, &mut store, at_ns);
    assert_eq!(used(first, at_ns), 0, "nobody knows who polled before");
    assert_eq!(beat(first, &mut store, at_ns + LEASE_NS), [LOST]);
    assert_eq!(used(first, at_ns + LEASE_NS), SLOTS);
    store
}

#[test]
fn the_slots_of_a_silent_poller_are_taken_after_it_has_stopped() {
    let [mut a, mut b] = [lease("a", 1), lease("b", 2)];
    let mut store = begun(&mut a, 0);
    let start = LEASE_NS;
    beat(&mut b, &mut store, start);
    assert_eq!(used(&b, start), 0, "its owner has not given it yet");
    assert!(beat(&mut a, &mut store, start).is_empty());
    beat(&mut b, &mut store, start);
    assert_eq!(used(&a, start) + used(&b, start), SLOTS);
    assert!(used(&b, start) > SLOTS / 3);
    // It was last written at `start`, and stops by its own clock.
    let stopped = start + LEASE_NS / 4 * 3;
    assert!(a.is_held(stopped - 1) && !a.is_held(stopped));
    assert!(beat(&mut b, &mut store, start + LEASE_NS - 1).is_empty());
    assert_eq!(beat(&mut b, &mut store, start + LEASE_NS), ["a"]);
    assert_eq!(used(&b, start + LEASE_NS), SLOTS);
    // It is back: it has nothing, until it is given its slots again.
    beat(&mut a, &mut store, start + LEASE_NS + 1);
    assert_eq!(used(&a, start + LEASE_NS + 1), 0);
    beat(&mut b, &mut store, start + LEASE_NS + 1);
    beat(&mut a, &mut store, start + LEASE_NS + 1);
    assert_eq!(used(&a, start + LEASE_NS + 1) + used(&b, start + LEASE_NS + 1), SLOTS);
}

#[test]
fn after_an_outage_of_the_bucket_everyone_goes_on_with_what_it_had() {
    let [mut a, mut b] = [lease("a", 1), lease("b", 2)];
    let mut store = begun(&mut a, 0);
    let start = LEASE_NS;
    for _ in 0..2 {
        beat(&mut b, &mut store, start);
        beat(&mut a, &mut store, start);
    }
    let (of_a, of_b) = (used(&a, start), used(&b, start));
    let later = start + 10 * LEASE_NS;
    assert_eq!((used(&a, later), used(&b, later)), (0, 0));
    for lease in [&mut a, &mut b] {
        lease.lose_contact();
        assert!(beat(lease, &mut store, later).is_empty());
    }
    assert_eq!((used(&a, later), used(&b, later)), (of_a, of_b));
}

#[test]
fn a_name_is_of_one_poller_and_who_leaves_leaves_its_slots() {
    let [mut a, mut again] = [lease("a", 1), lease("a", 7)];
    let mut store = begun(&mut a, 0);
    let start = LEASE_NS;
    let waits =
        |again: &mut Lease, store: &Store, now_ns| again.propose(store.read(), now_ns, true).err();
    assert_eq!(waits(&mut again, &store, start), Some(Waits::NameIsTaken));
    beat(&mut a, &mut store, start + LEASE_NS);
    assert_eq!(waits(&mut again, &store, start + LEASE_NS), Some(Waits::NameIsTaken));
    let end = a.propose_end(store.table.clone().unwrap(), store.revision).expect("an end");
    assert_eq!(used(&a, start + LEASE_NS), 0, "before it is written");
    store.put(&end).expect("written");
    beat(&mut again, &mut store, start + LEASE_NS);
    assert_eq!(used(&again, start + LEASE_NS), SLOTS, "at once");
}

#[test]
fn a_table_that_is_gone_is_begun_anew_after_a_lease() {
    let [mut a, mut b] = [lease("a", 1), lease("b", 2)];
    begun(&mut a, 0);
    let start = LEASE_NS;
    let mut store = Store { table: None, revision: 0 };
    beat(&mut b, &mut store, start);
    assert_eq!((used(&a, start), used(&b, start)), (SLOTS, 0));
    beat(&mut a, &mut store, start + 1);
    assert_eq!(used(&a, start + 1), 0);
    beat(&mut a, &mut store, start + LEASE_NS);
    assert_eq!(beat(&mut b, &mut store, start + LEASE_NS), [LOST]);
    beat(&mut a, &mut store, start + LEASE_NS);
    let now = start + LEASE_NS;
    assert_eq!(used(&a, now) + used(&b, now), SLOTS);
}

/// A poller of the simulation: its lease, its clock, and what it is about.
struct Simulated {
    lease: Lease,
    offset_ns: u64,
    rate_percent: u64,
    busy: Busy,
}

enum Busy {
    Rests,
    Has((Option<Table>, u64)),
    Sends(Proposal, u64),
    /// Written or not, and the answer is on its way.
    Waits(Proposal, u64, Option<u64>),
}

impl Simulated {
    fn clock_ns(&self, now_ns: u64) -> u64 {
        self.offset_ns + now_ns / 100 * self.rate_percent
    }

    /// Does what is next; something may be lost on the way.
    fn step(&mut self, store: &mut Store, late: &(Option<Table>, u64), now_ns: u64, chance: u64) {
        let own_ns = self.clock_ns(now_ns);
        self.busy = match std::mem::replace(&mut self.busy, Busy::Rests) {
            // A server that is behind answers some reads.
            Busy::Rests if chance < 10 => Busy::Has(late.clone()),
            Busy::Rests => Busy::Has(store.read()),
            Busy::Has(found) => {
                match self.lease.propose(found, own_ns, !(50..95).contains(&chance)) {
                    Ok(proposal) => Busy::Sends(proposal, own_ns),
                    Err(_) => Busy::Rests,
                }
            }
            // The request is lost, or its answer is.
            Busy::Sends(..) if chance < 5 => Busy::Rests,
            Busy::Sends(proposal, sent_ns) => {
                let revision = store.put(&proposal);
                if chance < 10 { Busy::Rests } else { Busy::Waits(proposal, sent_ns, revision) }
            }
            Busy::Waits(proposal, sent_ns, Some(revision)) => {
                self.lease.written(&proposal, revision, sent_ns);
                Busy::Rests
            }
            Busy::Waits(..) => Busy::Rests,
        };
    }
}

/// Whether each slot is used by one; that none is used by two.
fn all_used(pollers: &[Simulated], now_ns: u64, seed: u64) -> bool {
    let mut users = vec![0_u8; SLOTS];
    for one in pollers.iter().filter(|one| one.lease.is_held(one.clock_ns(now_ns))) {
        let mine = one.lease.mine().iter().map(|mine| u8::from(*mine));
        users.iter_mut().zip(mine).for_each(|(count, mine)| *count += mine);
    }
    assert!(users.iter().all(|count| *count <= 1), "seed {seed}");
    users.iter().all(|count| *count == 1)
}

#[test]
fn no_slot_is_ever_used_by_two_whatever_is_lost_or_late() {
    for seed in 0..testkit::share(40) as u64 {
        let mut random = Random::from_seed(seed);
        let (mut store, mut now_ns, mut is_used) = (Store::default(), 0_u64, false);
        let mut late = store.read();
        let mut pollers: Vec<Simulated> = (0..4)
            .map(|number| Simulated {
                lease: lease(&format!("p{number}"), 100 + number),
                offset_ns: random.below(1 << 30),
                rate_percent: 90 + random.below(20),
                busy: Busy::Rests,
            })
            .collect();
        // The poller that stands still, and until when.
        let mut stopped = (0, 0);
        for step in 0..2_000 {
            let is_calm = step > 1_200;
            // Half of the writes fail, since another poller has written: four must come in a lease.
            now_ns += random.below(LEASE_NS / if is_calm { 120 } else { 40 });
            if !is_calm && random.below(200) == 0 {
                stopped = (random.index(pollers.len()), now_ns + random.below(3 * LEASE_NS));
            }
            if random.percent(20) {
                late = store.read();
            }
            let chance = if is_calm { 90 + random.below(10) } else { random.below(100) };
            let place = random.index(pollers.len());
            if place != stopped.0 || now_ns >= stopped.1 {
                pollers[place].step(&mut store, &late, now_ns, chance);
            }
            let before = std::mem::replace(&mut is_used, all_used(&pollers, now_ns, seed));
            is_used |= before && is_calm;
        }
        assert!(is_used, "seed {seed}: in calm all slots are used");
    }
}
