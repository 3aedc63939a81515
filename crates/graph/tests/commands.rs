//! Command lines that Cacti, Munin, Smokeping, collectd and MRTG's front ends send, compared with
//! the installed rrdtool: what `graphv` says of each picture, line by line.
//!
//! The files in `commands/` have one argument a line.  Series come from `rrdtool fetch`, so that
//! only the graph is compared.  Texts of the legend, sizes and values must be equal; the corners of
//! texts may differ by two pixels.

use std::path::Path;
use std::process::{Command, Output};

use calendar::CivilZone;
use graph::command::GraphCommand;
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, WallClock};

/// The end of all data.
const END_S: i64 = 1_700_179_200;

/// The fonts that both programs draw with; with others installed, RRDtool takes them for names such
/// as Arial, and the sizes of texts differ.
const FONTS: &str = "/usr/share/fonts/truetype/dejavu";

fn rrdtool(folder: &Path, arguments: &[String]) -> Output {
    let fonts = folder.join("fonts.conf");
    if !fonts.exists() {
        let text = format!(
            "<fontconfig><dir>{FONTS}</dir><cachedir>fonts</cachedir>\
             <include ignore_missing=\"yes\">/etc/fonts/conf.d</include></fontconfig>"
        );
        std::fs::write(&fonts, text).expect("a temporary file");
    }
    let mut command = Command::new("rrdtool");
    command.args(arguments).current_dir(folder).env("TZ", "UTC").env("LC_ALL", "C");
    command.env("FONTCONFIG_FILE", fonts);
    command.output().expect("rrdtool starts")
}

/// A file of data sources with waves of different length and height.
fn create(folder: &Path, name: &str, sources: &[(&str, f64)]) {
    let rows = 2500;
    let start = END_S - rows * 300;
    let mut create = format!("create {name} -b {} -s 300", start - 300);
    for (source, _) in sources {
        create += &format!(" DS:{source}:GAUGE:600:U:U");
    }
    for function in ["AVERAGE", "MIN", "MAX"] {
        for (steps, count) in [(1, 2600), (6, 700), (24, 775), (288, 797)] {
            create += &format!(" RRA:{function}:0.5:{steps}:{count}");
        }
    }
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(rrdtool(folder, &words(&create)).status.success());
    let updates: Vec<String> = (0..=rows)
        .map(|row| {
            let mut update = (start + row * 300).to_string();
            for (index, (_, height)) in sources.iter().enumerate() {
                let turn = row as f64 / (40.0 + 7.0 * index as f64);
                let value = height * (1.0 + 0.8 * turn.sin() + 0.1 * (turn * 17.0).cos());
                update += &match (row + index as i64 * 31) % 97 {
                    0..3 => ":U".to_owned(),
                    _ => format!(":{value:.6}"),
                };
            }
            update
        })
        .collect();
    for chunk in updates.chunks(500) {
        let arguments = [vec!["update".to_owned(), name.to_owned()], chunk.to_vec()].concat();
        assert!(rrdtool(folder, &arguments).status.success());
    }
}

/// The files that the commands name.
fn create_all(folder: &Path) {
    let traffic = [("traffic_in", 1e5), ("traffic_out", 4e4), ("ds0", 2e5), ("ds1", 9e4)];
    create(folder, "traffic.rrd", &traffic);
    let host = ["user", "system", "nice", "idle", "iowait", "load", "used", "cached", "free"];
    let heights = [20.0, 10.0, 2.0, 30.0, 3.0, 2.5, 4e9, 2e9, 1e9];
    create(folder, "host.rrd", &host.into_iter().zip(heights).collect::<Vec<_>>());
    let ping = ["loss", "median", "uptime", "ping1", "ping2", "ping3", "ping4", "ping5", "ping6"];
    let heights = [1.5, 0.03, 200.0, 0.020, 0.022, 0.024, 0.028, 0.033, 0.040];
    create(folder, "ping.rrd", &ping.into_iter().zip(heights).collect::<Vec<_>>());
}

/// The commands: the name of each file, and its arguments.
fn commands() -> Vec<(String, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands");
    let entries = std::fs::read_dir(folder).expect("the folder of commands");
    let mut commands: Vec<(String, Vec<String>)> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a readable file");
            (name, text.lines().map(str::to_owned).collect())
        })
        .collect();
    commands.sort();
    commands
}

/// Series of `rrdtool fetch`.
struct Fetch<'a>(&'a Path);

impl SeriesSource for Fetch<'_> {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let function = format!("{:?}", request.consolidation).to_uppercase();
        let function = match function.as_str() {
            "MINIMUM" => "MIN",
            "MAXIMUM" => "MAX",
            other => other,
        };
        let (start, end) = (request.start_s, request.end_s);
        let step = request.step_s.max(1);
        let line = format!("fetch {} {function} -s {start} -e {end} -r {step}", request.file);
        let output = rrdtool(self.0, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let columns = lines.next().unwrap_or_default().split_whitespace();
        let mut table =
            SeriesTable { columns: columns.map(str::to_owned).collect(), ..SeriesTable::default() };
        let mut times = Vec::new();
        for (time, row) in lines.filter_map(|line| line.split_once(": ")) {
            times.push(time.parse::<i64>().map_err(|error| error.to_string())?);
            let number = |word: &str| {
                word.trim_start_matches('-').parse().map(|value: f64| {
                    if word.starts_with('-') && !value.is_nan() { -value } else { value }
                })
            };
            table
                .values
                .extend(row.split_whitespace().map(|word| number(word).unwrap_or(f64::NAN)));
        }
        let [first, second, .., last] = times[..] else { return Err(format!("no rows: {line}")) };
        table.step_s = second - first;
        (table.start_s, table.end_s) = (first - table.step_s, last);
        Ok(table)
    }
}

