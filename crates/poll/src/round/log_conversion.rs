//! A round-robin database from one of MRTG's `.log` files, for a configuration that has changed to
//! `LogFormat: rrdtool`.
//!
//! The log's rates, newest first, are gathered into steps of 5 minutes, 30 minutes, 2 hours and a
//! day that lie on multiples of their lengths; the step that has not ended becomes the state of
//! consolidation.  A rate of 0 becomes unknown, as in MRTG: its log has no other sign for it.

use std::fmt::Write as _;
use std::path::Path;

use crate::log_file::{LastCounter, LogFiles, LogLine};
use crate::target::PollTarget;

use super::design::Design;

/// Steps of the archives, in seconds, and how many of them are taken from the log.
const STEPS: [(i64, usize); 4] = [(300, 600), (1800, 700), (7200, 775), (86_400, 797)];

/// Why a log is not converted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConversionError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] crate::log_file::Error),
    /// The database cannot be written.
    #[error(transparent)]
    Database(#[from] rrd::Error),
}

/// Averages and maxima of one step length, newest first; the first step has not ended.
#[derive(Default)]
struct Gathered {
    /// In, out, maximum of in, maximum of out.
    steps: Vec<[f64; 4]>,
}

/// Converts `log` to `path`.
pub(super) fn convert(
    log: &Path,
    path: &Path,
    design: &Design,
    target: &PollTarget,
) -> Result<(), ConversionError> {
    let mut files = LogFiles::new();
    let lines: Vec<LogLine> = files.read(log)?.lines().to_vec();
    let (time, input, output) = files.last().unwrap_or((
        lines.first().map_or(0, |line| line.time),
        LastCounter::Missing,
        LastCounter::Missing,
    ));
    let factor = match target.options {
        options if options.perhour => 1.0 / 3600.0,
        options if options.perminute => 1.0 / 60.0,
        _ => 1.0,
    };
    let gathered = STEPS.map(|(step, count)| gather(&lines, time, step, count, factor));
    let text = document(design, time, [input, output], &gathered);
    rrd::restore::restore(&text, false)?.write(path)?;
    Ok(())
}

/// Gathers the rates of the lines into steps.
fn gather(lines: &[LogLine], last: i64, step: i64, count: usize, factor: f64) -> Gathered {
    let mut gathered = Gathered::default();
    let Some(newest) = lines.first() else { return gathered };
    let rates = |line: &LogLine| [line.input, line.output, line.input_max, line.output_max];
    // The rest of the current step is taken as what the newest line says.
    let mut begin = last - last.rem_euclid(step);
    let mut current = rates(newest);
    let mut elapsed = step - (last - begin);
    for pair in lines.windows(2) {
        let (line, next) = (&pair[0], &pair[1]);
        let of_line = rates(line);
        let mut time = line.time;
        while time > next.time && gathered.steps.len() <= count {
            let stop = next.time.max(begin);
            let share = (time - stop).max(0);
            if elapsed + share > 0 {
                for (value, rate) in current.iter_mut().zip(of_line).take(2) {
                    *value =
                        (*value * elapsed as f64 + rate * share as f64) / (elapsed + share) as f64;
                }
            }
            for place in 2..4 {
                current[place] = current[place].max(of_line[place]);
            }
            elapsed += share;
            time = stop;
            if stop == begin {
                gathered.steps.push(current.map(|value| value * factor));
                begin -= step;
                elapsed = 0;
                current = [0.0; 4];
            }
        }
    }
    gathered
}

/// The database as RRDtool's dump writes it.
fn document(
    design: &Design,
    time: i64,
    last: [LastCounter; 2],
    gathered: &[Gathered; 4],
) -> String {
    let mut text = String::from("<rrd><version> 0003 </version>");
    let newest = gathered[0].steps.first().copied().unwrap_or_default();
    let _ = write!(text, "<step> 300 </step><lastupdate> {time} </lastupdate>");
    let heartbeat = 2 * design.step_s;
    for (direction, counter) in last.iter().enumerate() {
        let value = match counter {
            LastCounter::Counter(counter) => counter.to_string(),
            _ => "U".to_owned(),
        };
        let limit = design.limits[direction];
        let begun = newest[direction] * time.rem_euclid(300) as f64;
        let _ = write!(
            text,
            "<ds><name> ds{direction} </name><type> {} </type>\
             <minimal_heartbeat> {heartbeat} </minimal_heartbeat><min> 0 </min><max> {limit} </max>\
             <last_ds> {value} </last_ds><value> {begun:e} </value><unknown_sec> 0 </unknown_sec></ds>",
            design.kind.name()
        );
    }
    for (function, first) in [("AVERAGE", 0), ("MAX", 2)] {
        for ((step, _), gathered) in STEPS.iter().zip(gathered) {
            archive(&mut text, function, first, step / 300, gathered);
        }
    }
    text.push_str("</rrd>");
    text
}

fn archive(text: &mut String, function: &str, first: usize, steps: i64, gathered: &Gathered) {
    let begun = gathered.steps.first().copied().unwrap_or_default();
    let _ = write!(
        text,
        "<rra><cf> {function} </cf><pdp_per_row> {steps} </pdp_per_row>\
         <params><xff> 5.0e-01 </xff></params><cdp_prep>"
    );
    for direction in 0..2 {
        let value = format!("{:e}", begun[first + direction]);
        let _ = write!(
            text,
            "<ds><primary_value> 0.0 </primary_value><secondary_value> 0.0 </secondary_value>\
             <value> {value} </value><unknown_datapoints> 0 </unknown_datapoints></ds>"
        );
    }
    text.push_str("</cdp_prep><database>");
    for step in gathered.steps.iter().skip(1).rev() {
        let value = |rate: f64| match rate {
            0.0 => "NaN".to_owned(),
            rate => format!("{rate:e}"),
        };
        let (one, other) = (value(step[first]), value(step[first + 1]));
        let _ = write!(text, "<row><v> {one} </v><v> {other} </v></row>");
    }
    text.push_str("</database></rra>");
}
