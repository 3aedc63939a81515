//! Random times, read by this crate and by the installed rrdtool, in zones with clock changes.
//!
//! The seed is printed; `WHIT_SEED` repeats a run.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use calendar::CivilZone;
use testkit::{Random, Running, share};
use time_words::{parse, resolve};

const ZONES: [&str; 6] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "America/Santiago",
];

const PAIRS: usize = 400;

struct Rrdtool {
    _child: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Rrdtool {
    fn start(zone: &str) -> Self {
        let mut command = Command::new("rrdtool");
        command
            .arg("-")
            .env("TZ", zone)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = Running::start(&mut command);
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Rrdtool { _child: child, input, output }
    }

    /// Start and end, or the error.
    fn resolve(&mut self, start: &str, end: &str) -> String {
        let line = format!("graphv /dev/null --start=\"{start}\" --end=\"{end}\" HRULE:1#ff0000");
        writeln!(self.input, "{line}").expect("rrdtool reads");
        let (mut first, mut last) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).expect("rrdtool answers");
            assert!(length > 0, "rrdtool ended at {start} {end}");
            let line = line.trim_end_matches('\n');
            if let Some(error) = line.strip_prefix("ERROR: ") {
                let numbers = error.strip_prefix("start (").and_then(|text| {
                    let (start, rest) = text.split_once(") should be less than end (")?;
                    Some(format!("{start} {}", rest.strip_suffix(')')?))
                });
                return numbers.unwrap_or_else(|| error.to_owned());
            }
            if let Some(value) = line.strip_prefix("graph_start = ") {
                value.clone_into(&mut first);
            } else if let Some(value) = line.strip_prefix("graph_end = ") {
                value.clone_into(&mut last);
            } else if line.starts_with("OK ") {
                return format!("{first} {last}");
            }
        }
    }
}

fn offset(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(4) {
        text += random.one_of(&["-", "+", "-", " - "]);
        for _ in 0..=random.below(2) {
            let amount = random.below(13);
            let unit = random.one_of(&[
                "d", "h", "m", "s", "w", "y", "mon", "min", "day", "weeks", "Hours", "yr", "", "x",
                "months",
            ]);
            text += &format!("{amount}{unit}");
        }
    }
    text
}

fn time(random: &mut Random, reference: &str) -> String {
    let hour = random.below(26);
    let minute = random.below(62);
    let day = random.below(33);
    let month = random.below(14);
    let year = 1995 + random.below(40);
    let name = random.one_of(&["Jan", "february", "MAR", "Oct", "november", "Apr"]);
    let weekday = random.one_of(&["mon", "Sunday", "FRI", "wednesday"]);
    let clock = match random.below(6) {
        0 => format!("{hour}:{minute:02}"),
        1 => format!("{hour:02}"),
        2 => format!("{hour}:{minute:02}{}", random.one_of(&["am", "pm", " PM"])),
        3 => "noon".to_owned(),
        4 => "midnight".to_owned(),
        _ => "teatime".to_owned(),
    };
    let reference = match random.below(12) {
        0 => format!("{}", 900_000_000 + random.below(1_500_000_000)),
        1 => format!("{month}/{day}/{year}"),
        2 => format!("{day}.{month}.{year}"),
        3 => format!("{year}{month:02}{day:02}"),
        4 => format!("{clock} {year}{month:02}{day:02}"),
        5 => format!("{clock} {name} {day} {year}"),
        6 => format!("{name} {day} {year} {clock}"),
        7 => format!("{clock} {}", random.one_of(&["yesterday", "tomorrow", "today", weekday])),
        8 => format!("{clock} {day}.{month}.{:02}", year % 100),
        9 => clock,
        10 => random.one_of(&["now", "n", ""]).to_owned(),
        _ => reference.to_owned(),
    };
    format!("{reference}{}", offset(random))
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64
}

fn ours(start: &str, end: &str, now_s: i64, zone: &CivilZone) -> String {
    let start = match parse(start, now_s, zone) {
        Ok(start) => start,
        Err(error) => return format!("start time: {error}"),
    };
    let end = match parse(end, now_s, zone) {
        Ok(end) => end,
        Err(error) => return format!("end time: {error}"),
    };
    match resolve(&start, &end, zone) {
        Ok((start, _)) if start < 315_360_000 => {
            format!("the first entry to fetch should be after 1980 ({start})")
        }
        Ok((start, end)) => format!("{start} {end}"),
        Err(error) => error.to_string(),
    }
}

/// Hours and minutes that a time of these tests takes from a day, at most: in seconds.
const OFFSET_S_MAX: i64 = 4 * 86_400;

/// Whether the times differ only by which of the two hours at the end of summer time was taken: that
/// depends on what `mktime` has converted before.  Hours and minutes are subtracted afterwards, so the
/// times may lie days beside that hour.
fn are_of_an_hour_that_is_twice(theirs: &str, ours: &str, zone: &str) -> bool {
    let zone = jiff::tz::TimeZone::get(zone).expect("a zone");
    let seconds = |times: &str| -> Option<Vec<i64>> {
        times.split(' ').map(|word| word.parse().ok()).collect()
    };
    let is_beside = |theirs: i64, ours: i64| {
        let from = jiff::Timestamp::from_second(ours.min(theirs) - OFFSET_S_MAX);
        let shifts = zone
            .following(from.expect("a time of this century"))
            .take_while(|change| change.timestamp().as_second() <= ours.max(theirs) + OFFSET_S_MAX);
        shifts.into_iter().any(|change| {
            let before = change.timestamp() - jiff::SignedDuration::from_secs(1);
            let shift = zone.to_offset(before).seconds() - change.offset().seconds();
            shift > 0 && (theirs - ours).abs() == i64::from(shift)
        })
    };
    let (Some(theirs), Some(ours)) = (seconds(theirs), seconds(ours)) else { return false };
    // A time that is counted from the other one differs as that does.
    let differ: Vec<(i64, i64)> = theirs.into_iter().zip(ours).filter(|(a, b)| a != b).collect();
    differ.iter().all(|(theirs, ours)| theirs - ours == differ[0].0 - differ[0].1)
        && differ.iter().any(|(theirs, ours)| is_beside(*theirs, *ours))
}

#[test]
fn random_times_are_those_of_rrdtool() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let seed = testkit::seed(20_261_123);
    let mut random = Random::from_seed(seed);
    let mut wrong = Vec::new();
    for name in ZONES {
        let zone = CivilZone::new(jiff::tz::TimeZone::get(name).expect("a zone"));
        let mut rrdtool = Rrdtool::start(name);
        for _ in 0..share(PAIRS) {
            let start = time(&mut random, "end");
            let end = time(&mut random, "start");
            // The clock may tick between the two, and rrdtool's is a tick of the kernel behind.
            let before = now_s();
            let theirs = rrdtool.resolve(&start, &end);
            let after = ours(&start, &end, now_s(), &zone);
            let agrees = |now_s| theirs == ours(&start, &end, now_s, &zone);
            let agrees = theirs == after || (before - 1..=now_s()).any(agrees);
            if !agrees && !are_of_an_hour_that_is_twice(&theirs, &after, name) {
                wrong.push(format!("{name}: {start:?} {end:?}: {theirs:?}, not {after:?}"));
            }
        }
    }
    let share = wrong.len() as f64 / (share(PAIRS) * ZONES.len()) as f64;
    assert!(wrong.is_empty(), "{share:.3} wrong:\n{}", wrong[..wrong.len().min(30)].join("\n"));
}
