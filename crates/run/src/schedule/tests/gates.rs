//! The gates.

use super::super::*;
use super::fake::Fake;
use super::simulation::{Event, Simulation, job};
use super::whole::{at_once, ms};
use crate::Outcome::{Exited, Killed};

/// A gigabyte: what the fake machine has free at first.
const GIB: u64 = 1 << 30;

fn has(free_bytes: u64) -> impl Fn(&mut Schedule, &Fake) {
    move |_, machine| machine.now(|says| says.memory_bytes = free_bytes)
}

#[test]
fn load_counts_jobs_between_two_counts() {
    let load = Load::parse("100%").ok();
    let machine = Fake::new(4);
    machine.now(|says| says.busy = 1);
    let options = ScheduleOptions { load: load.clone(), ..at_once(10) };
    let mut run = Simulation::new(options, &machine, 100, |_, _| job(100, 0));
    run.run();
    // One thread is busy anyhow, so three jobs of 100 ms run at once, and starts follow ends.
    assert_eq!(run.starts_ms()[..7], [0, 0, 0, 100, 100, 100, 200]);
    assert_eq!(run.starts_ms()[99], 3300);
    assert!(machine.asked() <= 4, "one count a second, but there were {}", machine.asked());

    let full = Fake::new(4);
    full.now(|says| says.busy = 4);
    let options = ScheduleOptions { load, ..at_once(10) };
    let mut waits = Simulation::new(options, &full, 2, |_, _| job(100, 0));
    waits.at(4500, |_, machine| machine.now(|says| says.busy = 0));
    waits.run();
    assert_eq!(waits.starts_ms(), [5000, 5000]);
    assert_eq!(full.asked(), 6, "at 0, 1, 2, 3, 4 and 5 seconds");
}

#[test]
fn no_load_at_all_is_below_no_limit_but_zero() {
    let options = ScheduleOptions { load: Load::parse("0").ok(), ..at_once(10) };
    let mut run = Simulation::new(options, &Fake::new(4), 3, |_, _| job(100, 0));
    run.run();
    // Each job is the whole load until it ends.
    assert_eq!(run.starts_ms(), [0, 100, 200]);
}

#[test]
fn little_memory_holds_jobs_back_and_less_ends_the_youngest() {
    let options = ScheduleOptions { memory_free_bytes: Some(GIB), ..at_once(3) };
    let mut run = Simulation::new(options, &Fake::new(4), 4, |_, _| job(2500, 0));
    run.at(1500, has(GIB / 4));
    run.at(3700, has(GIB - 1));
    run.at(4200, has(GIB));
    assert_eq!(run.run(), 0);
    // The youngest two are ended a second apart; the oldest ended before its turn came.
    assert_eq!(run.signals_of(3), [(2000, 15)]);
    assert!(run.events.contains(&Event::Warn(2000, 3, EndReason::LowMemory)));
    assert_eq!(run.signals_of(1), []);
    let starts: Vec<_> = run
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Start(ms, seq, _) => Some((*ms, *seq)),
            _ => None,
        })
        .collect();
    assert_eq!(starts[..3], [(0, 1), (0, 2), (0, 3)]);
    // Jobs that were ended run before new ones, and not before there is enough memory.
    assert_eq!(starts[3].1, 3);
    assert!(starts[3].0 >= 4200, "{starts:?}");
    assert_eq!(starts.len(), 5, "{starts:?}");
    assert_eq!(run.log().len(), 4);
}

#[test]
fn a_job_that_runs_alone_and_finds_no_memory_has_failed() {
    let options = ScheduleOptions { memory_free_bytes: Some(GIB), ..at_once(1) };
    let mut run = Simulation::new(options, &Fake::new(4), 1, |_, _| job(9000, 0));
    run.at(1500, has(0));
    assert_eq!(run.run(), 1);
    assert_eq!(run.log(), [(2000, 1, Killed(15))]);
}

