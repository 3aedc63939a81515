//! The schedule as a whole, but for its gates.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::*;
use super::fake::Fake;
use super::simulation::{Event, OnTerm, Plan, Simulation, job};
use crate::Outcome::{Exited, Killed, Signalled};

/// `-j N`.
pub(super) fn at_once(jobs: u32) -> ScheduleOptions {
    ScheduleOptions { jobs: Jobs::number(jobs), ..ScheduleOptions::default() }
}

fn halt(jobs: u32, halt: &str) -> ScheduleOptions {
    let halt = Halt::parse(halt).unwrap_or_else(|error| panic!("{error}"));
    ScheduleOptions { halt, ..at_once(jobs) }
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn as_many_run_at_once_as_there_are_slots() {
    let mut run = Simulation::new(at_once(3), &Fake::new(8), 7, |_, _| job(100, 0));
    assert_eq!(run.run(), 0);
    assert_eq!(run.starts_ms(), [0, 0, 0, 100, 100, 100, 200]);
    let mut one = Simulation::new(ScheduleOptions::default(), &Fake::new(1), 3, |_, _| job(10, 1));
    assert_eq!(one.run(), 3);
    assert_eq!(one.starts_ms(), [0, 10, 20]);
}

#[test]
fn a_file_changes_the_number_of_slots_while_jobs_run() {
    let machine = Fake::new(4);
    let holds = |text: &'static str| {
        move |_: &mut Schedule, machine: &Fake| {
            machine.now(|says| {
                says.files.insert("procfile".into(), text.into());
            });
        }
    };
    machine.now(|says| {
        says.files.insert("procfile".into(), b"1".to_vec());
    });
    let jobs = Jobs::parse("procfile").unwrap_or_else(|error| panic!("{error}"));
    let options = ScheduleOptions { jobs, ..ScheduleOptions::default() };
    let mut run = Simulation::new(options, &machine, 12, |_, _| job(100, 0));
    run.at(150, holds("75%\n"));
    run.at(350, holds(""));
    run.at(450, holds("1\n"));
    run.run();
    // One, then three from the end after the change; an empty file changes nothing; then running
    // jobs finish, and one at a time continues.
    assert_eq!(run.starts_ms(), [0, 100, 200, 200, 200, 300, 300, 300, 400, 400, 400, 500]);
    assert_eq!(run.schedule.slots(), 1);
}

#[test]
fn auto_finds_fewer_slots_where_more_fail() {
    let jobs = Jobs::parse("20auto").unwrap_or_else(|error| panic!("{error}"));
    let options = ScheduleOptions { jobs, ..ScheduleOptions::default() };
    let mut failing = Simulation::new(options.clone(), &Fake::new(4), 30, |_, _| job(100, 1));
    failing.run();
    assert_eq!(failing.schedule.slots(), 1);
    let mut mixed =
        Simulation::new(options, &Fake::new(4), 200, |seq, _| job(100, u8::from(seq <= 20)));
    mixed.run();
    assert_eq!(mixed.schedule.slots(), 20, "it goes up again, and not above what was asked for");
}

#[test]
fn starts_are_a_delay_apart_retries_too() {
    let delay = Some(Delay { wait: ms(200), auto: false });
    let options = ScheduleOptions { delay, retries: Some(2), ..at_once(9) };
    let mut run = Simulation::new(options, &Fake::new(4), 3, |seq, attempt| {
        job(10, u8::from(seq == 1 && attempt == 1))
    });
    assert_eq!(run.run(), 0);
    assert_eq!(run.starts_ms(), [0, 200, 400, 600]);
}

#[test]
fn an_auto_delay_shrinks_on_success_and_grows_on_failure() {
    let delay = Some(Delay { wait: ms(100), auto: true });
    let options = ScheduleOptions { delay, ..at_once(9) };
    let mut good = Simulation::new(options.clone(), &Fake::new(4), 4, |_, _| job(1, 0));
    good.run();
    // A learned value is used from the next start on: 100, 90, 81.
    assert_eq!(good.starts_ms(), [0, 100, 190, 271]);
    let mut bad = Simulation::new(options, &Fake::new(4), 4, |_, _| job(1, 1));
    bad.run();
    assert_eq!(bad.starts_ms(), [0, 100, 230, 399]);
}

#[test]
fn a_timeout_ends_what_runs_too_long() {
    let options = ScheduleOptions { timeout: Some(Timeout::Fixed(ms(500))), ..at_once(3) };
    let mut run = Simulation::new(options, &Fake::new(4), 3, |seq, _| match seq {
        1 => job(499, 0),
        2 => job(3000, 0),
        _ => Plan { on_term: OnTerm::Ignores, ..job(3000, 0) },
    });
    assert_eq!(run.run(), 2);
    assert_eq!(run.signals_of(1), []);
    assert_eq!(run.signals_of(2), [(500, 15)]);
    assert_eq!(run.signals_of(3), [(500, 15), (700, 15), (800, 15), (850, 9)]);
    assert_eq!(run.log(), [(499, 1, Exited(0)), (500, 2, Killed(15)), (850, 3, Killed(9))]);
    assert!(run.events.contains(&Event::Warn(500, 2, EndReason::TimedOut)));
}

