//! The collector with fake jobs: what they write comes out as it should, and nothing else does.

#![allow(clippy::print_stdout, reason = "a measurement is printed")]

mod compressed;
mod cost;
mod files;
mod limits;
mod parallel;
mod support;

use run::collect::{CollectError, JobText, Mode};
use support::{Bench, finished, write};

#[test]
fn a_group_comes_when_its_job_has_ended_output_before_errors() {
    let mut bench = Bench::new(Mode::Group, false);
    let one = bench.open(1, 1, None);
    let two = bench.open(2, 2, None);
    write(one.stderr, "e1\n");
    write(two.stdout, "two\n");
    write(one.stdout, "one, ");
    write(two.stdout, "no line feed");
    write(one.stdout, "still one\n");
    assert_eq!(bench.stdout(), "");
    bench.close(2, 2);
    assert_eq!(bench.stdout(), "two\nno line feed");
    bench.close(1, 1);
    assert_eq!(bench.stdout(), "two\nno line feedone, still one\n");
    assert_eq!(bench.stderr(), "e1\n");
    assert_eq!(bench.written(), [(2, 16), (1, 15)]);
}

#[test]
fn a_slot_is_used_again_with_nothing_of_the_last_job_in_it() {
    let mut bench = Bench::new(Mode::Group, false);
    let first = bench.open(1, 1, None);
    write(first.stdout, "a long output of the first job\n");
    bench.close(1, 1);
    let second = bench.open(1, 2, None);
    assert_eq!((first.stdout, first.stderr), (second.stdout, second.stderr));
    write(second.stdout, "b\n");
    bench.close(1, 2);
    let third = bench.open(1, 3, None);
    bench.close(1, 3);
    assert_eq!(third.stdout, first.stdout);
    assert_eq!(bench.stdout(), "a long output of the first job\nb\n");
}

#[test]
fn what_a_job_left_behind_writes_does_not_come_to_the_next_one() {
    for mode in [Mode::Group, Mode::LineBuffer] {
        let mut bench = Bench::new(mode, false);
        let streams = bench.open(1, 1, None);
        let daemon = support::borrowed(streams.stdout).try_clone_to_owned().expect("a descriptor");
        write(streams.stdout, "one\n");
        bench.collector.close(finished(1, 1), true).expect("written");
        bench.drain();
        let streams = bench.open(1, 2, None);
        // With pipes it is told that nobody reads; a job would die of SIGPIPE.
        let _ = rustix::io::write(&daemon, b"late\n");
        write(streams.stdout, "two\n");
        bench.close(1, 2);
        assert_eq!(bench.stdout(), "one\ntwo\n", "{mode:?}");
    }
}

#[test]
fn a_job_that_opens_its_output_anew_does_not_overwrite_itself() {
    let mut bench = Bench::new(Mode::Group, false);
    let streams = bench.open(1, 1, None);
    write(streams.stdout, "aaaaaa\n");
    let path = format!("/proc/self/fd/{}", streams.stdout.unwrap());
    std::fs::OpenOptions::new().append(true).open(&path).map_or_else(
        |error| panic!("{path}: {error}"),
        |mut file| std::io::Write::write_all(&mut file, b"b\n").expect("written"),
    );
    write(streams.stdout, "c\n");
    bench.close(1, 1);
    assert_eq!(bench.stdout(), "aaaaaa\nb\nc\n");
}

#[test]
fn lines_have_tags_and_headings_have_them_too() {
    let mut bench = Bench::new(Mode::Group, false);
    let text = JobText { tag: Some(b"A"), heading: Some(b"echo A"), ..JobText::default() };
    let streams = bench.collector.open(1, 1, &text).expect("streams");
    write(streams.stdout, "x\n\ny");
    write(streams.stderr, "e\n");
    bench.close(1, 1);
    let streams = bench.open(1, 2, Some("B c"));
    write(streams.stdout, "z\n");
    bench.close(1, 2);
    assert_eq!(bench.stdout(), "A\techo A\nA\tx\nA\t\nA\tyB c\tz\n");
    assert_eq!(bench.stderr(), "A\te\n");
    // The heading counts, the tags do not.
    assert_eq!(bench.written(), [(1, 11), (2, 2)]);
}

