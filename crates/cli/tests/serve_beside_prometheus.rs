//! Prometheus scrapes a recorder while it records; then the same queries go to Prometheus and to
//! `whit serve` over the recording of that time.
//!
//! Each line of a page has the time of its reading, so both have the same points, whenever Prometheus
//! came.  A reading between two scrapes is missing in Prometheus: it is asked for its points, and an
//! answer that differs must be the one that whit gives over these points alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use promql::{
    MemoryStorage, NAME, QueryBudget, QueryContext, QueryError, QueryLimits, QuerySteps,
    QueryValue, Series, SeriesPoint, SeriesStorage as _, is_stale, selector, write_labels,
};
use serde_json::Value;
use serve::RecordingStorage;
use testkit::{Prometheus, compare_answers, http, is_long, share_of, wait_until};

use crate::serve::{serve, start};
use crate::whit;

/// Metrics of every machine, for which there are counters, levels and several rows.
const COUNTERS: [&str; 4] = [
    "node_cpu_seconds_total",
    "node_context_switches_total",
    "node_network_receive_bytes_total",
    "whit_process_run_time_seconds_total",
];
const LEVELS: [&str; 4] = [
    "node_memory_MemAvailable_bytes",
    "node_sockstat_sockets_used",
    "node_filefd_allocated",
    "whit_process_resident_bytes",
];

