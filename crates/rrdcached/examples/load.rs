//! Sends updates to a daemon and says how many a second it takes:
//! `load SOCKET FOLDER FILES ROUNDS CLIENTS BATCH [make]`.
//!
//! Each client updates its share of `FOLDER/N.rrd` in turn, `ROUNDS` times; `BATCH` updates are sent
//! between BATCH and the dot, or each is sent alone and waited for with `BATCH` 1.  `make` makes the
//! files: MRTG's, with two counters and eight archives.
#![allow(clippy::print_stdout, reason = "a program")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

/// Seconds since 1970 of the first update.
const START: u64 = 1_700_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [socket, folder, files, rounds, clients, batch, rest @ ..] = words.as_slice() else {
        return Err("usage: load SOCKET FOLDER FILES ROUNDS CLIENTS BATCH [make]".into());
    };
    let number = |word: &str| word.parse::<u64>();
    let (files, rounds, clients, batch) =
        (number(files)?, number(rounds)?, number(clients)?, number(batch)?);
    if rest.iter().any(|word| word == "make") {
        make(Path::new(folder), files)?;
    }
    // The text is made before, so that the daemon is measured and not this program.
    let texts: Vec<Vec<Batch>> = (0..clients)
        .map(|client| {
            let own: Vec<u64> = (client..files).step_by(clients as usize).collect();
            batches(folder, &own, rounds, batch)
        })
        .collect();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for batches in &texts {
            scope.spawn(move || run(socket, batches).expect("a daemon that answers"));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let updates = files * rounds;
    println!("{updates} updates in {seconds:.3} s: {:.0} a second", updates as f64 / seconds);
    Ok(())
}

fn make(folder: &Path, files: u64) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let options = rrd::create::Options {
        start: Some(START as i64),
        step_seconds: Some(300),
        ..Default::default()
    };
    let mut definitions = vec!["DS:ds0:COUNTER:600:0:U", "DS:ds1:COUNTER:600:0:U"];
    definitions.extend(["RRA:AVERAGE:0.5:1:800", "RRA:AVERAGE:0.5:6:800"]);
    definitions.extend(["RRA:AVERAGE:0.5:24:800", "RRA:AVERAGE:0.5:288:800"]);
    definitions.extend(["RRA:MAX:0.5:1:800", "RRA:MAX:0.5:6:800"]);
    definitions.extend(["RRA:MAX:0.5:24:800", "RRA:MAX:0.5:288:800"]);
    let first = folder.join("0.rrd");
    rrd::create::create(&first, &options, &definitions, START as i64)?;
    for file in 1..files {
        std::fs::copy(&first, folder.join(format!("{file}.rrd")))?;
    }
    Ok(())
}

/// What is sent at once, and the number of answers to it.
struct Batch {
    text: Vec<u8>,
    answers: usize,
}

fn batches(folder: &str, files: &[u64], rounds: u64, size: u64) -> Vec<Batch> {
    let mut lines = Vec::new();
    for round in 1..=rounds {
        let time = START + round * 300;
        for file in files {
            let value = round * 1000 + file;
            lines.push(format!("UPDATE {folder}/{file}.rrd {time}:{value}:{value}\n"));
        }
    }
    let batch = |lines: &[String]| match size {
        1 => Batch { text: lines.concat().into_bytes(), answers: 1 },
        _ => Batch { text: format!("BATCH\n{}.\n", lines.concat()).into_bytes(), answers: 2 },
    };
    lines.chunks(size as usize).map(batch).collect()
}

fn run(socket: &str, batches: &[Batch]) -> std::io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    for batch in batches {
        stream.write_all(&batch.text)?;
        for _ in 0..batch.answers {
            line.clear();
            answers.read_line(&mut line)?;
            assert!(line.starts_with("0 "), "{line}");
        }
    }
    Ok(())
}
