//! Random descriptions over random databases: tables and printed values are those of the installed
//! rrdtool, to the byte.
//!
//! The databases are rrdtool's; this crate reads them through `rrdtool fetch`.  Their values have at
//! most eleven digits, as `fetch` prints no more.  The seed is printed; `WHIT_SEED` repeats a run.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use calendar::CivilZone;
use graph::description::{Description, GraphTimes};
use graph::print::{Target, print};
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, Span, WallClock, evaluate};
use graph::xport::{self, XportFormat};
use testkit::{Random, Running, share};

const CASES: usize = 1200;
const ZONE: &str = "Europe/Berlin";
const START_S: i64 = 1_396_137_600;

struct Rrdtool {
    _child: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Rrdtool {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new("rrdtool");
        command
            .arg("-")
            .current_dir(folder)
            .env("TZ", ZONE)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = Running::start(&mut command);
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Rrdtool { _child: child, input, output }
    }

    /// The answer to a command, or nothing if rrdtool crashed.
    fn run(&mut self, command: &str) -> Option<String> {
        writeln!(self.input, "{command}").ok()?;
        let mut answer = String::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.starts_with("OK u:") {
                return Some(answer);
            }
            answer += &line;
            if line.starts_with("ERROR: ") {
                return Some(answer);
            }
        }
    }
}

impl SeriesSource for Rrdtool {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let SeriesRequest { file, consolidation, start_s, end_s, step_s, .. } = request;
        let command = format!(
            "fetch {file} {} -s {start_s} -e {end_s} -r {}",
            consolidation.name(),
            step_s.max(&1)
        );
        let answer = self.run(&command).ok_or("rrdtool crashed")?;
        if let Some(error) = answer.strip_prefix("ERROR: ") {
            return Err(error.trim_end_matches('\n').to_owned());
        }
        let mut lines = answer.lines();
        let columns = lines.next().unwrap_or_default().split_whitespace().map(str::to_owned);
        let mut table = SeriesTable { columns: columns.collect(), ..SeriesTable::default() };
        let mut times = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let (time, values) = line.split_once(':').expect("a time");
            times.push(time.parse::<i64>().expect("seconds"));
            table.values.extend(values.split_whitespace().map(|text| match text {
                "-nan" => rpn::UNKNOWN,
                "nan" => f64::NAN,
                text => text.parse().expect("a number"),
            }));
        }
        table.step_s = times[1] - times[0];
        table.start_s = times[0] - table.step_s;
        table.end_s = times[times.len() - 1];
        Ok(table)
    }
}

fn fill(rrdtool: &mut Rrdtool, random: &mut Random) {
    for (name, step) in [("a.rrd", 10), ("b.rrd", 60)] {
        let archives = "RRA:AVERAGE:0.5:1:300 RRA:AVERAGE:0.5:4:300 RRA:AVERAGE:0.3:12:300 \
                        RRA:MAX:0.5:1:300 RRA:MAX:0.5:12:300 RRA:MIN:0.5:4:300 RRA:LAST:0.5:12:300";
        let sources = format!("DS:x:GAUGE:{0}:U:U DS:y:GAUGE:{0}:U:U DS:z:GAUGE:{0}:U:U", step * 3);
        let command = format!("create {name} -b {START_S} -s {step} {sources} {archives}");
        assert_eq!(rrdtool.run(&command).as_deref(), Some(""), "{command}");
        let mut command = format!("update {name}");
        let mut unknown = [1; 3];
        for row in 1..=1500 {
            if row % 100 == 0 {
                assert_eq!(rrdtool.run(&command).as_deref(), Some(""), "{command}");
                command = format!("update {name}");
            }
            // Unknown for whole rows of the coarsest archive, so that averages have few digits.
            if row % 12 == 1 {
                unknown = [random.below(12), random.below(12), random.below(12)];
            }
            let mut column = 0;
            let mut value = |limit: u64| {
                column += 1;
                match (unknown[column - 1], random.below(12)) {
                    (0, _) => "U".to_owned(),
                    (_, 0) => "0".to_owned(),
                    _ => format!("{}", 12 * random.below(limit) as i64 - 6 * limit as i64),
                }
            };
            let values = format!("{}:{}:{}", value(20), value(5000), value(3));
            command += &format!(" {}:{values}", START_S + row * step);
        }
    }
}