/// Queries of a counter and of a level, one a line: `M` is the metric, `#3` three intervals, `MIDDLE` a
/// time.
const OF_COUNTERS: &str = "\
M
M{instance!=\"\"} offset #2
M offset -#1
M @ MIDDLE
M @ end() - M @ start()
count(M)
rate(M[#3])
rate(M[#10]) > 0
rate(M[#2500m])
irate(M[#4])
increase(M[#7])
increase(M[#5] offset #3)
increase(M[#5] @ MIDDLE)
delta(M[#6])
idelta(M[#4])
deriv(M[#8])
changes(M[#9])
resets(M[#9])
sum(rate(M[#4]))
sum by (instance, cpu) (rate(M[#4]))
sum without (mode) (irate(M[#4]))
avg by (job) (increase(M[#4]))
max(rate(M[#4])) - min(rate(M[#4]))
stddev(rate(M[#6]))
stdvar by (job) (rate(M[#6]))
quantile(0.9, rate(M[#6]))
topk(1, sum by (job) (rate(M[#6])))
max_over_time(rate(M[#3])[#6:#1])
avg_over_time(sum(rate(M[#3]))[#5:])
rate(sum(M)[#5:#1])
count_over_time(M[#9])
sum_over_time(M[#3])
last_over_time(M[#3])
timestamp(M)
time() - timestamp(M offset #1)
absent(M)
rate(M[#4]) / on(instance) group_left sum by (instance) (rate(M[#4]))
100 * (1 - avg by (instance) (rate(M[#5])))
clamp_max(rate(M[#4]), 0.5)
round(rate(M[#4]), 0.01)
sort_desc(rate(M[#4]))
label_replace(sum by (job) (rate(M[#4])), \"what\", \"$1x\", \"job\", \"(wh).*\")
";

const OF_LEVELS: &str = "\
M
M{job=~\"wh.t\",instance=~\".+\"}
M{job!~\"wh.*\"}
M offset #3
M @ end()
-M
M / 1024 ^ 2
M * 2 + 1 - 3
M % 1000
M > 1000
M >= bool 1000
M != M offset #2
M == bool M offset #2
M - M offset #1
M and on(instance) node_load1
M unless on(instance) node_load1
M or node_load1
M / on(instance) group_left node_memory_MemTotal_bytes
node_memory_MemTotal_bytes * on(instance) group_right M
M + ignoring(nothing) M
avg_over_time(M[#6])
min_over_time(M[#6])
max_over_time(M[#6])
sum_over_time(M[#6])
count_over_time(M[#6])
stddev_over_time(M[#6])
stdvar_over_time(M[#6])
last_over_time(M[#6])
present_over_time(M[#6])
absent_over_time(M[#6])
quantile_over_time(0.5, M[#8])
quantile_over_time(0.99, M[#8])
delta(M[#8])
deriv(M[#8])
changes(M[#8])
max_over_time(deriv(M[#4])[#6:#2] offset #1)
min_over_time(M[#4:#1])
sum(M)
avg by (job) (M)
min without (instance) (M)
max(M)
count by (instance) (M)
group(M)
stddev(M)
stdvar(M)
topk(1, sum by (job) (M))
bottomk(1, sum by (job) (M))
quantile(0.25, M)
count_values(\"job\", sum(M))
abs(M - 1e6)
ceil(M / 7)
floor(M / 7)
round(M / 7)
round(M, 4096)
sqrt(M)
ln(M + 1)
log2(M + 1)
log10(M + 1)
exp(M / 1e12)
sgn(M)
clamp(M, 100, 1000)
clamp_min(M, 1000)
clamp_max(M, 1000)
scalar(sum(M))
vector(scalar(sum(M)))
absent(M{job=\"none\"})
sort(M)
timestamp(M)
label_join(M, \"both\", \"-\", \"job\", \"instance\")
label_replace(M, \"host\", \"$1\", \"instance\", \"(.).*\")
hour(timestamp(M))
minute(M)
";

const OF_NOTHING: &str = "\
1 + 1
time()
vector(1)
vector(time() - MIDDLE)
year()
month()
day_of_week() + day_of_month() + day_of_year() + days_in_month()
\"a text\"
nothing
absent(nothing{a=\"b\"})
count by (__name__) ({__name__=~\"node_memory_Mem.*\"})
sum by (mode) (rate(node_cpu_seconds_total{mode!=\"idle\"}[#5]))
avg by (cpu) (irate(node_cpu_seconds_total{mode=~\"user|system\"}[#5]))
(node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes) / node_memory_MemTotal_bytes * 100
count(count by (cpu) (node_cpu_seconds_total))
scalar(node_load1) * 100 / count(count(node_cpu_seconds_total) by (cpu))
sum(rate(node_cpu_seconds_total{mode=\"system\"}[#5])) / scalar(count(count(node_cpu_seconds_total) by (cpu)))
node_load1 > node_load5
";

/// The readings that are compared, and the milliseconds between two.
struct Length {
    readings: usize,
    interval_ms: i64,
}

/// The queries, with windows of so many milliseconds for an interval.
fn queries(interval_ms: i64, middle_ms: i64) -> Vec<String> {
    let of = |forms: &'static str, metrics: &'static [&str]| {
        let all = metrics.iter().flat_map(move |metric| {
            forms.lines().map(move |form| {
                let mut words = form.split('M');
                let mut query = words.next().unwrap_or_default().to_owned();
                for word in words {
                    // Of names in capitals only the letter that stands alone is the metric.
                    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                    let is_alone = !query.ends_with(is_name) && !word.starts_with(is_name);
                    query += if is_alone { metric } else { "M" };
                    query += word;
                }
                query
            })
        });
        all.collect::<Vec<String>>()
    };
    let mut queries = of(OF_COUNTERS, &COUNTERS);
    queries.extend(of(OF_LEVELS, &LEVELS));
    queries.extend(of(OF_NOTHING, &[""]));
    let place = |query: String| {
        let middle = seconds(middle_ms);
        let mut words = query.split('#');
        let mut placed = words.next().unwrap_or_default().to_owned();
        for word in words {
            let digits = word.bytes().take_while(u8::is_ascii_digit).count();
            let (count, rest) = word.split_at(digits);
            // A thousandth of an interval.
            let (unit, rest) = rest.strip_prefix('m').map_or((1, rest), |rest| (1000, rest));
            let length_ms = count.parse::<i64>().unwrap() * interval_ms / unit;
            placed += &format!("{length_ms}ms{rest}");
        }
        placed.replace("MIDDLE", &middle)
    };
    queries.into_iter().map(place).collect()
}

fn seconds(time_ms: i64) -> String {
    format!("{}.{:03}", time_ms / 1000, time_ms % 1000)
}

/// The points that Prometheus has, by their labels.
type Scraped = BTreeMap<String, Vec<SeriesPoint>>;

fn scraped(prometheus: SocketAddr) -> Scraped {
    let query = "{job=\"whit\",__name__!~\"up|scrape_.+\"}[1h]";
    let answer = http(prometheus, "POST", "/api/v1/query", &[("query", query)]);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let series = answer["data"]["result"].as_array().unwrap();
    let point = |pair: &Value| SeriesPoint {
        time_ms: (pair[0].as_f64().unwrap() * 1000.0).round() as i64,
        value: pair[1].as_str().unwrap().parse().unwrap(),
    };
    let points = |one: &Value| one["values"].as_array().unwrap().iter().map(point).collect();
    series.iter().map(|one| (one["metric"].to_string(), points(one))).collect()
}

/// What of a recording Prometheus does not have, or not so.
#[derive(Debug, Default)]
struct Lacks {
    /// Readings between two scrapes.
    missed: usize,
    /// Ends of rows: for Prometheus a point with a time is valid for five minutes.
    ends: usize,
    /// Points one millisecond earlier: it cuts the time, which it reads as a float.
    earlier: usize,
}

/// The points of a recording that Prometheus has; it has no others.
fn shared(recorded: Vec<Series>, mut scraped: Scraped) -> (MemoryStorage, Lacks) {
    let mut lacks = Lacks::default();
    let mut storage = MemoryStorage::default();
    for one in recorded {
        let mut labels = String::new();
        write_labels(&one.labels, &mut labels).unwrap();
        let labels = serde_json::from_str::<Value>(&labels).unwrap().to_string();
        let theirs = scraped.remove(&labels).unwrap_or_default();
        let mut left = theirs.iter().peekable();
        let mut samples = Vec::new();
        for point in one.samples {
            if is_stale(point.value) {
                lacks.ends += 1;
                continue;
            }
            match left.next_if(|scraped| (0..=1).contains(&(point.time_ms - scraped.time_ms))) {
                Some(scraped) => {
                    assert!(scraped.value == point.value, "{labels}: {scraped:?}, ours {point:?}");
                    lacks.earlier += usize::from(scraped.time_ms != point.time_ms);
                    samples.push(*scraped);
                }
                None => lacks.missed += 1,
            }
        }
        assert_eq!(left.next(), None, "only theirs, of {labels}");
        if !samples.is_empty() {
            storage.series.push(Series { labels: one.labels, samples });
        }
    }
    assert!(scraped.is_empty(), "only theirs: {:?}", scraped.keys());
    (storage, lacks)
}

/// How a query is asked: at a time, or in steps.
#[derive(Clone, Copy, Debug)]
enum Form {
    Instant(i64),
    Range(QuerySteps),
}

impl Form {
    fn asked(self, address: SocketAddr, method: &str, query: &str) -> String {
        let answer = match self {
            Form::Instant(time_ms) => {
                let asked = [("query", query), ("time", &seconds(time_ms)[..])];
                http(address, method, "/api/v1/query", &asked)
            }
            Form::Range(steps) => {
                let [start, end, step] = [steps.start_ms, steps.end_ms, steps.step_ms].map(seconds);
                let asked =
                    [("query", query), ("start", &start[..]), ("end", &end), ("step", &step)];
                http(address, method, "/api/v1/query_range", &asked)
            }
        };
        answer.body
    }

    fn over(self, storage: &MemoryStorage, query: &str) -> String {
        let context = QueryContext { storage, limits: QueryLimits::default(), control: &|| None };
        let answer: Result<QueryValue, QueryError> = match self {
            Form::Instant(time_ms) => promql::instant(query, time_ms, &context),
            Form::Range(steps) => promql::range(query, steps, &context),
        };
        match answer {
            Ok(answer) => {
                let mut data = String::new();
                let mut writer = promql::AnswerWriter::new(answer);
                while writer.write_next(&mut data).unwrap() {}
                format!("{{\"status\":\"success\",\"data\":{data}}}")
            }
            Err(error) => format!("{{\"status\":\"error\",\"errorType\":\"{}\"}}", error.kind()),
        }
    }
}

#[test]
fn prometheus_that_scraped_a_recorder_answers_as_its_recording_does() {
    let length = match is_long() {
        true => Length { readings: 70, interval_ms: 1000 },
        false => Length { readings: 15, interval_ms: 400 },
    };
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    let interval = seconds(length.interval_ms);
    let mut command = whit();
    command.arg("record").arg(format!("-i{interval}:{interval}:{interval}"));
    command
        .args(["-scmdnsiCDNZ", "--procfilt", "cwhit", "--listen", "127.0.0.1:0", "-f"])
        .arg(&recorded);
    let (mut recorder, address) = start(&mut command, &folder.path().join("said"));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let configuration = format!(
        "scrape_configs: [{{job_name: whit, scrape_interval: {0}ms, scrape_timeout: {0}ms, \
         static_configs: [{{targets: ['{address}'], labels: {{instance: '{1}'}}}}]}}]\n",
        length.interval_ms,
        host.trim()
    );
    let Some(prometheus) = Prometheus::scraping(&configuration) else { return };
    wait_until("readings", || {
        let points = scraped(prometheus.address());
        let of_one = points.iter().find(|(labels, _)| labels.contains("\"node_load1\""));
        of_one.is_some_and(|(_, points)| points.len() >= length.readings)
    });
    recorder.signal(libc::SIGINT);
    assert!(recorder.ended().success());

    let (own, _) = RecordingStorage::open(std::slice::from_ref(&recorded)).unwrap();
    // Processes have many fields.
    let limits =
        QueryLimits { series_max: usize::MAX, memory_max: usize::MAX, ..QueryLimits::default() };
    let budget = QueryBudget::new(limits, &|| None);
    let all = selector("{__name__=~\".+\"}").unwrap();
    let all = own.select(&all, 0, i64::MAX / 2_000_000, &budget).unwrap();
    let (known, lacks) = shared(all, scraped(prometheus.address()));
    let of_load = known.series.iter().find(|one| one.labels.get(NAME) == "node_load1");
    let times: Vec<i64> = of_load.unwrap().samples.iter().map(|point| point.time_ms).collect();
    let (first_ms, last_ms) = (times[0], times[times.len() - 1]);
    let (start_ms, end_ms) = (first_ms + length.interval_ms, last_ms);
    let steps = QuerySteps { start_ms, end_ms, step_ms: length.interval_ms * 7 / 10 };
    let forms = [Form::Instant(last_ms - length.interval_ms), Form::Range(steps)];

    let (_server, address) = serve(&recorded, &[]);
    let queries = queries(length.interval_ms, times[times.len() / 2]);
    assert!(queries.len() >= 300, "{}", queries.len());
    let (mut differences, mut asked, mut explained, mut empty) = (Vec::new(), 0, 0, 0);
    for (index, query) in share_of(queries).enumerate() {
        for (place, form) in forms.into_iter().enumerate() {
            let method = ["GET", "POST"][(index + place) % 2];
            asked += 1;
            let theirs = form.asked(prometheus.address(), method, &query);
            let ours = form.asked(address, method, &query);
            empty += usize::from(ours.contains("\"result\":[]"));
            let Err(difference) = compare_answers(&theirs, &ours) else { continue };
            match compare_answers(&theirs, &form.over(&known, &query)) {
                Ok(()) => explained += 1,
                Err(more) => differences.push(format!("{query} {form:?}: {difference}; {more}")),
            }
        }
    }
    let said = format!("{asked} asked, {explained} explained by {lacks:?}, {empty} empty");
    eprintln!("{said}");
    let shown: Vec<&String> = differences.iter().take(20).collect();
    assert!(differences.is_empty(), "{said}; {} differ: {shown:#?}", differences.len());
    assert!(empty * 5 < asked, "{said}");
}
