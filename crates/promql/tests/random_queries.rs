//! Random queries of every part of the language to Prometheus: the same answers, or refused alike.

use promql::QuerySteps;
use testkit::{Prometheus, Random, compare_answers, seed, share};

use crate::beside_prometheus::{Form, differs_by_design};
use crate::common::{START_MS, open_metrics, storage};

/// Queries of a long run.
const QUERIES: usize = 4_000;

/// How deep expressions stand in each other.
const DEPTH: u32 = 3;

const METRICS: [&str; 9] = [
    "requests_total",
    "cpu_seconds_total",
    "free_bytes",
    "temperature",
    "build_info",
    "start_seconds",
    "extreme",
    "brief",
    "constant",
];

const LABELS: [&str; 8] = ["job", "instance", "code", "cpu", "mode", "room", "kind", "missing"];

const MATCHERS: [&str; 14] = [
    "instance=\"a:1\"",
    "instance!=\"a:1\"",
    "instance=~\"(a|b):.\"",
    "instance!~\"c.*\"",
    "job=\"api\"",
    "job=~\"w.b|\"",
    "job!=\"\"",
    "code=~\"2..|4..\"",
    "cpu=~\"1|10\"",
    "mode!=\"idle\"",
    "kind!~\"n?inf|nan\"",
    "missing=\"\"",
    "missing!=\"\"",
    "room=\"x&y<z>\\\"q\\\"\"",
];

const DURATIONS: [&str; 8] = ["15s", "37s", "1m", "1m30s", "4m", "5m", "17m", "61s"];

const OVER_TIME: [&str; 19] = [
    "rate",
    "increase",
    "delta",
    "irate",
    "idelta",
    "deriv",
    "changes",
    "resets",
    "avg_over_time",
    "min_over_time",
    "max_over_time",
    "sum_over_time",
    "count_over_time",
    "stddev_over_time",
    "stdvar_over_time",
    "present_over_time",
    "last_over_time",
    "absent_over_time",
    "predict_linear",
];

/// Without `exp` and logarithms, of which libraries give other last digits; they are in the list of
/// queries by hand.
const OF_VECTORS: [&str; 10] =
    ["abs", "ceil", "floor", "sqrt", "sgn", "sort", "sort_desc", "timestamp", "absent", "round"];

const AGGREGATIONS: [&str; 6] = ["sum", "avg", "min", "max", "count", "group"];

/// Makes queries.
struct Queries {
    random: Random,
}