const UNARY: [&str; 13] = [
    "SIN", "COS", "LOG", "EXP", "SQRT", "ATAN", "ABS", "FLOOR", "CEIL", "UN", "ISINF", "RAD2DEG",
    "DEG2RAD",
];
const BINARY: [&str; 18] = [
    "+", "-", "*", "/", "%", "LT", "LE", "GT", "GE", "EQ", "NE", "MIN", "MAX", "MINNAN", "MAXNAN",
    "ADDNAN", "ATAN2", "POW",
];
const SETS: [&str; 6] = ["AVG", "MEDIAN", "SMIN", "SMAX", "STDEV", "SORT"];

/// A random expression that leaves one value on the stack, if `depth` allows it.
fn expression(random: &mut Random, names: &[String], words: &mut Vec<String>, depth: u32) {
    let name = |random: &mut Random| names[random.below(names.len() as u64) as usize].clone();
    match if depth == 0 { random.below(4) } else { random.below(16) } {
        0 | 1 => words.push(name(random)),
        2 => words.push(match random.below(3) {
            0 => format!("{}", random.below(1000) as i64 - 500),
            1 => format!("{}.{}", random.below(100), random.below(1_000_000)),
            _ => random.one_of(&["1e3", "0.1", "-2.5e-3", "UNKN", "INF", "NEGINF"]).to_owned(),
        }),
        3 => words.push(match random.below(9) {
            0 => format!("PREV({})", name(random)),
            _ => random
                .one_of(&[
                    "PREV",
                    "COUNT",
                    "TIME",
                    "LTIME",
                    "STEPWIDTH",
                    "NEWDAY",
                    "NEWWEEK",
                    "NEWMONTH",
                    "NEWYEAR",
                ])
                .to_owned(),
        }),
        4 | 5 => {
            expression(random, names, words, depth - 1);
            words.push(random.one_of(&UNARY).to_owned());
        }
        6..=8 => {
            expression(random, names, words, depth - 1);
            expression(random, names, words, depth - 1);
            words.push(random.one_of(&BINARY).to_owned());
        }
        9 => {
            for _ in 0..3 {
                expression(random, names, words, depth - 1);
            }
            words.push(random.one_of(&["IF", "LIMIT"]).to_owned());
        }
        10 => {
            let count = 1 + random.below(5);
            for _ in 0..count {
                expression(random, names, words, depth - 1);
            }
            let set = random.one_of(&SETS);
            words.extend([count.to_string(), set.to_owned()]);
            for _ in 1..if set == "SORT" { count } else { 1 } {
                words.push(random.one_of(&["POP", "MAXNAN", "ADDNAN"]).to_owned());
            }
        }
        11 => {
            for _ in 0..3 {
                expression(random, names, words, depth - 1);
            }
            words.extend([format!("{}", 20 + random.below(81)), "3,PERCENT".to_owned()]);
        }
        12 => {
            let operator = random.one_of(&["TREND", "TRENDNAN"]);
            words.push(format!("{},{},{operator}", name(random), random.below(400)));
        }
        13 => {
            let shifts = match random.below(3) {
                0 | 1 => format!("{},1", 1 + random.below(200)),
                _ => format!("{},{},2", 1 + random.below(200), 5 + random.below(300)),
            };
            let (length, percent) = (random.below(300), random.below(201) as i64 - 100);
            let operator = random.one_of(&["PREDICT", "PREDICTSIGMA", "PREDICTPERC"]);
            let percent =
                if operator == "PREDICTPERC" { format!("{percent},") } else { String::new() };
            // The current value is the last of the operator's, and one that is read ahead.
            words.push(format!("{},{length},{percent}{},{operator}", shifts, name(random)));
        }
        14 => {
            expression(random, names, words, depth - 1);
            expression(random, names, words, depth - 1);
            let tail = [
                "EXC,-",
                "DUP,+,+",
                "2,REV,-",
                "2,COPY,+,*,-",
                "2,INDEX,+,-",
                "1,INDEX,-,+",
                "DEPTH,+,+",
                "POP",
            ];
            words.push(random.one_of(&tail).to_owned());
        }
        _ => {
            expression(random, names, words, depth - 1);
            words.push(random.one_of(&["DUP,*", "POP,1,2,+", "5,6,3,1,ROLL,+,+"]).to_owned());
            if random.below(40) == 0 {
                words.push(random.one_of(&["FOO", "+", "DUP", "-1,1,ROLL", "9,SORT"]).to_owned());
            }
        }
    }
}