#[test]
fn a_job_that_catches_the_signal_has_its_own_exit_code_but_no_success() {
    let options = ScheduleOptions { timeout: Some(Timeout::Fixed(ms(500))), ..at_once(3) };
    let mut run = Simulation::new(options, &Fake::new(4), 2, |seq, _| Plan {
        on_term: OnTerm::Exits(if seq == 1 { 5 } else { 0 }),
        ..job(3000, 0)
    });
    assert_eq!(run.run(), 2);
    assert_eq!(run.log(), [(500, 1, Exited(5)), (500, 2, Killed(0))]);
}

#[test]
fn a_slot_given_to_another_job_gets_no_old_signals() {
    let options = ScheduleOptions { timeout: Some(Timeout::Fixed(ms(500))), ..at_once(1) };
    let mut run = Simulation::new(options, &Fake::new(4), 2, |seq, _| match seq {
        1 => job(3000, 0),
        _ => job(400, 0),
    });
    run.run();
    assert_eq!(run.signals_of(1), [(500, 15)]);
    assert_eq!(run.signals_of(2), [], "the second signal of the first job would be due at 700");
}

#[test]
fn a_percentage_is_of_the_median_of_good_jobs() {
    let options = ScheduleOptions { timeout: Some(Timeout::Percent(300.0)), ..at_once(1) };
    let mut run = Simulation::new(options, &Fake::new(4), 5, |seq, _| match seq {
        1 => job(5000, 1),
        2 => job(100, 0),
        3 => job(200, 0),
        4 => job(5000, 0),
        _ => job(290, 0),
    });
    assert_eq!(run.run(), 2);
    assert_eq!(run.signals_of(4), [(5600, 15)], "300 ms after its start at 5300");
    assert_eq!(run.signals_of(1), []);
    assert_eq!(run.signals_of(5), []);
}

#[test]
fn a_percentage_ends_those_that_run_when_it_is_learnt() {
    let options = ScheduleOptions { timeout: Some(Timeout::Percent(200.0)), ..at_once(2) };
    let mut run = Simulation::new(options, &Fake::new(4), 2, |seq, _| job(seq * 100 - 50, 0));
    assert_eq!(run.run(), 1);
    assert_eq!(run.signals_of(2), [(100, 15)]);
}

#[test]
fn failures_are_tried_again_at_once_and_logged_once() {
    let options = ScheduleOptions { retries: Some(3), ..at_once(1) };
    let mut run = Simulation::new(options, &Fake::new(4), 4, |seq, attempt| match seq {
        1 => job(10, u8::from(attempt < 3)),
        2 => job(10, 7),
        3 => Plan { ends: Outcome::Skipped, ..job(0, 0) },
        _ => Plan { ends: Signalled(9), ..job(10, 0) },
    });
    assert_eq!(run.run(), 3, "the one that never comes off, the skipped and the killed one");
    assert_eq!(run.log(), [(30, 1, Exited(0)), (60, 2, Exited(7)), (90, 4, Signalled(9))]);
    assert_eq!((run.schedule.succeeded(), run.schedule.failed()), (1, 3));
}

#[test]
fn no_number_of_retries_is_without_end() {
    let options = ScheduleOptions { retries: Some(0), ..at_once(2) };
    let mut run =
        Simulation::new(options, &Fake::new(4), 2, |_, attempt| job(1, u8::from(attempt < 1000)));
    assert_eq!(run.run(), 0);
    assert_eq!(run.starts_ms().len(), 2000);
    assert!(run.schedule.failures.is_empty(), "what has ended for good is forgotten");
}

#[test]
fn a_timeout_is_a_failure_to_be_tried_again() {
    let options = ScheduleOptions {
        timeout: Some(Timeout::Fixed(ms(300))),
        retries: Some(2),
        ..halt(1, "now,fail=1")
    };
    let mut run = Simulation::new(options, &Fake::new(4), 2, |_, _| job(2000, 0));
    assert_eq!(run.run(), 255);
    assert_eq!(run.starts_ms(), [0, 300]);
    assert_eq!(run.log(), [(600, 1, Killed(15))]);
}

#[test]
fn soon_lets_those_that_run_go_on() {
    let mut run = Simulation::new(halt(3, "soon,fail=1"), &Fake::new(4), 6, |seq, _| {
        job(seq * 100, seq as u8)
    });
    assert_eq!(run.run(), 1);
    let logged = [(100, 1, Exited(1)), (200, 2, Exited(2)), (300, 3, Exited(3))];
    assert_eq!(run.log(), logged);
    let said = [2, 1, 0].map(|running| Halted::Soon { running });
    assert_eq!(run.halts, said);
}

