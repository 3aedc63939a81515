//! `tracing` with `tracing-appender`, with the defaults of both, as a contestant of `whit bench log`:
//! `CASE THREADS CALLS TURNS FOLDER`.  Prints the nanoseconds of a call, a line a turn.  An example, so
//! that neither is in whit.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use std::hint::black_box;
use std::time::Duration;

use bench::log::{CallPattern, turns};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    let case = words[0].as_str();
    let pattern = CallPattern {
        is_paced: case.starts_with("paced"),
        threads: number(1),
        calls: number(2),
        turns: number(3),
    };
    let folder = std::path::Path::new(&words[4]);
    let file = tracing_appender::rolling::never(folder, "output");
    let (writer, _guard) = tracing_appender::non_blocking(file);
    tracing_subscriber::fmt().with_ansi(false).with_writer(writer).init();
    // It does not tell when its queue is empty: wait until the file no longer grows.
    let written = || std::fs::metadata(folder.join("output")).map_or(0, |facts| facts.len());
    let rest = || {
        let mut last = u64::MAX;
        while written() != last {
            last = written();
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let text = "a text of forty bytes, which is copied..";
    let all = match case {
        "three" | "paced" => turns(pattern, rest, |thread, number| {
            tracing::info!("call {} {} {}", thread, number, f64::from(number) + 0.5);
        }),
        "text" | "paced text" => turns(pattern, rest, |_, _| tracing::info!("{}", black_box(text))),
        "disabled" => turns(pattern, rest, |thread, number| {
            tracing::debug!("call {} {} {}", thread, number, f64::from(number) + 0.5);
        }),
        _ => panic!("no case {case}"),
    };
    all.iter().for_each(|ns| println!("{ns}"));
}