#[test]
fn colors_end_with_each_line() {
    for mode in [Mode::Group, Mode::LineBuffer] {
        let mut bench = Bench::with(|folder| run::collect::OutputOptions {
            color: true,
            color_failed: true,
            ..support::options(mode, false, folder)
        });
        let streams = bench.open(1, 1, Some("t"));
        write(streams.stdout, "a\nb");
        bench.close(1, 1);
        let begin = "\u{1b}[48;5;101;38;5;231m\u{1b}[Kt\t";
        assert_eq!(bench.stdout(), format!("{begin}a\u{1b}[m\n{begin}b\u{1b}[m\n"), "{mode:?}");
        let streams = bench.open(1, 2, None);
        write(streams.stderr, "e\n");
        let failed = run::JobResult { outcome: run::Outcome::Exited(1), ..finished(1, 2) };
        bench.collector.close(failed, false).expect("written");
        bench.drain();
        let ground = if mode == Mode::Group { 196 } else { 186 };
        let letters = if mode == Mode::Group { "231" } else { "016" };
        let line = format!("\u{1b}[48;5;{ground:03};38;5;{letters}m\u{1b}[Ke\u{1b}[m\n");
        assert_eq!(bench.stderr(), line, "{mode:?}");
    }
}

#[test]
fn a_heading_comes_without_a_job_too() {
    for mode in [Mode::Group, Mode::LineBuffer, Mode::Ungroup] {
        let mut bench = Bench::new(mode, true);
        for seq in [1, 2] {
            let text = JobText { heading: Some(b"echo"), ..JobText::default() };
            bench.collector.open(seq as u32, seq, &text).expect("streams");
        }
        bench.close(2, 2);
        bench.close(1, 1);
        assert_eq!(bench.stdout(), "echo\necho\n", "{mode:?}");
    }
}

#[test]
fn with_order_kept_a_group_waits_for_those_before_it() {
    let mut bench = Bench::new(Mode::Group, true);
    let large = "0123456789abcde\n".repeat(10_000);
    for seq in 1..=4 {
        let streams = bench.open(seq as u32, seq, Some("t"));
        match seq {
            1 => write(streams.stdout, "1\n"),
            2 => write(streams.stdout, &large),
            3 => {}
            _ => write(streams.stderr, "4\n"),
        }
    }
    for seq in [4, 2, 3] {
        bench.close(seq as u32, seq);
        // The slot has another job meanwhile.
        let streams = bench.open(seq as u32, seq + 10, None);
        write(streams.stdout, format!("{seq}+10\n"));
    }
    assert_eq!((bench.stdout().as_str(), bench.written().as_slice()), ("", &[][..]));
    assert_eq!(bench.collector.held_count(), 3);
    bench.close(1, 1);
    let tagged = format!("t\t1\n{}", "t\t0123456789abcde\n".repeat(10_000));
    assert_eq!(bench.stdout(), tagged);
    assert_eq!(bench.stderr(), "t\t4\n");
    assert_eq!(bench.written(), [(1, 2), (2, 160_000), (3, 0), (4, 0)]);
    for seq in [14, 12, 13] {
        bench.close(seq as u32 - 10, seq);
    }
    assert_eq!(bench.stdout(), tagged + "2+10\n3+10\n4+10\n");
}

#[test]
fn an_attempt_that_failed_leaves_nothing_and_keeps_its_place() {
    let mut bench = Bench::new(Mode::Group, true);
    let first = bench.open(1, 1, None);
    let second = bench.open(2, 2, None);
    write(first.stdout, "a failure\n");
    write(second.stdout, "two\n");
    bench.collector.abandon(1, false).expect("thrown away");
    bench.close(2, 2);
    let again = bench.open(2, 1, None);
    write(again.stdout, "one\n");
    bench.close(2, 1);
    assert_eq!(bench.stdout(), "one\ntwo\n");
    assert_eq!(bench.written(), [(1, 4), (2, 4)]);
}

#[test]
fn lines_come_as_they_are_written_and_whole() {
    let mut bench = Bench::new(Mode::LineBuffer, false);
    let one = bench.open(1, 1, Some("A"));
    let two = bench.open(2, 2, Some("B"));
    let (watch_one, watch_two) = (one.watch.expect("pipes"), two.watch.expect("pipes"));
    write(one.stdout, "first half, ");
    bench.collector.readable(watch_one[0]).expect("read");
    write(two.stdout, "b1\nb2\nb");
    bench.collector.readable(watch_two[0]).expect("read");
    assert_eq!(bench.stdout(), "B\tb1\nB\tb2\n");
    write(one.stdout, "second\nrest");
    write(one.stderr, "error\n");
    bench.collector.readable(watch_one[0]).expect("read");
    bench.collector.readable(watch_one[1]).expect("read");
    assert_eq!(bench.stdout(), "B\tb1\nB\tb2\nA\tfirst half, second\n");
    assert_eq!(bench.stderr(), "A\terror\n");
    // What nobody has told of is read when the job has ended.
    write(two.stdout, "3\n");
    bench.close(2, 2);
    bench.close(1, 1);
    assert_eq!(bench.stdout(), "B\tb1\nB\tb2\nA\tfirst half, second\nB\tb3\nA\trest");
    assert_eq!(bench.written(), [(2, 9), (1, 29)]);
    // The pipes are used again, and need not be watched again.
    let again = bench.open(1, 3, None);
    assert_eq!((again.stdout, again.watch), (one.stdout, None));
}