impl Queries {
    fn one_of(&mut self, all: &[&'static str]) -> &'static str {
        self.random.one_of(all)
    }

    fn number(&mut self) -> String {
        match self.random.below(8) {
            0 => "0".into(),
            1 => "-1.5".into(),
            2 => "1e3".into(),
            3 => "Inf".into(),
            4 => "NaN".into(),
            5 => "0x1F".into(),
            6 => "0.25".into(),
            _ => self.random.below(100).to_string(),
        }
    }

    /// `offset` and `@`, mostly neither.
    fn shift(&mut self) -> String {
        let offset = match self.random.below(6) {
            0 => format!(" offset {}", self.one_of(&DURATIONS)),
            1 => format!(" offset -{}", self.one_of(&DURATIONS)),
            _ => String::new(),
        };
        let at = match self.random.below(12) {
            0 => " @ start()".to_owned(),
            1 => " @ end()".to_owned(),
            2 => format!(" @ {}", START_MS / 1000 + self.random.below(3600) as i64),
            _ => String::new(),
        };
        match self.random.percent(50) {
            true => offset + &at,
            false => at + &offset,
        }
    }

    fn selector(&mut self) -> String {
        let mut matchers: Vec<String> = Vec::new();
        for _ in 0..self.random.below(3) {
            matchers.push(self.one_of(&MATCHERS).to_owned());
        }
        let metric = self.one_of(&METRICS);
        let name = match self.random.below(10) {
            0 => {
                let other = self.one_of(&METRICS);
                matchers.insert(0, format!("__name__=~\"{metric}|{other}\""));
                String::new()
            }
            _ => metric.to_owned(),
        };
        match matchers.is_empty() {
            true => name,
            false => format!("{name}{{{}}}", matchers.join(",")),
        }
    }

    /// A period of few steps or many, of which the last one is seldom its end.
    fn period(&mut self) -> QuerySteps {
        let start_ms = START_MS + 500 * self.random.below(7_200) as i64;
        let length_ms = 1 + self.random.below(1_200_000) as i64;
        let step_ms = 1_000 * (1 + self.random.below(600) as i64);
        let length_ms = length_ms.min(step_ms * 200);
        QuerySteps { start_ms, end_ms: start_ms + length_ms, step_ms }
    }

    fn labels(&mut self) -> String {
        let count = self.random.below(4);
        (0..count).map(|_| self.one_of(&LABELS)).collect::<Vec<_>>().join(", ")
    }

    fn scalar(&mut self, depth: u32) -> String {
        match self.random.below(8) {
            0 => "time()".into(),
            1 if depth > 0 => format!("scalar({})", self.vector(depth - 1)),
            2 if depth > 0 => {
                let operator = self.one_of(&["+", "-", "*", "/", "%", "^", "== bool", "< bool"]);
                format!("({} {operator} {})", self.scalar(depth - 1), self.scalar(depth - 1))
            }
            _ => self.number(),
        }
    }

    fn matrix(&mut self, depth: u32) -> String {
        let window = self.one_of(&DURATIONS);
        let shift = self.shift();
        match self.random.below(4) {
            0 if depth > 0 => {
                let step = self.one_of(&["", "10s", "40s", "1m", "90s"]);
                let vector = self.vector(depth - 1);
                // A later period of what has an `@` is empty in Prometheus 2.42.
                let shift = match vector.contains('@') {
                    true => shift.replace("offset -", "offset "),
                    false => shift,
                };
                format!("({vector})[{window}:{step}]{shift}")
            }
            _ => format!("{}[{window}]{shift}", self.selector()),
        }
    }

    fn vector(&mut self, depth: u32) -> String {
        if depth == 0 {
            return format!("{}{}", self.selector(), self.shift());
        }
        let depth = depth - 1;
        match self.random.below(12) {
            0 => format!("{}{}", self.selector(), self.shift()),
            1..=3 => match self.one_of(&OVER_TIME) {
                // Of an `@` Prometheus 2.42 gives the first two steps alone.
                "predict_linear" => {
                    let (selector, window) = (self.selector(), self.one_of(&DURATIONS));
                    format!("predict_linear({selector}[{window}], {})", self.scalar(0))
                }
                function => format!("{function}({})", self.matrix(depth)),
            },
            4 => match self.one_of(&OF_VECTORS) {
                "round" => format!("round({}, {})", self.vector(depth), self.scalar(0)),
                // With an `@` Prometheus 2.42 forgets the offset.
                "timestamp" => format!("timestamp({})", self.selector()),
                function => format!("{function}({})", self.vector(depth)),
            },
            5 | 6 => self.aggregation(depth),
            7 | 8 => self.binary(depth),
            9 => {
                let operator =
                    self.one_of(&["+", "-", "*", "/", "%", "^", ">", "<=", "!=", "== bool"]);
                let (vector, scalar) = (self.vector(depth), self.scalar(depth));
                match self.random.percent(60) {
                    true => format!("({vector} {operator} {scalar})"),
                    false => format!("({scalar} {operator} {vector})"),
                }
            }
            10 => self.relabelled(depth),
            _ => match self.random.below(4) {
                0 => format!("-{}", self.vector(depth)),
                1 => format!("vector({})", self.scalar(depth)),
                2 => format!("clamp_max({}, {})", self.vector(depth), self.scalar(0)),
                _ => format!(
                    "quantile_over_time({}, {})",
                    self.one_of(&["0", "0.5", "0.93", "1", "2", "-1"]),
                    self.matrix(depth)
                ),
            },
        }
    }

    fn aggregation(&mut self, depth: u32) -> String {
        let grouping = match self.random.below(3) {
            0 => String::new(),
            1 => format!(" by ({})", self.labels()),
            _ => format!(" without ({})", self.labels()),
        };
        let vector = self.vector(depth);
        match self.random.below(7) {
            // Which of equal values are chosen is chance: these have none.
            0 => {
                let operation = self.one_of(&["topk", "bottomk"]);
                let (count, metric) = (
                    self.one_of(&["0", "1", "2", "5"]),
                    self.one_of(&["free_bytes", "temperature"]),
                );
                format!("{operation}{grouping} ({count}, {metric}{})", self.shift())
            }
            1 => {
                let share = self.one_of(&["0.5", "0.9", "1.5", "-0.1"]);
                format!("quantile{grouping} ({share}, {vector})")
            }
            // Of large numbers that are close to each other their last digits are left, by which
            // libraries and the order of adding differ.
            3 => {
                let operation = self.one_of(&["stddev", "stdvar"]);
                let metric = self.one_of(&["free_bytes", "temperature", "extreme"]);
                format!("{operation}{grouping} ({metric}{})", self.shift())
            }
            // The last digit of a logarithm is not the same in all libraries.
            2 => format!("count_values{grouping} (\"value\", {})", self.selector()),
            _ => format!("{}{grouping} ({vector})", self.one_of(&AGGREGATIONS)),
        }
    }

    fn binary(&mut self, depth: u32) -> String {
        let (left, right) = (self.vector(depth), self.vector(depth));
        let matching = match self.random.below(3) {
            0 => String::new(),
            1 => format!(" on({})", self.labels()),
            _ => format!(" ignoring({})", self.labels()),
        };
        if self.random.percent(35) {
            let operator = self.one_of(&["and", "or", "unless"]);
            return format!("({left} {operator}{matching} {right})");
        }
        let operator = self.one_of(&[
            "+", "-", "*", "/", "%", "^", ">", "<", ">=", "==", "!=", "> bool", "!= bool",
        ]);
        let group = match self.random.below(5) {
            0 if !matching.is_empty() => format!(" group_left({})", self.labels()),
            1 if !matching.is_empty() => " group_right".to_owned(),
            _ => String::new(),
        };
        format!("({left} {operator}{matching}{group} {right})")
    }

    fn relabelled(&mut self, depth: u32) -> String {
        let vector = self.vector(depth);
        let (target, source) = (self.one_of(&LABELS), self.one_of(&LABELS));
        if self.random.percent(40) {
            let other = self.one_of(&LABELS);
            return format!("label_join({vector}, \"{target}\", \"-\", \"{source}\", \"{other}\")");
        }
        let pattern = self.one_of(&["(.*)", "(.).*", "(a|b):(\\\\d)", "(?P<x>[a-z]+).*", "", "x"]);
        let value = self.one_of(&["$1", "${1}_$2", "$x", "same", "", "$$1"]);
        format!("label_replace({vector}, \"{target}\", \"{value}\", \"{source}\", \"{pattern}\")")
    }
}

#[test]
fn random_queries_have_the_same_answers() {
    let storage = storage();
    let Some(prometheus) = Prometheus::start(&open_metrics(&storage)) else { return };
    let mut queries = Queries { random: Random::from_seed(seed(7)) };
    let (mut differences, mut answered) = (Vec::new(), 0);
    for _ in 0..share(QUERIES) {
        let query = match queries.random.percent(5) {
            true => queries.scalar(DEPTH),
            false => queries.vector(DEPTH),
        };
        let form = match queries.random.below(3) {
            0 => Form::Instant(START_MS + 1000 * queries.random.below(3700) as i64),
            1 => Form::Range(37_500),
            _ => Form::Period(queries.period()),
        };
        let theirs = form.theirs(prometheus.address(), &query);
        let ours = form.ours(&storage, &query);
        answered += usize::from(theirs.contains("\"success\""));
        if let Err(difference) = compare_answers(&theirs, &ours) {
            differences.push(format!("{query}: {form:?}: {difference}"));
        }
    }
    differences.retain(|one| !differs_by_design(one));
    let shown: Vec<&String> = differences.iter().take(40).collect();
    assert!(differences.is_empty(), "{}: {shown:#?}", differences.len());
    assert!(answered * 2 > share(QUERIES), "{answered} have an answer");
}
