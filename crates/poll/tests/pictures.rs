//! Pictures beside MRTG's own program for them, `rateup`: every pixel and every number of the page.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{ZONE, pixels, target, write_log};
use jiff::tz::TimeZone;
use poll::log_file::LogFiles;
use poll::pages::{PagePeriod, Summary, draw};
use poll::{Periods, PollTarget, TargetOptions};
use testkit::Random;

/// The arguments that MRTG gives `rateup` for a target's picture.
fn arguments(target: &PollTarget, period: PagePeriod) -> Vec<String> {
    let mut all: Vec<String> = vec![if target.options.dorelpercent { "C" } else { "c" }.to_owned()];
    let count = if target.options.dorelpercent { 5 } else { 4 };
    all.extend(target.colours.iter().take(count).map(|colour| colour.rgb.to_string()));
    let options = &target.options;
    for (is_set, option) in [
        (options.transparent, "-t"),
        (options.withzeroes, "-0"),
        (options.noborder, "-b"),
        (options.noarrow, "-a"),
        (options.noi, "-i"),
        (options.noo, "-o"),
        (options.logscale, "-l"),
        (options.expscale, "-x"),
        (options.secondmean, "-m"),
        (options.printrouter, "-p"),
    ] {
        if is_set {
            all.push(option.to_owned());
        }
    }
    let mut pair = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.extend([name.to_owned(), value]);
        }
    };
    pair("l", target.y_legend.as_ref().map(|text| format!("[{text}]")));
    pair("T", target.png_title.as_ref().map(|text| format!("[{text}]")));
    pair("k", Some(target.kilo.to_string()));
    pair("K", target.kmg.clone());
    pair("W", target.week_format.clone());
    let sign = if period.is_in(&target.unscaled) { 1.0 } else { -1.0 };
    let with_peak = target.with_peak.is_some_and(|periods| period.is_in(&periods));
    all.push(if with_peak && period != PagePeriod::Day { "p" } else { "i" }.to_owned());
    all.push("picture.png".to_owned());
    all.extend(target.max_bytes.map(|max| (sign * max).to_string()));
    all.extend([target.x_size, target.y_size].map(|size| size.to_string()));
    all.extend([target.x_scale, target.y_scale].map(|scale| scale.to_string()));
    all.push(u8::from(options.growright).to_string());
    all.push(period.step().to_string());
    all.push(u8::from(options.bits).to_string());
    all.push(target.y_tics.to_string());
    all.push(target.y_tics_factor.to_string());
    all.extend(["%Y".to_owned(), "0".to_owned()]);
    all
}

fn numbers(summary: &Summary) -> Vec<i64> {
    let percent = |at: usize| summary.percent.map(|all| all[at]);
    let mut all = summary.max.to_vec();
    all.extend(percent(0));
    all.extend(summary.mean);
    all.extend(percent(1));
    all.extend(summary.current);
    all.extend(percent(2));
    all.extend(summary.mean_max);
    all
}

fn assert_equal(target: &PollTarget, period: PagePeriod, folder: &Path, now: i64, case: &str) {
    let output = Command::new("rateup")
        .arg(folder)
        .args(["device", &now.to_string()])
        .args(if target.options.dorelpercent { vec!["up", "-1", "-1", "1"] } else { vec![] })
        .args(arguments(target, period))
        .env("TZ", ZONE)
        .output()
        .expect("rateup");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let theirs: Vec<i64> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    let mut files = LogFiles::new();
    let history = files.read(&folder.join("device.log")).expect("a log");
    let zone = TimeZone::get(ZONE).expect("a zone");
    let ours = draw(target, history, period, now, &zone);
    assert_eq!(numbers(&ours.summary), theirs, "{case}: {said}");
    let their_png = fs::read(folder.join("picture.png")).expect("a picture");
    let (their_width, their_pixels) = pixels(&their_png);
    let (width, our_pixels) = pixels(&ours.png);
    assert_eq!((width, our_pixels.len()), (their_width, their_pixels.len()), "{case}");
    let different = our_pixels.iter().zip(&their_pixels).enumerate().filter(|(_, (a, b))| a != b);
    let different: Vec<_> =
        different.map(|(at, (ours, theirs))| (at % width, at / width, ours, theirs)).collect();
    if !different.is_empty() {
        let _ = fs::write(std::env::temp_dir().join("poll-picture.png"), &ours.png);
        let _ = fs::write(std::env::temp_dir().join("poll-picture-of-rateup.png"), &their_png);
    }
    assert!(
        different.is_empty(),
        "{} pixels differ, at (x, y, ours, theirs): {:?}; the pictures are \
         poll-picture*.png in the folder of temporary files; {case}",
        different.len(),
        &different[..different.len().min(8)]
    );
}

