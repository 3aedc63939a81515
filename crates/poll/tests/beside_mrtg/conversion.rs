//! Logs that become databases when `LogFormat` changes.
//!
//! MRTG gives the averages of five minutes the time of the step after theirs, and leaves out the
//! newest; and it mixes steps unless the last update was at a multiple of five minutes.

use crate::beside_mrtg::site::Site;

/// The first reading, at a multiple of five minutes.
const BEGIN_S: i64 = 1_700_000_100;

const OPTIONS: [&str; 5] = ["growright", "gauge", "absolute", "perhour", "perminute"];

fn config(format: &str) -> String {
    let mut text = format!("LogFormat: {format}\n");
    for (number, options) in OPTIONS.iter().enumerate() {
        text.push_str(&format!(
            "Target[t{number}]: `cat FOLDER/value FOLDER/value`\nTitle[t{number}]: x\n\
             MaxBytes[t{number}]: 1000000000\nOptions[t{number}]: {options}\n"
        ));
    }
    text
}

/// The archives of a database as text, each with its rows: time, in and out.
fn archives(dump: &str) -> Vec<(String, Vec<(i64, String)>)> {
    let mut all: Vec<(String, Vec<(i64, String)>)> = Vec::new();
    for part in dump.split("<rra>").skip(1) {
        let (head, rows) = part.split_once("<database>").unwrap();
        let rows = rows.lines().filter_map(|line| {
            let (time, values) = line.split_once(" --> ")?;
            let time = time.rsplit(' ').next()?.parse().unwrap();
            Some((time, values.to_owned()))
        });
        all.push((head.to_owned(), rows.collect()));
    }
    all
}

fn known(rows: &[(i64, String)]) -> Vec<(i64, String)> {
    rows.iter()
        .filter(|(_, values)| values.contains(|c: char| c.is_ascii_digit()))
        .cloned()
        .collect()
}

#[test]
fn logs_become_the_databases_that_mrtg_makes_of_them() {
    let Some(mut site) = Site::new() else { return };
    site.configure(&config("rateup"));
    let set = |site: &Site, value: i64| {
        for side in ["mrtg", "whit"] {
            std::fs::write(site.path(side).join("value"), format!("{value}\n")).unwrap();
        }
    };
    for round in 0..8 {
        set(&site, 1_000_000 * round * round);
        let time_s = BEGIN_S + 300 * round;
        site.mrtg(time_s);
        site.whit(time_s);
    }
    site.configure(&config("rrdtool"));
    let last_s = BEGIN_S + 300 * 7;
    set(&site, 64_000_000);
    let time_s = BEGIN_S + 300 * 8;
    let (theirs, code) = site.mrtg(time_s);
    let (ours, report) = site.whit(time_s);
    assert_eq!((code, report.unknown_count), (0, 0), "{theirs} {ours:?}");
    for (number, options) in OPTIONS.iter().enumerate() {
        let name = format!("t{number}.rrd");
        let [theirs, ours] = ["mrtg", "whit"].map(|side| site.data(side, &name));
        // Step, sources, limits, the state of the step that has not ended.
        let head = |text: &str| text.split("<!-- Round Robin Archives").next().unwrap().to_owned();
        assert_eq!(head(&theirs), head(&ours), "{options}");
        let [theirs, ours] = [theirs, ours].map(|text| archives(&text));
        assert_eq!((theirs.len(), ours.len()), (8, 8), "{options}");
        for (place, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            let case = format!("{options}: archive {place}");
            if place > 0 {
                assert_eq!(theirs, ours, "{case}");
                continue;
            }
            let (theirs, ours) = (known(&theirs.1), known(&ours.1));
            // The newest row is of the round after the conversion.
            let converted = ours.iter().filter(|(time, _)| *time <= last_s);
            let late: Vec<_> =
                converted.map(|(time, values)| (time + 300, values.clone())).collect();
            let theirs: Vec<_> = theirs.into_iter().filter(|(time, _)| *time <= last_s).collect();
            assert!(theirs.len() >= 5, "{theirs:?}");
            assert_eq!(theirs, late[..late.len() - 1], "{case}");
        }
    }
}