#[test]
fn retries_bound_how_often_a_job_gives_way() {
    let options = ScheduleOptions { memory_free_bytes: Some(GIB), retries: Some(2), ..at_once(2) };
    let mut run = Simulation::new(options, &Fake::new(4), 2, |seq, _| job(seq * 20_000, 0));
    run.at(1500, has(0));
    run.at(2500, has(GIB));
    run.at(4500, has(0));
    run.at(5500, has(GIB));
    assert_eq!(run.run(), 1);
    assert_eq!(run.starts_ms(), [0, 0, 2500], "a second attempt, and no third");
    assert_eq!(run.log(), [(5000, 2, Killed(15)), (20_000, 1, Exited(0))]);
}

#[test]
fn memory_that_nobody_tells_holds_nothing_back() {
    let machine = Fake::new(4);
    machine.now(|says| says.broken = true);
    let options = ScheduleOptions {
        memory_free_bytes: Some(GIB),
        memory_suspend_bytes: Some(GIB),
        no_swap: true,
        load: Load::parse("1").ok(),
        ..at_once(2)
    };
    let mut run = Simulation::new(options, &machine, 4, |_, _| job(100, 0));
    assert_eq!(run.run(), 0);
    assert_eq!(run.starts_ms(), [0, 0, 100, 100]);
}

#[test]
fn jobs_are_suspended_while_memory_is_short() {
    let options = ScheduleOptions { memory_suspend_bytes: Some(GIB / 4), ..at_once(4) };
    let mut run = Simulation::new(options, &Fake::new(4), 5, |_, _| job(3000, 0));
    run.at(500, has(GIB / 3));
    run.at(1500, has(GIB / 5));
    run.at(4500, has(GIB));
    assert_eq!(run.run(), 0);
    let stop = libc::SIGSTOP;
    let cont = libc::SIGCONT;
    // With less than twice the size half of them continue, with less than the size the oldest; when
    // it ends, the next oldest continues even without more memory.
    assert_eq!(run.signals_of(1), []);
    assert_eq!(run.signals_of(2), [(2000, stop), (3000, cont)]);
    assert_eq!(run.signals_of(3), [(1000, stop), (4000, cont)]);
    assert_eq!(run.signals_of(4), [(1000, stop), (4500, cont)]);
    // No new job starts while others are suspended.
    assert_eq!(run.starts_ms(), [0, 0, 0, 0, 4500]);
    let starts = run.events.iter().position(|event| matches!(event, Event::Start(_, 5, _)));
    let resumed = run.events.iter().position(|event| *event == Event::Signal(4500, 4, cont));
    assert!(resumed < starts);
    assert_eq!(run.schedule.suspended, 0);
}

#[test]
fn a_suspended_job_can_be_ended() {
    let options = ScheduleOptions {
        memory_suspend_bytes: Some(GIB),
        timeout: Some(Timeout::Fixed(ms(2000))),
        ..at_once(2)
    };
    let machine = Fake::new(4);
    machine.now(|says| says.memory_bytes = 4 * GIB);
    let mut run = Simulation::new(options, &machine, 2, |_, _| job(9000, 0));
    run.at(500, has(0));
    assert_eq!(run.run(), 2);
    let signals = [(1000, libc::SIGSTOP), (2000, libc::SIGTERM), (2000, libc::SIGCONT)];
    assert_eq!(run.signals_of(2), signals);
    assert_eq!(run.schedule.suspended, 0);
}

/// `--noswap`.
#[test]
fn swapping_both_ways_holds_jobs_back() {
    let swaps = |in_pages, out_pages| {
        move |_: &mut Schedule, machine: &Fake| {
            machine.now(|says| says.swapped = Swapped { in_pages, out_pages });
        }
    };
    let options = ScheduleOptions { no_swap: true, ..at_once(1) };
    let machine = Fake::new(4);
    let mut run = Simulation::new(options, &machine, 4, |_, _| job(4000, 0));
    run.at(500, swaps(10, 0));
    run.at(11_500, swaps(20, 5));
    run.at(40_000, swaps(21, 5));
    run.run();
    // A second for the first answer; it is outdated after ten, when no job is to start before 13 s;
    // then one more second, in which the machine swaps only one way, is enough.
    let starts = run.starts_ms();
    assert_eq!(starts[..3], [1000, 5000, 9000]);
    assert_eq!(starts[3], 14_000);

    let machine = Fake::new(4);
    let options = ScheduleOptions { no_swap: true, ..at_once(1) };
    let mut held = Simulation::new(options, &machine, 1, |_, _| job(10, 0));
    held.at(500, swaps(10, 10));
    held.run();
    assert_eq!(held.starts_ms(), [12_000], "ten seconds after the answer, and one to know better");
    assert_eq!(machine.asked(), 4);
}

