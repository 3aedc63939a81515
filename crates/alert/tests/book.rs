//! Books: when alerts begin and end, what a restart keeps, and what is dropped.

use alert::{AlertBook, AlertRule, AlertSurroundings, STATE_FILE, SilenceTime, replay};
use promql::MemoryStorage;

use super::{HOSTILE, rule, series, storage};

const TO: &str = "command:/bin/true";

/// Waits a minute, and ends below 3.
fn patient() -> AlertRule {
    let mut rule = rule(TO);
    rule.set_until("3").unwrap();
    rule.for_ms = 60_000;
    rule
}

/// Takes steps each 30 s, with a restart before each; the states that were told and when.
fn told(rule: &AlertRule, storage: &MemoryStorage, thru_s: i64) -> Vec<(String, i64)> {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    for at_s in (0..=thru_s).step_by(30) {
        let mut book = AlertBook::new(vec![rule.clone()]);
        book.load(folder.path()).unwrap();
        let has_new = book.step(at_s * 1000, &AlertSurroundings::of(storage, &calendar::UTC));
        assert_eq!(has_new, book.next(TO).is_some());
        while let Some(one) = book.next(TO).cloned() {
            told.push((one.message.state.clone(), at_s));
            book.note(one.id, at_s * 1000, Ok(()));
        }
        book.save(folder.path(), false).unwrap();
    }
    told
}

fn wanted(list: &[(&str, i64)]) -> Vec<(String, i64)> {
    list.iter().map(|(state, at_s)| ((*state).to_owned(), *at_s)).collect()
}

#[test]
fn an_alert_waits_begins_once_and_ends_below_its_limit() {
    let values = [(0, 1.0), (30, 9.0), (60, 9.0), (90, 9.0), (120, 4.0), (150, 9.0), (180, 2.0)];
    let said = told(&patient(), &storage(&values), 240);
    assert_eq!(said, wanted(&[("begins", 90), ("ends", 180)]));
    // What does not last is not told.
    let brief = storage(&[(0, 9.0), (30, 1.0), (60, 9.0), (90, 1.0)]);
    assert_eq!(told(&patient(), &brief, 150), []);
}

#[test]
fn an_alert_ends_when_its_second_condition_holds() {
    let mut rule = AlertRule { for_ms: 0, ..patient() };
    rule.set_until("y > 0").unwrap();
    let mut other = series(HOSTILE, &[(0, 0.0), (30, 0.0), (60, 0.0), (90, 0.0), (120, 1.0)]);
    let labels = other.labels.iter().map(|(name, value)| match name {
        "__name__" => (name, "y"),
        name => (name, value),
    });
    other.labels = std::sync::Arc::new(labels.collect());
    let mut both = storage(&[(0, 9.0), (30, 9.0), (60, 1.0), (90, 1.0), (120, 1.0)]);
    both.series.push(other);
    assert_eq!(told(&rule, &both, 150), wanted(&[("begins", 0), ("ends", 120)]));
}

#[test]
fn missing_samples_neither_begin_nor_end_an_alert() {
    let values = [(0, 9.0), (30, 9.0), (60, 9.0)];
    // Five minutes after the last sample there is no data; an hour later the alert ends and says why.
    let said = told(&patient(), &storage(&values), 5000);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], ("begins".to_owned(), 60));
    assert!(said[1].0 == "ends" && said[1].1 >= 360 + 3600, "{said:?}");
    // One that waits, and then has a gap, waits anew.
    let slow = AlertRule { for_ms: 400_000, ..patient() };
    let gap = [(0, 9.0), (700, 9.0), (900, 9.0), (1100, 9.0)];
    assert_eq!(told(&slow, &storage(&gap), 1200), wanted(&[("begins", 1140)]));
    // Another device that is there does not end it, whatever the form of the condition.
    for when in ["x > 5", "x > 5 and x > 4"] {
        let mut rule = AlertRule::new("hot", when).unwrap();
        rule.to = patient().to;
        let labels = |device: &str, host: &str| {
            let mut labels = (*series(device, &[]).labels).clone();
            labels.set("instance", host);
            std::sync::Arc::new(labels)
        };
        let long: Vec<(i64, f64)> = (0..60).map(|at| (at * 30, 1.0)).collect();
        let mut two = storage(&[(0, 9.0)]);
        two.series[0].labels = labels("a", "one");
        two.series.push(series("b", &long));
        two.series[1].labels = labels("b", "two");
        assert_eq!(told(&rule, &two, 1500), wanted(&[("begins", 0)]), "{when}");
    }
}