struct Case {
    arguments: Vec<String>,
    start_s: i64,
    end_s: i64,
    step_s: i64,
}

fn case(random: &mut Random, what: What) -> Case {
    let start_s = START_S + 100 + random.below(16_000) as i64;
    let longest_s = if random.below(3) == 0 { 70_000 } else { 3000 };
    // At least three rows of the coarsest archive: `fetch` does not print the step.
    let length_s = 2200 + random.below(longest_s) as i64;
    let step_s = if random.below(3) == 0 { 1 + random.below(900) as i64 } else { 0 };
    let mut case = Case { arguments: Vec::new(), start_s, end_s: start_s + length_s, step_s };
    let mut names = Vec::new();
    for index in 0..1 + random.below(3) {
        let mut text = format!(
            "DEF:d{index}={}:{}:{}",
            random.one_of(&["a.rrd", "b.rrd"]),
            random.one_of(&["x", "y", "z"]),
            random.one_of(&["AVERAGE", "AVERAGE", "MAX", "MIN", "LAST"])
        );
        if random.below(4) == 0 {
            text += &format!(":step={}", 1 + random.below(700));
        }
        if random.below(5) == 0 {
            text += &format!(":reduce={}", random.one_of(&["AVERAGE", "MAX", "MIN", "LAST"]));
        }
        // Beyond the end of a series RRDtool fills tables with whatever lies in its memory.
        if what == What::Prints && random.below(5) == 0 {
            text += random.one_of(&[
                ":start=end-1h",
                ":end=start+50min",
                ":start=end-1d",
                ":end=start+1d",
            ]);
        }
        case.arguments.push(text);
        names.push(format!("d{index}"));
    }
    for index in 0..random.below(4) {
        let mut words = Vec::new();
        expression(random, &names, &mut words, 3);
        // Most with a series: an expression of constants is an error.
        if random.below(20) > 0 {
            words.push(names[random.below(names.len() as u64) as usize].clone());
            words.push(random.one_of(&["POP", "+", "MAX", "EXC,-", "ADDNAN"]).to_owned());
        }
        case.arguments.push(format!("CDEF:c{index}={}", words.join(",")));
        names.push(format!("c{index}"));
    }
    let series = names.clone();
    for index in 0..random.below(5) {
        let name = &series[random.below(series.len() as u64) as usize];
        let function = match random.below(14) {
            0 | 1 => format!("{},PERCENT", random.below(101)),
            2 | 3 => format!("{}.5,PERCENTNAN", random.below(100)),
            _ => random
                .one_of(&[
                    "MAXIMUM",
                    "MINIMUM",
                    "AVERAGE",
                    "STDEV",
                    "LAST",
                    "FIRST",
                    "TOTAL",
                    "LSLSLOPE",
                    "LSLINT",
                    "LSLCORREL",
                ])
                .to_owned(),
        };
        case.arguments.push(format!("VDEF:v{index}={name},{function}"));
        let formats = [
            "%lf",
            "%le",
            "%lg",
            "%6.2lf",
            "%.17le",
            "%8.3lf%s",
            "%lf %S",
            "%10.4lg %s|",
            "%.0lf%%",
            "%H\\:%M\\:%S %d.%m.%Y %Z:strftime",
            "%c:strftime",
            "%Y %j %V:valstrftime",
            "%H\\:%m\\:%s.%f:valstrfduration",
        ];
        // The last two are an error in tables.
        let count = if what == What::Prints || random.below(9) == 0 { 13 } else { 11 };
        let format = random.one_of(&formats[..count]);
        let print = random.one_of(&["PRINT", "PRINT", "GPRINT"]);
        case.arguments.push(format!("{print}:v{index}:{format}"));
        if random.below(3) == 0 {
            let mut words = vec![format!("v{index}")];
            expression(random, &names, &mut words, 1);
            words.push("+".to_owned());
            case.arguments.push(format!("CDEF:w{index}={}", words.join(",")));
            names.push(format!("w{index}"));
        }
    }
    if random.below(3) == 0 {
        let name = &series[random.below(series.len() as u64) as usize];
        let function = random.one_of(&["AVERAGE", "MIN", "MAX", "LAST", "FAILURES"]);
        case.arguments.push(format!("PRINT:{name}:{function}:%.12lg"));
    }
    if what == What::Prints && random.below(8) == 0 {
        let name = &series[random.below(series.len() as u64) as usize];
        case.arguments.push(format!("SHIFT:{name}:{}", random.below(2000) as i64 - 1000));
    }
    for _ in 0..1 + random.below(3) {
        let name = &names[random.below(names.len() as u64) as usize];
        case.arguments.push(format!("XPORT:{name}:legend of {name}"));
    }
    case
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Xport(&'static str, XportFormat),
    Graph(&'static str, XportFormat),
    Prints,
}

/// What rrdtool would write.
fn ours(case: &Case, what: What, source: &mut Rrdtool, zone: &CivilZone) -> Result<String, String> {
    let environment = WallClock { now_s: now_s(), zone };
    let context =
        GraphTimes { start_s: case.start_s, end_s: case.end_s, now_s: environment.now_s, zone };
    let arguments = case.arguments.iter().map(String::as_str);
    let description = Description::parse(arguments, &context).map_err(|error| error.to_string())?;
    let span = Span::of_width(case.start_s, case.end_s, case.step_s, 400);
    let data =
        evaluate(&description, source, span, &environment).map_err(|error| error.to_string())?;
    let target = if what == What::Prints { Target::Picture } else { Target::Table };
    let texts = || {
        print(&description, &data, 1000.0, target, &environment).map_err(|error| error.to_string())
    };
    let (format, has_shapes) = match what {
        What::Xport(_, format) => (format, false),
        What::Graph(_, format) => (format, true),
        What::Prints => {
            let printed = description.elements.iter().zip(texts()?).filter_map(|(element, text)| {
                let is_print =
                    matches!(element, graph::elements::Element::Print(print) if !print.is_in_graph);
                text.filter(|_| is_print)
            });
            return Ok(printed.map(|text| format!("{text}\n")).collect());
        }
    };
    let rows =
        xport::rows(&description, &data, span, has_shapes).map_err(|error| error.to_string())?;
    let texts = if matches!(format, XportFormat::Separated(_)) { Vec::new() } else { texts()? };
    Ok(xport::write(&description, &rows, &texts, format))
}

fn theirs(case: &Case, what: What, rrdtool: &mut Rrdtool) -> Option<Result<String, String>> {
    let verb = match what {
        What::Xport(options, _) => format!("xport {options}"),
        What::Graph(options, _) => format!("graph - {options}"),
        What::Prints => "graph /dev/null".to_owned(),
    };
    let step = if case.step_s > 0 { format!("--step {}", case.step_s) } else { String::new() };
    let arguments: Vec<String> =
        case.arguments.iter().map(|argument| format!("\"{argument}\"")).collect();
    let span = format!("-s {} -e {}", case.start_s, case.end_s);
    let answer = rrdtool.run(&format!("{verb} {span} {step} {}", arguments.join(" ")))?;
    // Tables are written as they are made, so an error may come late.
    if let Some((_, error)) = format!("\n{answer}").split_once("\nERROR: ") {
        return Some(Err(error.trim_end_matches('\n').to_owned()));
    }
    let mut lines = answer.lines().peekable();
    if what == What::Prints {
        let is_size = |line: &&str| {
            line.split_once('x')
                .is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok())
        };
        lines.next_if(is_size);
        return Some(Ok(lines.map(|line| format!("{line}\n")).collect()));
    }
    Some(Ok(answer))
}

/// Whether RRDtool may have read outside of its arrays, where our values are unknown.
fn reads_outside(case: &Case) -> bool {
    let words = ["PERCENTNAN", "TREND", "PREDICT", "SHIFT", "PREV("];
    case.arguments.iter().any(|text| words.iter().any(|word| text.contains(word)))
}

#[test]
fn random_descriptions_give_the_tables_and_texts_of_rrdtool() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let seed = testkit::seed(20_261_123);
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let mut source = Rrdtool::start(folder.path());
    fill(&mut source, &mut random);
    let mut rrdtool = Rrdtool::start(folder.path());
    let zone = CivilZone::new(jiff::tz::TimeZone::get(ZONE).expect("a zone"));
    let xml = |enumerates, shows_time| XportFormat::Xml { enumerates, shows_time };
    let whats = [
        What::Prints,
        What::Prints,
        What::Xport("", xml(false, false)),
        What::Xport("-t --enumds", xml(true, true)),
        What::Xport("--json -t", XportFormat::Json { shows_time: true }),
        What::Graph("-a CSV", XportFormat::Separated(',')),
        What::Graph("-a JSON", XportFormat::Json { shows_time: false }),
        What::Graph("-a XML", xml(false, true)),
    ];
    let (mut wrong, mut crashes, mut errors, mut undefined) = (Vec::new(), 0, 0, 0);
    let mut tally = std::collections::BTreeMap::new();
    let cases = share(CASES);
    for number in 0..cases {
        let what = whats[number % whats.len()];
        let case = case(&mut random, what);
        let Some(theirs) = theirs(&case, what, &mut rrdtool) else {
            crashes += 1;
            rrdtool = Rrdtool::start(folder.path());
            continue;
        };
        if let Err(error) = &theirs {
            errors += 1;
            *tally.entry(error.chars().take(24).collect::<String>()).or_insert(0) += 1;
        }
        let ours = ours(&case, what, &mut source, &zone);
        // What lies in memory may also be taken for a size, which no memory is enough for.
        let is_theirs_undefined = match &theirs {
            Ok(_) => true,
            Err(error) => error.contains("malloc"),
        };
        if ours != theirs && ours.is_ok() && is_theirs_undefined && reads_outside(&case) {
            undefined += 1;
        } else if ours != theirs {
            let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?}"));
            let at = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
            let near = |text: &str| {
                let bytes = text.as_bytes();
                String::from_utf8_lossy(&bytes[at.saturating_sub(40)..(at + 60).min(bytes.len())])
                    .into_owned()
            };
            wrong.push(format!(
                "{number}: -s {} -e {} --step {} {}\n  theirs {}\n  ours   {}",
                case.start_s,
                case.end_s,
                case.step_s,
                case.arguments.join(" "),
                near(&theirs),
                near(&ours)
            ));
        }
    }
    println!("{cases} cases, {errors} errors, {undefined} undefined, {crashes} crashes");
    println!("{tally:?}");
    assert!(undefined < cases / 20, "{undefined} of {cases} undefined");
    let shown = wrong[..wrong.len().min(12)].join("\n");
    assert!(wrong.is_empty(), "{} of {cases} wrong:\n{shown}", wrong.len());
}
