//! Readings of a device whose answers come at uneven times: stored rates are those of the device.

use std::cell::Cell;

use poll::round::{Asker, RoundSettings, Rounds};
use poll::{Config, LoadEnvironment, QueryAnswer};
use rrd::fetch::{FetchRequest, fetch};
use rrd::header::ConsolidationFunction;

const SECOND_NS: i64 = 1_000_000_000;
const STEP_S: i64 = 5;
/// When rounds begin: a multiple of every step.
const BEGIN_S: i64 = 1_699_920_000;
const ROUNDS: i64 = 24;
/// What each counter grows by in a second.
const RATE: f64 = 1e6;

/// How late answers are in the rounds, in ns: a request that is sent again after 0.7 s and 2 s.
const LATE_NS: [i64; 6] =
    [3_000_000, 702_000_000, 4_000_000, 2_003_000_000, 990_000_000, 5_000_000];

/// Answers each query later than the one before, with the count of the moment.
struct LateAnswers<'a> {
    now_ns: &'a Cell<i64>,
    round: usize,
}

impl Asker for LateAnswers<'_> {
    fn ask(
        &mut self,
        config: &Config,
        wall_ns: &dyn Fn() -> i64,
        _: &mut dyn FnMut(String),
    ) -> Vec<QueryAnswer> {
        let begun_ns = wall_ns();
        let answers = config.queries.iter().enumerate().map(|(number, _)| {
            let time_ns = begun_ns + LATE_NS[(self.round + number) % LATE_NS.len()];
            let passed_ns = time_ns - BEGIN_S * SECOND_NS;
            let count = (RATE * passed_ns as f64 / 1e9) as u64;
            let values = [0, 1].map(|_| Some(count.to_string().into_bytes()));
            QueryAnswer { time_ns, values, ..QueryAnswer::default() }
        });
        let answers = answers.collect();
        // A dead device lets the round last.
        self.now_ns.set(begun_ns + 3 * SECOND_NS);
        answers
    }
}

#[test]
fn late_answers_bend_no_rate() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "WorkDir: {}\nLogFormat: rrdtool\nInterval: 0:0{STEP_S}\nMaxBytes[_]: 125000000\n\
         Title[_]: A title\nTarget[one]: 1:public@host\nTarget[other]: 2:public@host\n\
         Target[twice]: 1:public@host * 2\n",
        folder.path().display()
    );
    let path = folder.path().join("a.cfg");
    std::fs::write(&path, text).expect("written");
    let loading = Config::load(&path, &LoadEnvironment::default());
    let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
    let mut rounds = Rounds::new(RoundSettings {
        environment: Vec::new(),
        config_name: "a.cfg".into(),
        is_log_only: true,
        time_zone: jiff::tz::TimeZone::UTC,
        own_name: "box".into(),
    });
    let now_ns = Cell::new(0);
    for round in 1..=ROUNDS {
        now_ns.set((BEGIN_S + round * STEP_S) * SECOND_NS);
        let mut asker = LateAnswers { now_ns: &now_ns, round: round as usize };
        let said = &mut |line: String| panic!("{line}");
        rounds.round(&config, &mut asker, &|| now_ns.get(), said);
    }
    for (name, expected) in [("one", RATE), ("other", RATE), ("twice", 2.0 * RATE)] {
        let request = FetchRequest {
            function: ConsolidationFunction::Average,
            start: BEGIN_S + 3 * STEP_S,
            end: BEGIN_S + (ROUNDS - 1) * STEP_S,
            step_seconds: STEP_S as u64,
        };
        let found = fetch(&folder.path().join(format!("{name}.rrd")), &request).expect("rows");
        let rates: Vec<f64> = found.cells.chunks(2).map(|row| row[0] / expected).collect();
        let is_true = |rate: &f64| (rate - 1.0).abs() < 1e-4;
        assert!(rates.len() > 10 && rates.iter().take(15).all(is_true), "{name}: {rates:?}");
    }
}