/// The lines of `graphv`, the picture itself left out.
fn ours(folder: &Path, arguments: &[String], zone: &CivilZone) -> Result<Vec<String>, String> {
    let environment = WallClock { now_s: END_S, zone };
    let command = GraphCommand::parse(arguments, None, &environment);
    let command = command.map_err(|error| error.to_string())?;
    let result = command.run(&mut Fetch(folder), &environment, false);
    let result = result.map_err(|error| error.to_string())?;
    assert!(result.file.is_some_and(|file| file.len() > 100));
    Ok(result.facts.iter().map(|(name, fact)| format!("{name} = {fact}")).collect())
}

/// Whether two lines agree: corners within two pixels, numbers within rounding, all else exactly.
fn agree(ours: &str, theirs: &str) -> bool {
    if ours == theirs {
        return true;
    }
    let split = |line: &str| {
        let (name, value) = line.split_once(" = ").unwrap_or((line, ""));
        let value = value.trim_matches('"');
        let numbers: Vec<f64> = value.split(',').filter_map(|part| part.parse().ok()).collect();
        (name.to_owned(), numbers)
    };
    let ((name, ours), (their_name, theirs)) = (split(ours), split(theirs));
    let margin = |number: f64| if name.starts_with("coords") { 2.0 } else { number.abs() * 1e-9 };
    let may_differ = name.starts_with("coords") || name.starts_with("value_");
    let mut pairs = ours.iter().zip(&theirs);
    name == their_name
        && may_differ
        && ours.len() == theirs.len()
        && pairs.all(|(a, b)| (a - b).abs() <= margin(*b))
}

#[test]
fn pictures_are_described_as_rrdtool_does() {
    if !testkit::is_installed("graphs of front ends", "rrdtool") {
        return;
    }
    if !Path::new(FONTS).exists() {
        return testkit::skip("graphs of front ends", "the fonts DejaVu are not installed");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    create_all(folder);
    let zone = CivilZone::utc();
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, arguments) in commands() {
        let line = [vec!["graphv".to_owned(), "x.png".to_owned()], arguments.clone()].concat();
        let output = rrdtool(folder, &line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
        // What a lazy command finds in the folder is not what is compared.
        let _ = std::fs::remove_file(folder.join("x.png"));
        let line = [vec!["x.png".to_owned()], arguments].concat();
        let ours = match ours(folder, &line, &zone) {
            Ok(ours) => ours,
            Err(ours) if error.trim_end() == format!("ERROR: {ours}") => continue,
            Err(ours) => {
                failures.push(format!("{name}: {ours}: theirs {error}"));
                continue;
            }
        };
        count += 1;
        let theirs: Vec<&str> = theirs.lines().collect();
        if ours.len() != theirs.len() {
            failures.push(format!(
                "{name}: {} lines, theirs {}: {error}",
                ours.len(),
                theirs.len()
            ));
        }
        for (ours, theirs) in ours.iter().zip(theirs).filter(|(ours, theirs)| !agree(ours, theirs))
        {
            failures.push(format!("{name}: {ours}: theirs {theirs}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= 50, "{count} commands compared");
}

/// The commands whose pictures are kept.
const GALLERY: &[&str] = &[
    "cacti-cpu",
    "cacti-log",
    "cacti-right-axis",
    "cacti-traffic",
    "collectd-dashes",
    "collectd-df-gradient",
    "collectd-interface",
    "librenms-port",
    "mrtg-daily",
    "mrtg-holt-winters",
    "munin-cpu",
    "munin-month",
    "smokeping-detail",
    "smokeping-tick",
];

/// Draws the gallery anew: `cargo test -p graph --test all -- --ignored commands::gallery`.
#[test]
#[ignore = "writes docs/gallery"]
fn gallery() {
    if !testkit::is_installed("the gallery", "rrdtool") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    create_all(folder);
    let zone = CivilZone::utc();
    let environment = WallClock { now_s: END_S, zone: &zone };
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    std::fs::create_dir_all(&gallery).expect("the folder of the gallery");
    let mut page = "# Graphs of whit and of RRDtool\n\n\
        The same command lines, drawn by whit and by RRDtool 1.7.2. The commands are in \
        [crates/graph/tests/commands](../../crates/graph/tests/commands).\n\
        `cargo test -p graph --test all -- --ignored commands::gallery` draws them anew.\n"
        .to_owned();
    for (name, arguments) in
        commands().into_iter().filter(|(name, _)| GALLERY.contains(&name.as_str()))
    {
        let theirs = gallery.join(format!("{name}-rrdtool.png"));
        let line =
            [vec!["graph".to_owned(), theirs.to_string_lossy().into_owned()], arguments.clone()];
        assert!(rrdtool(folder, &line.concat()).status.success(), "{name}");
        let line = [vec!["x.png".to_owned()], arguments].concat();
        let command = GraphCommand::parse(&line, None, &environment).expect("a good command");
        let result = command.run(&mut Fetch(folder), &environment, false).expect("a picture");
        let file = result.file.expect("a picture");
        std::fs::write(gallery.join(format!("{name}-whit.png")), file).expect("a new file");
        page += &format!(
            "\n## {name}\n\n| whit | RRDtool |\n|---|---|\n| ![]({name}-whit.png) | ![]({name}-rrdtool.png) |\n"
        );
    }
    std::fs::write(gallery.join("README.md"), page).expect("a new page");
}