fn vary(target: &mut PollTarget, random: &mut Random) {
    let mut options = TargetOptions::default();
    for word in [
        "growright",
        "bits",
        "transparent",
        "withzeroes",
        "noborder",
        "noarrow",
        "noi",
        "noo",
        "logscale",
        "expscale",
        "secondmean",
        "printrouter",
    ] {
        *options.flag(word).expect("an option") = random.below(5) == 0;
    }
    options.growright = random.below(2) == 0;
    options.secondmean &= !(options.noi && options.noo);
    target.options = options;
    let periods = |random: &mut Random| Periods {
        day: random.below(2) == 0,
        week: random.below(2) == 0,
        month: random.below(2) == 0,
        year: random.below(2) == 0,
    };
    // Where nothing is above the mean, rateup writes `nan` at the axis.
    target.unscaled = if options.secondmean { Periods::default() } else { periods(random) };
    target.with_peak = (random.below(2) == 0).then(|| periods(random));
    target.x_size = 30 + random.below(570) as u32;
    target.y_size = 100 + random.below(120) as u32;
    target.x_scale = [1.0, 1.0, 1.5, 0.7, 2.0][random.below(5) as usize];
    target.y_scale = [1.0, 1.0, 1.5, 0.8, 2.0][random.below(5) as usize];
    target.y_tics = 1 + random.below(8) as u32;
    target.y_tics_factor = [1.0, 1.0, 8.0, 0.1][random.below(4) as usize];
    target.kilo = [1000, 1024][random.below(2) as usize];
    target.kmg = [None, Some(",k,M,G"), Some("-,k,M,G,T,P"), Some("m,,k,M")]
        [random.below(4) as usize]
        .map(str::to_owned);
    target.week_format =
        [None, Some("U"), Some("V"), Some("W")][random.below(4) as usize].map(str::to_owned);
    target.png_title = (random.below(4) == 0).then(|| "Title {of} ~ 7@x".to_owned());
    target.y_legend = (random.below(4) == 0).then(|| "per Month".to_owned());
    target.max_bytes =
        [1_000_u64 << random.below(30), 1_000_u64 << random.below(30)].map(|max| max as f64);
}

#[test]
fn pictures_have_the_pixels_of_rateup() {
    if !testkit::is_installed("pictures beside rateup", "rateup") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..150 {
        let mut random = Random::from_seed(seed);
        let now = 1_600_000_000 + random.below(200_000_000) as i64;
        let mut target = target();
        if seed > 7 {
            vary(&mut target, &mut random);
        }
        let period = PagePeriod::ALL[seed as usize % 4];
        // With percentages, rateup draws only after an update: one that changes no rate.
        target.options.dorelpercent = seed % 8 == 0;
        let now = if target.options.dorelpercent { now - now % 300 } else { now };
        let lag = if target.options.dorelpercent { 0 } else { random_lag(seed) };
        write_log(&folder.path().join("device.log"), &mut random, now - lag, 1 << (seed % 25));
        let case = format!("seed {seed}, {period:?}, {target:?}");
        assert_equal(&target, period, folder.path(), now, &case);
    }
}

fn random_lag(seed: u64) -> i64 {
    [0, 0, 17, 299][seed as usize % 4]
}