#[test]
fn a_silence_time_delays_what_lasts_and_swallows_what_does_not() {
    let mut rule = AlertRule { for_ms: 0, until: None, ..patient() };
    // 1970-01-01 was a Thursday.
    rule.silence = vec![SilenceTime::parse("Thu 00:00-00:05").unwrap()];
    let lasts: Vec<(i64, f64)> =
        (0..20).map(|at| (at * 30, if at < 15 { 9.0 } else { 1.0 })).collect();
    assert_eq!(told(&rule, &storage(&lasts), 570), wanted(&[("begins", 300), ("ends", 450)]));
    let brief = storage(&[(0, 9.0), (30, 1.0), (60, 1.0), (90, 1.0)]);
    assert_eq!(told(&rule, &brief, 390), []);
    let mut book = AlertBook::new(vec![rule]);
    for at_ms in [0, 30_000] {
        book.step(at_ms, &AlertSurroundings::of(&brief, &calendar::UTC));
    }
    let value = book.value();
    assert_eq!((&value["silenced"], &value["history"][0]["told"]), (&1.into(), &false.into()));
}

#[test]
fn a_message_repeats_if_wanted_and_what_begins_together_is_one_message() {
    let rule = AlertRule { for_ms: 0, repeat_ms: Some(120_000), ..patient() };
    let lasts: Vec<(i64, f64)> = (0..10).map(|at| (at * 30, 9.0)).collect();
    let mut many = storage(&lasts);
    many.series.push(series("b", &lasts));
    let said = told(&rule, &many, 270);
    assert_eq!(said, wanted(&[("begins", 0), ("lasts", 120), ("lasts", 240)]));
}

#[test]
fn a_full_queue_drops_the_oldest_of_its_receiver_alone() {
    let mut noisy = AlertRule { for_ms: 0, until: None, ..patient() };
    noisy.to.push(alert::AlertReceiver::parse("syslog:/x").unwrap());
    let values: Vec<(i64, f64)> =
        (0..300).map(|at| (at * 60, if at % 2 == 0 { 9.0 } else { 1.0 })).collect();
    let storage = storage(&values);
    let mut book = AlertBook::new(vec![noisy.clone()]);
    for (at_s, _) in &values {
        book.step(at_s * 1000, &AlertSurroundings::of(&storage, &calendar::UTC));
        // One takes all, the other nothing.
        while let Some(one) = book.next(TO).cloned() {
            book.note(one.id, at_s * 1000, Ok(()));
        }
        if let Some(one) = book.next("syslog:/x").cloned() {
            book.note(one.id, at_s * 1000, Err("it is dead".to_owned()));
        }
    }
    let value = book.value();
    let numbers = ["delivered", "dropped"].map(|name| value[name].as_u64().unwrap());
    assert_eq!(numbers, [300, 200]);
    assert_eq!(value["waiting"].as_array().unwrap().len(), 100);
    assert!(value["sent"].to_string().contains("more than 100 messages waited: it is dead"));
    // A receiver that no rule names any more gets nothing.
    let folder = tempfile::tempdir().unwrap();
    book.save(folder.path(), true).unwrap();
    noisy.to.pop();
    let mut after = AlertBook::new(vec![noisy]);
    after.load(folder.path()).unwrap();
    assert_eq!(after.value()["dropped"], 300);
    assert_eq!(after.value()["waiting"].as_array().unwrap().len(), 0);
}

#[test]
fn a_failed_delivery_is_tried_after_pauses_for_a_day() {
    let mut book = AlertBook::new(vec![AlertRule { for_ms: 0, ..patient() }]);
    book.step(0, &AlertSurroundings::of(&storage(&[(0, 9.0)]), &calendar::UTC));
    let mut now_ms = 0;
    let mut pauses = Vec::new();
    while let Some(one) = book.next(TO).cloned() {
        let wait_ms = one.wait_ms(now_ms);
        pauses.push(wait_ms / 1000);
        now_ms += wait_ms;
        book.note(one.id, now_ms, Err("no".to_owned()));
    }
    assert_eq!(pauses[..10], [0, 5, 10, 20, 40, 80, 160, 320, 600, 600]);
    assert!((86_400_000..87_600_000).contains(&now_ms), "{now_ms}");
    assert!(book.value()["sent"][0]["error"].as_str().unwrap().contains("tried for a day: no"));
    // A clock that is set back delays nothing.
    let mut book = AlertBook::new(vec![AlertRule { for_ms: 0, ..patient() }]);
    book.step(1_000_000_000, &AlertSurroundings::of(&storage(&[(1_000_000, 9.0)]), &calendar::UTC));
    let one = book.next(TO).unwrap();
    assert_eq!((one.wait_ms(0), one.wait_ms(999_999_000)), (0, 1000));
}