#[test]
fn with_order_kept_the_first_jobs_lines_come_at_once_and_the_others_wait() {
    let mut bench = Bench::new(Mode::LineBuffer, true);
    let streams: Vec<_> = (1..=3).map(|seq| bench.open(seq as u32, seq, Some("t"))).collect();
    let watch: Vec<_> = streams.iter().map(|streams| streams.watch.expect("pipes")).collect();
    let large = "x".repeat(1000) + "\n";
    write(streams[1].stdout, "2a\n2b");
    bench.collector.readable(watch[1][0]).expect("read");
    for _ in 0..500 {
        write(streams[2].stdout, &large);
        bench.collector.readable(watch[2][0]).expect("read");
    }
    assert_eq!(bench.stdout(), "");
    write(streams[0].stdout, "1a\n");
    bench.collector.readable(watch[0][0]).expect("read");
    assert_eq!(bench.stdout(), "t\t1a\n");
    bench.close(3, 3);
    bench.close(1, 1);
    // The second is live from now on: its whole line comes at once.
    assert_eq!(bench.stdout(), "t\t1a\nt\t2a\n");
    write(streams[1].stdout, "\n2c\n");
    bench.collector.readable(watch[1][0]).expect("read");
    assert_eq!(bench.stdout(), "t\t1a\nt\t2a\nt\t2b\nt\t2c\n");
    bench.close(2, 2);
    let rest = format!("t\t{large}").repeat(500);
    assert_eq!(bench.stdout(), format!("t\t1a\nt\t2a\nt\t2b\nt\t2c\n{rest}"));
    assert_eq!(bench.written(), [(1, 3), (2, 9), (3, 500 * 1001)]);
}

#[test]
fn a_line_that_never_ends_is_kept_out_of_memory_and_comes_whole() {
    for tag in [None, Some("t")] {
        let mut bench = Bench::new(Mode::LineBuffer, false);
        let streams = bench.open(1, 1, tag);
        let watch = streams.watch.expect("pipes");
        let piece = "y".repeat(50_000);
        for _ in 0..40 {
            write(streams.stdout, &piece);
            bench.collector.readable(watch[0]).expect("read");
        }
        assert_eq!(bench.stdout(), "");
        write(streams.stdout, "end\nnext");
        bench.collector.readable(watch[0]).expect("read");
        let tag = tag.map_or(String::new(), |tag| format!("{tag}\t"));
        let line = format!("{tag}{}end\n", piece.repeat(40));
        assert!(bench.stdout() == line);
        write(streams.stdout, " line\n");
        bench.close(1, 1);
        assert!(bench.stdout() == format!("{line}{tag}next line\n"));
    }
}

#[test]
fn ungrouped_jobs_get_our_own_outputs() {
    let mut bench = Bench::new(Mode::Ungroup, true);
    let two = bench.open(2, 2, Some("tag"));
    let one = bench.open(1, 1, Some("tag"));
    write(two.stdout, "two\n");
    write(one.stderr, "one\n");
    bench.close(2, 2);
    bench.close(1, 1);
    assert_eq!((bench.stdout().as_str(), bench.stderr().as_str()), ("two\n", "one\n"));
    assert_eq!(bench.written(), [(2, 0), (1, 0)]);
}

#[test]
fn notes_come_to_standard_error_at_once() {
    let mut bench = Bench::new(Mode::Group, true);
    let streams = bench.open(1, 1, None);
    write(streams.stderr, "e\n");
    bench.collector.note(b"echo 1\n").expect("written");
    assert_eq!(bench.stderr(), "echo 1\n");
    bench.close(1, 1);
    assert_eq!(bench.stderr(), "echo 1\ne\n");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let mut bench = Bench::with(|_| support::options(Mode::Group, false, "/nowhere".as_ref()));
    let error = bench.collector.open(1, 1, &JobText::default()).expect_err("no folder");
    assert!(matches!(error, CollectError::Io { .. }));
    assert!(
        error.to_string().starts_with("cannot make a temporary file in /nowhere: No such file")
    );
}
