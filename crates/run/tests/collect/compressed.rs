//! `--compress`: what jobs write goes through two programs.

use run::collect::{CollectError, CompressionCommands, JobText, Mode, OutputOptions};

use super::support::{Bench, finished, options, write};

/// A collector whose files are written by one shell command and read by another.
fn with(keep_order: bool, held_files_max: usize, [compress, decompress]: [&str; 2]) -> Bench {
    Bench::with(|folder| OutputOptions {
        compression: Some(CompressionCommands {
            compress: compress.into(),
            decompress: decompress.into(),
        }),
        held_files_max,
        ..options(Mode::Group, keep_order, folder)
    })
}

/// Both are seen to have run: letters are moved there, and digits on the way back.
const MOVED: [&str; 2] = ["tr a-z b-za", "tr 0-9 1-90"];

#[test]
fn output_goes_through_both_programs_in_groups() {
    let mut bench = with(false, 8, MOVED);
    let one = bench.open(1, 1, Some("t"));
    let two = bench.open(2, 2, None);
    write(one.stderr, "a1\n");
    write(two.stdout, "z9");
    write(one.stdout, "one\n");
    bench.close(2, 2);
    assert_eq!(bench.stdout(), "a0");
    bench.close(1, 1);
    assert_eq!(bench.stdout(), "a0t\tpof\n");
    assert_eq!(bench.stderr(), "t\tb2\n");
    // As the output was, with the heading.
    assert_eq!(bench.written(), [(2, 2), (1, 4)]);
    let text = JobText { heading: Some(b"abc 1"), ..JobText::default() };
    let streams = bench.collector.open(1, 3, &text).expect("streams");
    write(streams.stdout, "5");
    bench.close(1, 3);
    assert_eq!(bench.stdout(), "a0t\tpof\nabc 1\n6");
    assert_eq!(bench.written(), [(3, 7)]);
}

#[test]
fn what_waits_is_written_in_order_also_without_files() {
    for held_files_max in [0, 1, 8] {
        let mut bench = with(true, held_files_max, MOVED);
        let streams = [1, 2, 3].map(|seq| bench.open(seq, u64::from(seq), None));
        for (streams, text) in streams.iter().zip(["a1\n", "b2\n", "c3\n"]) {
            write(streams.stdout, text);
        }
        bench.close(3, 3);
        bench.close(2, 2);
        assert_eq!(bench.stdout(), "", "{held_files_max}");
        bench.close(1, 1);
        assert_eq!(bench.stdout(), "b2\nc3\nd4\n", "{held_files_max}");
        assert_eq!(bench.written(), [(1, 3), (2, 3), (3, 3)], "{held_files_max}");
    }
}

#[test]
fn what_is_abandoned_is_not_written() {
    let mut bench = with(false, 8, MOVED);
    let streams = bench.open(1, 1, None);
    write(streams.stdout, "a1\n");
    bench.collector.abandon(1, false).expect("dropped");
    let streams = bench.open(1, 1, None);
    write(streams.stdout, "b2\n");
    bench.close(1, 1);
    assert_eq!(bench.stdout(), "c3\n");
}

#[test]
fn a_program_that_fails_is_told() {
    for (programs, failing) in [
        (["exit 3", "cat"], "'exit 3' failed (exit status: 3)"),
        (["cat", "cat; exit 4"], "'cat; exit 4' failed (exit status: 4)"),
        (["no-such-program", "cat"], "'no-such-program' failed (exit status: 127)"),
    ] {
        let mut bench = with(false, 8, programs);
        bench.open(1, 1, None);
        let error = bench.collector.close(finished(1, 1), false).expect_err(failing);
        assert!(matches!(error, CollectError::Compression { .. }), "{error}");
        assert!(error.to_string().starts_with(failing), "{error}");
    }
}