#[test]
fn a_file_of_anything_is_refused_or_read_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    for (text, is_read) in [
        ("", false),
        ("x", false),
        ("[]", true),
        ("{\"rules\": [{\"name\": \"hot\", \"when\": \"x > 5\", \"instances\": [1, {}]}]}", true),
        ("{\"waiting\": [{}, {\"id\": -1}], \"history\": 3, \"next_id\": \"a\"}", true),
    ] {
        std::fs::write(folder.path().join(STATE_FILE), text).unwrap();
        let mut book = AlertBook::new(vec![patient()]);
        assert_eq!(book.load(folder.path()).is_ok(), is_read, "{text}");
        book.step(0, &AlertSurroundings::of(&storage(&[(0, 9.0)]), &calendar::UTC));
    }
}

#[test]
fn rules_are_tried_over_a_period() {
    let values = [(0, 1.0), (30, 9.0), (60, 9.0), (90, 9.0), (120, 2.0), (150, 9.0), (210, 9.0)];
    let storage = storage(&values);
    let around = AlertSurroundings::of(&storage, &calendar::UTC);
    let mut other = patient();
    (other.name, other.when) = ("none".to_owned(), "y > 1".to_owned());
    let found = replay(vec![patient(), other], (0, 240_000, 30_000), &around).unwrap();
    let times = |index: usize| {
        let one = &found["alerts"][index];
        [&one["since_ms"], &one["from_ms"], &one["thru_ms"]].map(|at| at.as_i64().unwrap_or(-1))
    };
    assert_eq!(times(0), [30_000, 90_000, 120_000]);
    assert_eq!(times(1), [150_000, 210_000, -1]);
    assert_eq!(found["alerts"].as_array().unwrap().len(), 2);
    assert_eq!([&found["rules"][0]["state"], &found["rules"][1]["state"]], ["fires", "no data"]);
    assert!(replay(vec![], (0, i64::MAX, 1), &around).is_err());
}

#[test]
fn a_step_of_the_clock_neither_ends_an_alert_nor_tells_it_again() {
    let samples: Vec<(i64, f64)> = (0..=300).map(|number| (30 * number, 9.0)).collect();
    let storage = storage(&samples);
    let around = AlertSurroundings::of(&storage, &calendar::UTC);
    let mut book = AlertBook::new(vec![AlertRule { for_ms: 0, ..patient() }]);
    let mut told = Vec::new();
    // An hour back, half an hour forward, and a day back to when nothing was recorded.
    for at_s in [5_000, 5_030, 1_430, 1_460, 3_260, 3_290, -80_000, -79_970, 8_000, 8_030] {
        book.step(at_s * 1000, &around);
        while let Some(one) = book.next(TO).cloned() {
            told.push((one.message.state.clone(), at_s));
            book.note(one.id, at_s * 1000, Ok(()));
        }
    }
    assert_eq!(told, wanted(&[("begins", 5_000)]));
}

#[test]
fn what_waits_and_what_is_missing_do_so_by_the_time_that_passes() {
    // The condition holds at each time that is looked at, by the clock of that time.
    let both = |from_s: i64| (0..20).map(move |number| (from_s + 30 * number, 9.0));
    let samples: Vec<(i64, f64)> = both(0).chain(both(10_000)).collect();
    let storage = storage(&samples);
    let around = AlertSurroundings::of(&storage, &calendar::UTC);
    // An hour of patience would have passed twice if the step counted.
    let rule = AlertRule { for_ms: 120_000, repeat_ms: Some(300_000), ..patient() };
    let mut book = AlertBook::new(vec![rule]);
    let mut told = Vec::new();
    let mut look = |book: &mut AlertBook, at_s: i64| {
        book.step(at_s * 1000, &around);
        while let Some(one) = book.next(TO).cloned() {
            told.push((one.message.state.clone(), at_s));
            book.note(one.id, at_s * 1000, Ok(()));
        }
    };
    for at_s in [0, 30, 60] {
        look(&mut book, at_s);
    }
    book.clock_was_set(10_000_000);
    // 60 s have passed before the step, so 120 s have at the third time.
    for at_s in [10_060, 10_090, 10_120, 10_150] {
        look(&mut book, at_s);
    }
    // Back by nearly as much: it fires, and is told again after five minutes, not at once and not in hours.
    book.clock_was_set(-10_000_000);
    for at_s in (180..=450).step_by(30) {
        look(&mut book, at_s);
    }
    // Without data for an hour by the clock, and a minute by the time that passes.
    book.step(5_000_000, &around);
    book.clock_was_set(86_400_000);
    book.step(91_430_000, &around);
    assert_eq!(book.firing(), 1);
    assert_eq!(told, wanted(&[("begins", 10_120), ("lasts", 420)]));
}