#[test]
fn a_command_is_asked_before_each_start_and_not_oftener() {
    let limit = Limit::parse(b"test -e go").ok();
    let options = ScheduleOptions { limit, ..at_once(2) };
    let mut run = Simulation::new(options, &Fake::new(4), 4, |_, _| job(100, 0));
    run.run();
    assert_eq!(run.starts_ms(), [5, 10, 110, 115]);
    let asked = run.events.iter().filter(|event| matches!(event, Event::Limit(_))).count();
    assert_eq!(asked, 4);
}

#[test]
fn a_command_that_holds_is_asked_again_after_a_second_or_an_end() {
    let limit = Limit::parse(b"false").ok();
    let options = ScheduleOptions { limit, ..at_once(2) };
    let mut run = Simulation::new(options, &Fake::new(4), 2, |_, _| job(2500, 0));
    run.limit = |now_ms| u8::from(now_ms < 3000 && now_ms != 5);
    run.run();
    let asked: Vec<u64> = run
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Limit(ms) => Some(*ms),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [0, 5, 1010, 2015, 2505, 3510]);
    assert_eq!(run.starts_ms(), [5, 3515]);
}

#[test]
fn a_command_may_end_the_youngest() {
    let limit = Limit::parse(b"exit 2").ok();
    let options = ScheduleOptions { limit, ..at_once(3) };
    let mut run = Simulation::new(options, &Fake::new(4), 3, |_, _| job(3000, 0));
    run.limit = |now_ms| if (11..1000).contains(&now_ms) { 2 } else { 0 };
    assert_eq!(run.run(), 0);
    assert_eq!(run.signals_of(2), [(15, 15)]);
    assert!(run.events.contains(&Event::Warn(15, 2, EndReason::Limit)));
    // It runs again, first, when the command allows it.
    assert_eq!(run.starts_ms(), [5, 10, 1020, 1025]);
}

#[test]
fn rules_of_ours_are_no_commands() {
    let parsed = |text: &str| Limit::parse(text.as_bytes());
    assert!(matches!(parsed(" mem  4096 "), Ok(Limit::Memory(4096))));
    assert!(matches!(parsed("load 50%"), Ok(Limit::Load(_))));
    assert!(matches!(parsed("io 80"), Ok(Limit::Disk(80.0))));
    assert!(matches!(parsed("io"), Ok(Limit::Command(_))));
    assert!(matches!(parsed("load 5 6"), Ok(Limit::Command(_))));
    assert!(matches!(parsed("  "), Err(LimitError::Empty)));
    assert!(matches!(parsed("mem much"), Err(LimitError::Memory(_))));
    assert!(matches!(parsed("io 101"), Err(LimitError::Disk(_))));
    assert!(matches!(parsed("load x y"), Ok(Limit::Command(_))));
}

#[test]
fn busy_disks_hold_jobs_back() {
    let machine = Fake::new(4);
    machine.now(|says| says.disks_ms = vec![1000, 5000]);
    let options = ScheduleOptions { limit: Some(Limit::Disk(50.0)), ..at_once(1) };
    let mut run = Simulation::new(options, &machine, 2, |_, _| job(10, 0));
    let busy = |first, second| {
        move |_: &mut Schedule, machine: &Fake| {
            machine.now(|says| says.disks_ms = vec![first, second]);
        }
    };
    run.at(500, busy(1100, 5900));
    run.at(1500, busy(1499, 5900));
    run.run();
    assert_eq!(run.starts_ms(), [2000, 2010], "90 % in the first second, 40 % in the second");
}
