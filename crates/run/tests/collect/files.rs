//! `--files` and `--results`: folders, names of each job, tables.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use run::collect::{Collector, JobText, Mode, OutputOptions, Results, TableFormat, has_results};
use template::Record;

use super::support::{Bench, collector, device, finished, options, pipe, write};

fn with_results(mode: Mode, keep_order: bool, results: impl FnOnce(&Path) -> Results) -> Bench {
    Bench::with(|folder| OutputOptions {
        results: Some(results(folder)),
        ..options(mode, keep_order, folder)
    })
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_tree_has_a_folder_for_each_job_and_nothing_is_printed() {
    let mut bench = with_results(Mode::Group, false, |folder| Results::Tree(folder.join("d")));
    let records = [Record { values: vec![b"x/y".to_vec(), b"B c".to_vec()] }];
    let text = JobText {
        tag: Some(b"tag"),
        heading: Some(b"echo"),
        records: &records,
        ..JobText::default()
    };
    let streams = bench.collector.open(1, 7, &text).expect("streams");
    write(streams.stdout, "out\n");
    write(streams.stderr, "err\n");
    // A runner that is killed now has not done this job.
    assert!(!has_results(&Results::Tree(bench.folder.path().join("d")), &[], &text));
    bench.close(1, 7);
    let folder = bench.folder.path().join(r"d/1/x\_y/2/B c");
    assert_eq!(read(&folder.join("stdout")), "echo\nout\n");
    assert_eq!(read(&folder.join("stderr")), "err\n");
    assert_eq!(read(&folder.join("seq")), "7");
    assert!(has_results(&Results::Tree(bench.folder.path().join("d")), &[], &text));
    assert_eq!((bench.stdout(), bench.stderr()), (String::new(), String::new()));
    assert_eq!(bench.written(), [(7, 9)]);
}

#[test]
fn a_name_of_the_job_has_its_errors_and_number_beside_it() {
    let mut bench = with_results(Mode::Group, false, |_| Results::Template);
    for (place, stdout, stderr) in [("g/A-x", "g/A-x", "g/A-x.err"), ("h/", "h/stdout", "h/stderr")]
    {
        let folder = bench.folder.path().to_path_buf();
        let place = folder.join(place).display().to_string();
        let text = JobText { place: Some(place.as_bytes()), ..JobText::default() };
        let streams = bench.collector.open(1, 3, &text).expect("streams");
        write(streams.stdout, "out\n");
        write(streams.stderr, "err\n");
        bench.close(1, 3);
        assert_eq!(read(&folder.join(stdout)), "out\n");
        assert_eq!(read(&folder.join(stderr)), "err\n");
    }
    assert_eq!(read(&bench.folder.path().join("g/A-x.seq")), "3");
}

#[test]
fn names_of_files_are_printed_in_order_with_tags() {
    let mut bench = Bench::with(|folder| OutputOptions {
        files: Some(b'\n'),
        ..options(Mode::Group, true, folder)
    });
    for seq in [1, 2] {
        let streams = bench.open(seq as u32, seq, Some(if seq == 1 { "A" } else { "B" }));
        write(streams.stdout, format!("output {seq}\n"));
        write(streams.stderr, format!("error {seq}\n"));
    }
    bench.close(2, 2);
    assert_eq!(bench.stdout(), "");
    bench.close(1, 1);
    let stdout = bench.stdout();
    let lines: Vec<&str> = stdout.lines().collect();
    for (line, tag, seq) in [(lines[0], "A", 1), (lines[1], "B", 2)] {
        let (before, name) = line.split_once('\t').expect("a tag");
        assert_eq!(before, tag);
        assert_eq!(read(Path::new(name)), format!("output {seq}\n"));
        let name = Path::new(name).file_name().expect("a name").to_string_lossy();
        assert!(name.starts_with("par") && name.ends_with(".par") && name.len() == 12, "{name}");
    }
    assert_eq!(bench.stderr(), "A\terror 1\nB\terror 2\n");
}

#[test]
fn the_file_of_a_failed_attempt_is_removed() {
    let mut bench = Bench::with(|folder| OutputOptions {
        files: Some(0),
        ..options(Mode::Group, false, folder)
    });
    bench.open(1, 1, None);
    bench.collector.abandon(1, false).expect("thrown away");
    bench.open(1, 1, None);
    bench.close(1, 1);
    assert!(bench.stdout().ends_with(".par\0"));
    assert_eq!(std::fs::read_dir(bench.folder.path()).expect("a folder").count(), 1);
}

fn run_two(bench: &mut Bench) {
    let records = [Record::of("1")];
    for seq in [1, 2] {
        let text = JobText { tag: None, records: &records, ..JobText::default() };
        let streams = bench.collector.open(seq as u32, seq, &text).expect("streams");
        write(streams.stdout, format!("o \"{seq}\"\n"));
        write(streams.stderr, if seq == 1 { "" } else { "e" });
    }
    bench.close(2, 2);
    bench.close(1, 1);
}

const ROW_1: &str = "1,:,1795235723.505,0.004,0,6,0,0,\"echo 1\",1,\"o \"\"1\"\"\n\",\n";
const ROW_2: &str = "2,:,1795235723.505,0.004,0,6,0,0,\"echo 2\",2,\"o \"\"2\"\"\n\",e\n";
const HEADER: &str =
    "Seq,Host,Starttime,JobRuntime,Send,Receive,Exitval,Signal,Command,V1,Stdout,Stderr\n";

#[test]
fn a_table_has_a_row_for_each_job() {
    let mut bench = with_results(Mode::Group, false, |folder| {
        Results::Table(TableFormat::Csv, Some(folder.join("t.csv")))
    });
    run_two(&mut bench);
    assert_eq!(read(&bench.folder.path().join("t.csv")), format!("{HEADER}{ROW_2}{ROW_1}"));
    assert_eq!((bench.stdout(), bench.stderr()), (String::new(), String::new()));
}

#[test]
fn a_table_on_standard_output_keeps_order() {
    let mut bench = with_results(Mode::Group, true, |_| Results::Table(TableFormat::Csv, None));
    run_two(&mut bench);
    assert_eq!(bench.stdout(), format!("{HEADER}{ROW_1}{ROW_2}"));
}

#[test]
fn a_large_output_goes_into_a_table_in_pieces() {
    let mut bench = with_results(Mode::Group, false, |_| Results::Table(TableFormat::Json, None));
    let streams = bench.open(1, 1, None);
    let line = "a \"line\"\t\u{1b}\n".repeat(50_000);
    write(streams.stdout, &line);
    bench.close(1, 1);
    let row: serde_json::Value = serde_json::from_str(&bench.stdout()).expect("JSON");
    assert!(row["Stdout"] == line && row["Stderr"] == "");
    assert_eq!(row["Receive"], line.len());
}

#[test]
fn a_table_cannot_be_written_line_by_line() {
    let options = OutputOptions {
        mode: Mode::LineBuffer,
        results: Some(Results::Table(TableFormat::Tsv, None)),
        ..OutputOptions::default()
    };
    let (null, null_too) =
        (super::support::device("/dev/null"), super::support::device("/dev/null"));
    let error = Collector::new(options, null, null_too).expect_err("refused");
    assert!(error.to_string().starts_with("--line-buffer and a table of --results cannot go"));
}

#[test]
fn ungrouped_a_table_has_no_output_in_it() {
    let mut bench = with_results(Mode::Ungroup, false, |folder| {
        Results::Table(TableFormat::Csv, Some(folder.join("t.csv")))
    });
    let streams = bench.open(1, 1, None);
    write(streams.stdout, "at once\n");
    bench.collector.close(finished(1, 1), false).expect("written");
    bench.drain();
    assert_eq!(bench.stdout(), "at once\n");
    assert!(read(&bench.folder.path().join("t.csv")).ends_with(",\"echo 1\",1,,\n"));
}

#[test]
fn nothing_is_made_for_an_output_that_is_not_used() {
    let (reader, writer) = pipe();
    let folder = tempfile::tempdir().expect("a folder");
    let options = OutputOptions {
        stdout_unused: true,
        directory: folder.path().into(),
        ..OutputOptions::default()
    };
    let mut collector = collector(options, writer, device("/dev/null"));
    let text = JobText { heading: Some(b"shown"), ..JobText::default() };
    let streams = collector.open(1, 1, &text).expect("streams");
    assert_eq!(streams.stdout, None);
    collector.close(finished(1, 1), false).expect("closed");
    assert_eq!(collector.next_written().expect("written").map(|job| job.receive_bytes), Some(6));
    drop(collector);
    let mut text = String::new();
    File::from(reader).read_to_string(&mut text).expect("read");
    assert_eq!(text, "shown\n");
}
