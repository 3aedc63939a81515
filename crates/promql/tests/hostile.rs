//! Queries that nobody means: nested, long, cut, random.  None of them panics, and each ends.

use std::cell::Cell;

use promql::{MemoryStorage, QueryContext, QueryLimits, QuerySteps, Stop};
use testkit::Random;

use crate::common::{END_MS, START_MS, storage};

/// Looks at the budget that a random query may use, each after 1,024 turns of a loop at most: what
/// takes longer is stopped, as by a time-out.
const LOOKS_MAX: u32 = 30;

fn ask(storage: &MemoryStorage, query: &str) {
    let limits = QueryLimits { memory_max: 2 << 20, ..QueryLimits::default() };
    let looks = Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        assert!(looks.get() <= LOOKS_MAX + 1, "it goes on: {query}");
        (looks.get() > LOOKS_MAX).then_some(Stop::TimedOut)
    };
    let context = QueryContext { storage, limits, control: &stop };
    let _ = promql::instant(query, START_MS + 1_800_000, &context);
    looks.set(0);
    let period = QuerySteps { start_ms: START_MS, end_ms: END_MS, step_ms: 360_000 };
    let _ = promql::range(query, period, &context);
}

#[test]
fn random_queries_end() {
    let storage = storage();
    let seed = testkit::seed(23);
    for case in 0..testkit::share(10_000) {
        let mut random = Random::from_seed(seed + case as u64);
        let depth = random.below(7);
        ask(&storage, &vector(&mut random, depth));
    }
}

#[test]
fn what_is_cut_or_changed_ends() {
    let storage = storage();
    let seed = testkit::seed(24);
    for case in 0..testkit::share(10_000) {
        let mut random = Random::from_seed(seed + case as u64);
        let mut query = vector(&mut random, 3).into_bytes();
        for _ in 0..=random.below(4) {
            let place = random.index(query.len());
            match random.below(4) {
                0 => query.truncate(place),
                1 => query[place] = random.one_of(b"()[]{}\"'`\\,:@+-=~!0aeE\n\0 "),
                2 => drop(query.drain(place..(place + 5).min(query.len()))),
                _ => query.insert(place, random.below(256) as u8),
            }
            if query.is_empty() {
                break;
            }
        }
        ask(&storage, &String::from_utf8_lossy(&query));
    }
}

#[test]
fn long_and_deep_queries_are_refused() {
    let storage = storage();
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("sum(", "a", ")"),
        ("-", "a", ""),
        ("1 +", "1", ""),
        ("1 ^", "1", ""),
        ("", "a", " or a"),
        ("", "a", " unless a"),
        ("", "a", "[1m:1m]"),
        ("abs(", "", ""),
        ("max_over_time(", "a", "[1m:1s])"),
        ("\"", "", ""),
        ("{a=~\"", "((((a{9}){9}){9}){9}){9}", ""),
        ("a{b=\"c\",", "", ""),
        ("[", "", ""),
        ("label_replace(", "a", ",\"a\",\"b\",\"c\",\"d\")"),
    ] {
        for count in [60, 149, 160, 1000, 3000, 100_000] {
            ask(&storage, &(open.repeat(count) + middle + &close.repeat(count)));
        }
    }
    for pattern in
        ["a{1000}{1000}{1000}", "(?:a|b|c){999}{9}", "(((((", "[", "\\p{L}{500}", "(?P<", "a**"]
    {
        ask(&storage, &format!("temperature{{instance=~\"{pattern}\"}}"));
        ask(
            &storage,
            &format!("label_replace(temperature,\"a\",\"$1\",\"instance\",\"{pattern}\")"),
        );
    }
}

fn vector(random: &mut Random, depth: u64) -> String {
    if depth == 0 {
        let name = random.one_of(&[
            "temperature",
            "requests_total",
            "extreme",
            "brief",
            "nothing",
            "free_bytes",
        ]);
        let matcher = random.one_of(&[
            "",
            "{instance=\"a:1\"}",
            "{instance=~\"a.*|b.*\"}",
            "{kind!~\"n.*\"}",
        ]);
        let when =
            random.one_of(&["", "", " offset 1m", " @ 1700000500", " @ end()", " offset -1h"]);
        return format!("{name}{matcher}{when}");
    }
    let depth = depth - 1;
    match random.below(8) {
        0 => {
            let function =
                random.one_of(&["abs", "sort", "timestamp", "absent", "hour", "-", "sgn", "ln"]);
            format!("{function}({})", vector(random, depth))
        }
        1 | 2 => {
            let operation = random.one_of(&["sum", "avg", "max", "count", "stddev", "group"]);
            let by = random.one_of(&["", " by (instance)", " without (job, code)", " by (kind)"]);
            format!("{operation}{by} ({})", vector(random, depth))
        }
        3 => {
            let operation = random.one_of(&["topk", "bottomk", "quantile"]);
            format!("{operation}({}, {})", scalar(random, depth), vector(random, depth))
        }
        4 => {
            let operator = random
                .one_of(&["+", "/", "^", ">", "== bool", "and", "or", "unless", "atan2", "%"]);
            let on = random.one_of(&[
                "",
                " on(instance)",
                " ignoring(job)",
                " on(instance) group_left",
                " on() group_right(job)",
            ]);
            format!("({}) {operator}{on} ({})", vector(random, depth), vector(random, depth))
        }
        5 => format!("({}) * {}", vector(random, depth), scalar(random, depth)),
        6 => {
            let function = random.one_of(&[
                "rate",
                "deriv",
                "max_over_time",
                "stddev_over_time",
                "absent_over_time",
                "delta",
            ]);
            let window = random.one_of(&[
                "[5m:1m]",
                "[1h:7s]",
                "[1m:]",
                "[5m:1ms]",
                "[100d:1m]",
                "[1s:1h] offset 1m",
                "[10m:1m] @ start()",
            ]);
            format!("{function}(({}){window})", vector(random, depth))
        }
        _ => format!(
            "label_join({}, \"{}\", \"-\", \"instance\", \"job\")",
            vector(random, depth),
            random.one_of(&["a", "instance", "job", "__name__"])
        ),
    }
}

fn scalar(random: &mut Random, depth: u64) -> String {
    match random.below(6) {
        0 => format!("scalar({})", vector(random, depth)),
        1 => "time()".to_owned(),
        2 => "NaN".to_owned(),
        3 => "-Inf".to_owned(),
        4 => "0".to_owned(),
        _ => random.below(1000).to_string(),
    }
}
