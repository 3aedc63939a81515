//! Updates a file as `rrdtool update` does: a small program for the tests that kill it.
//!
//! `update FILE TIME:VALUE[:VALUE…]…`

use std::path::Path;

use rrd::header::Time;
use rrd::update::{Moments, Options, update};

struct Unknown;

impl Moments for Unknown {
    fn now(&self) -> Time {
        Time::default()
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(format!("no time in words: {words}"))
    }
}

fn main() -> Result<(), rrd::Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, arguments)) = words.split_first() else { return Ok(()) };
    let arguments: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
    update(Path::new(file), &Options::default(), &arguments, &Unknown, None)
}
