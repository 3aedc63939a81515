//! Commands from standard input, as `rrdtool -` takes them: to measure updates without the rest of
//! the program.

use std::io::{self, BufRead as _, Write as _};

use rrd::command::World;
use rrd::dump::LocalZone;
use rrd::header::Time;
use rrd::pipe::{Next, Session};
use rrd::update::Moments;

struct Plain;

impl Moments for Plain {
    fn now(&self) -> Time {
        Time::default()
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(format!("no time in words: {words}"))
    }
}

impl LocalZone for Plain {
    fn offset(&self, _seconds: i64) -> (i32, String) {
        (0, "UTC".to_owned())
    }
}

impl World for Plain {
    fn period(&self, _start: &str, _end: &str) -> Result<(i64, i64), String> {
        Err("no periods here".to_owned())
    }
}

fn main() -> io::Result<()> {
    let mut session = Session::new(20_000);
    let mut input = io::BufReader::with_capacity(1 << 18, io::stdin().lock());
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = Vec::new();
    let mut answer = |out: &mut dyn io::Write| out.write_all(b"OK u:0.00 s:0.00 r:0.00\n");
    loop {
        line.clear();
        let is_end = input.read_until(b'\n', &mut line)? == 0;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if !is_end && session.add(&line) {
            continue;
        }
        session.flush(&Plain, &mut out, &mut answer)?;
        if is_end {
            return out.flush();
        }
        if session.add(&line) {
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        match session.run(&text, &Plain, &mut out, "", &mut |_, _, _| None) {
            Ok(Next::Line) => answer(&mut out)?,
            Ok(Next::Quit) => return out.flush(),
            Err(error) => writeln!(out, "ERROR: {error}")?,
        }
    }
}