#[test]
fn now_ends_those_that_run_and_forgets_them() {
    let mut run = Simulation::new(halt(3, "now,success=1"), &Fake::new(4), 6, |seq, _| {
        let plan = job(seq * 1000, if seq == 1 { 0 } else { 9 });
        if seq == 2 { Plan { on_term: OnTerm::Ignores, ..plan } } else { plan }
    });
    assert_eq!(run.run(), 0);
    assert_eq!(run.log(), [(1000, 1, Exited(0))]);
    assert_eq!(run.signals_of(2), [(1000, 15), (1200, 15), (1300, 15), (1350, 9)]);
    assert_eq!(run.signals_of(3), [(1000, 15)]);
    assert!(run.events.contains(&Event::End(1350, 2, Killed(9), AfterEnd::Dropped)));
    assert_eq!(run.halts[0], Halted::Now);
}

#[test]
fn a_skipped_job_counts_as_failed() {
    let skip = |seq, _| match seq {
        2 => Plan { ends: Outcome::Skipped, ..job(0, 0) },
        _ => job(10, 0),
    };
    let mut all = Simulation::new(at_once(1), &Fake::new(4), 3, skip);
    assert_eq!(all.run(), 1);
    let mut stopped = Simulation::new(halt(1, "soon,fail=1"), &Fake::new(4), 3, skip);
    assert_eq!(stopped.run(), 254);
    assert_eq!(stopped.starts_ms().len(), 1);
}

#[test]
fn a_user_may_stop_it_gently_or_not() {
    let mut drained = Simulation::new(at_once(2), &Fake::new(4), 9, |_, _| job(100, 0));
    drained.at(150, |schedule, _| schedule.stop_starting());
    assert_eq!(drained.run(), 0);
    assert_eq!(drained.starts_ms(), [0, 0, 100, 100]);
    assert_eq!(drained.log().len(), 4);
    assert!(drained.schedule.is_stopped());
}

#[test]
fn a_refused_start_holds_the_others_back() {
    let machine = &mut Fake::new(4);
    let now = Instant::now();
    let mut schedule = Schedule::new(at_once(50), now, machine).unwrap_or_else(|e| panic!("{e}"));
    for seq in 1..=3 {
        let Start::Now { slot } = schedule.may_start(now, machine) else { panic!("no start") };
        schedule.started(seq, slot, now);
    }
    schedule.refused(3, now);
    assert_eq!(schedule.slots(), 2);
    assert_eq!(schedule.may_start(now, machine), Start::OnEnd);
    assert_eq!(schedule.running(), 2);
    schedule.ended(1, Exited(0), now, machine);
    assert_eq!(schedule.may_start(now, machine), Start::At(now + ms(1000)));
    assert_eq!(schedule.may_start(now + ms(1000), machine), Start::Now { slot: 1 });
}

#[test]
fn an_end_of_nothing_is_no_end() {
    let machine = &mut Fake::new(4);
    let now = Instant::now();
    let mut schedule = Schedule::new(at_once(1), now, machine).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(schedule.ended(7, Exited(1), now, machine).verdict, AfterEnd::Dropped);
    assert_eq!(schedule.ended(0, Exited(1), now, machine).verdict, AfterEnd::Dropped);
    assert_eq!(schedule.exit_code(), 0);
    assert_eq!(schedule.may_start(now, machine), Start::Now { slot: 1 });
}

proptest! {
    /// With any options: no more jobs run than allowed, slots are never shared, every job ends as
    /// often as it starts, and the run ends.
    #[test]
    fn nothing_is_lost_and_no_slot_is_shared(
        slots in 1_u32..6,
        jobs in 0_u64..40,
        retries in 1_u32..4,
        delay_ms in 0_u64..30,
        timeout_ms in 1_u64..200,
        rule in prop::sample::select(vec![
            "never", "now,fail=1", "soon,fail=3", "now,done=50%", "soon,success=2", "10%",
        ]),
        seed in any::<u64>(),
    ) {
        let options = ScheduleOptions {
            retries: Some(retries),
            delay: Some(Delay { wait: ms(delay_ms), auto: seed % 3 == 0 }),
            timeout: Some(Timeout::Fixed(ms(timeout_ms))),
            ..halt(slots, rule)
        };
        let mut run = Simulation::new(options, &Fake::new(4), jobs, move |seq, attempt| {
            let dice = seed.wrapping_mul(seq * 31 + u64::from(attempt)) >> 7;
            let on_term = if dice % 5 == 0 { OnTerm::Ignores } else { OnTerm::Dies };
            Plan { on_term, ..job(dice % 250, (dice % 3) as u8) }
        });
        run.run();
        let mut in_slot = std::collections::BTreeMap::new();
        for event in &run.events {
            match event {
                Event::Start(_, seq, slot) => {
                    prop_assert!(in_slot.insert(*seq, *slot).is_none());
                    let others = in_slot.values().filter(|other| *other == slot).count();
                    prop_assert_eq!(others, 1);
                    prop_assert!(in_slot.len() <= slots as usize);
                    prop_assert!(*slot <= slots);
                }
                Event::End(_, seq, ..) => prop_assert!(in_slot.remove(seq).is_some()),
                _ => {}
            }
        }
        prop_assert!(in_slot.is_empty());
        prop_assert_eq!(run.schedule.running(), 0);
        let counted = run.schedule.succeeded() + run.schedule.failed();
        prop_assert_eq!(counted, run.log().len() as u64);
        if rule == "never" {
            prop_assert_eq!(counted, jobs);
        }
    }
}
