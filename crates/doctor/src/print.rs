//! The doctor's findings as a table of 80 columns, and as JSON.

use std::io::{self, Write};

use sample::State;
use serde_json::{Value, json};

use super::calls::{COMMAND, CountingCost, SystemCalls};
use super::facts::{Capability, Fact};
use super::measure::{FileCost, Measured};
use super::model::{Model, REGRESSION};
use super::verdict::{self, Slow, Verdict};

/// Width of the human output, in columns.
const COLUMNS: usize = 80;

/// The doctor's findings.
#[derive(Debug)]
pub struct Findings {
    pub(crate) host: String,
    pub(crate) kernel: String,
    pub(crate) interval_ns: u64,
    pub(crate) measured: Measured,
    pub(crate) model: Option<Model>,
    /// `None` for the files of another machine.
    pub(crate) calls: Option<SystemCalls>,
    /// Empty for the files of another machine.
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) facts: Vec<Fact>,
    /// The verdict on all files together.
    pub verdict: Verdict,
    pub(crate) slow: Vec<Slow>,
}

impl Findings {
    /// Writes the table.  `colour` marks verdicts.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write_text(&self, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        human(self, colour, out)
    }

    /// The findings as one object.
    pub fn json(&self) -> Value {
        json(self)
    }
}

fn human(found: &Findings, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let seconds = interval_seconds(found);
    writeln!(
        out,
        "{} ({}), {} readings of each file, samples every {seconds} s\n",
        found.host, found.kernel, found.measured.reads
    )?;
    judgement(found, colour, out)?;
    writeln!(out)?;
    files(found, colour, out)?;
    unread(found, out)?;
    model(found, out)?;
    system_calls(found, out)?;
    capabilities(found, out)?;
    writeln!(out, "\nKernel")?;
    for Fact { name, value, note, good } in &found.facts {
        let mark = if *good { ' ' } else { '!' };
        let text = if note.is_empty() { value.clone() } else { format!("{value}; {note}") };
        wrapped(out, &format!("{mark} {:<20}", name.replace('_', " ")), &text)?;
    }
    Ok(())
}

/// What it all amounts to, which is read first: the verdict, then the files that are slow.
fn judgement(found: &Findings, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let total = found.measured.total_ns();
    let share = verdict::share(total, found.interval_ns) * 100.0;
    let sentence = match found.verdict {
        Verdict::Fine => "Fine: watching everything here",
        Verdict::Dear => "Dear: watching everything here",
        Verdict::TooSlow => "Too slow: watching everything here",
    };
    let sentence = format!(
        "{sentence} costs {} of reading a sample, {share:.3} % of one CPU.",
        duration(total)
    );
    wrapped(out, "", &paint(found.verdict, &sentence, colour))?;
    for slow in &found.slow {
        wrapped(out, "", &format!("{slow}."))?;
    }
    Ok(())
}

fn files(found: &Findings, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<28} {:<4} {:>7} {:>5} {:>7} {:>7} {:>6} verdict",
        "file", "-s", "bytes", "calls", "med us", "max us", "share"
    )?;
    for file in found.measured.files.iter().filter(|file| file.state == State::Ok) {
        let verdict = verdict::of_file(file, found.interval_ns);
        writeln!(
            out,
            "{:<28} {:<4} {:>7} {:>5} {:>7.1} {:>7.1} {:>5.3}% {}",
            shortened(&label(file), 28),
            shortened(&file.letters, 4),
            file.bytes,
            file.calls,
            file.median_ns as f64 / 1e3,
            file.worst_ns as f64 / 1e3,
            verdict::share(file.median_ns, found.interval_ns) * 100.0,
            paint(verdict, verdict.word(), colour)
        )?;
    }
    let all = &found.measured;
    let sum = |of: fn(&FileCost) -> u64| all.files.iter().map(of).sum::<u64>();
    writeln!(
        out,
        "{:<28} {:<4} {:>7} {:>5} {:>7.1} {:>7} {:>5.3}% {}",
        "all",
        "",
        sum(|file| file.bytes),
        sum(|file| file.calls),
        all.total_ns() as f64 / 1e3,
        "",
        verdict::share(all.total_ns(), found.interval_ns) * 100.0,
        paint(found.verdict, found.verdict.word(), colour)
    )
}

/// The path, with the number of files of a pattern.
fn label(file: &FileCost) -> String {
    match file.files {
        1 => file.path.clone(),
        many => format!("{many}x {}", file.path),
    }
}

fn unread(found: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for word in ["absent", "denied", "failed"] {
        let files = found.measured.files.iter().filter(|file| file.state.word() == word);
        let paths: Vec<&str> = files.map(|file| file.path.as_str()).collect();
        if !paths.is_empty() {
            wrapped(out, &format!("{word} "), &paths.join(" "))?;
        }
    }
    Ok(())
}

fn model(found: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let Some(model) = &found.model else { return Ok(()) };
    writeln!(out, "\nOn bigger machines (an estimate; 4 more interrupts for each CPU)")?;
    for row in &model.rows {
        let what = if row.estimated { "about " } else { "here  " };
        writeln!(
            out,
            "  {:<17} {:>4} CPUs {:>5} interrupts {:>9} bytes  {what}{:>9}",
            row.file,
            row.cpus,
            row.interrupts,
            row.bytes,
            duration(row.nanoseconds)
        )?;
    }
    let (cpus, time) = REGRESSION;
    writeln!(
        out,
        "  /proc/stat        {cpus:>4} CPUs under Linux 2.6.32, published     {:>15}",
        duration(time.as_nanos() as u64)
    )
}

fn system_calls(found: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let Some(SystemCalls { way, why, calls, price }) = &found.calls else { return Ok(()) };
    let how = if *way == "kernel" { "in the kernel" } else { "by ptrace" };
    writeln!(out, "\nSystem calls of `{COMMAND}`, counted {how}")?;
    if !why.is_empty() {
        let ptrace = "ptrace stops the process at each call, which takes most of the time shown";
        wrapped(out, "! ", &format!("{ptrace}; cannot count in the kernel: {why}"))?;
    }
    match calls {
        Ok(calls) => {
            writeln!(out, "  {:>9} {:>9} {:>6} {:>6} call", "us", "us/call", "calls", "errors")?;
            for one in calls {
                let (us, each) = (one.wall_ns as f64 / 1e3, one.calls.max(1) as f64);
                let (name, calls, errors) = (&one.name, one.calls, one.errors);
                let each_us = us / each;
                writeln!(out, "  {us:>9.1} {each_us:>9.2} {calls:>6} {errors:>6} {name}")?;
            }
        }
        Err(error) => wrapped(out, "! ", &format!("not counted: {error}"))?,
    }
    let Some(CountingCost { bare_ns, not_selected_ns, counted_ns, storage }) = price else {
        return Ok(());
    };
    let more = |ns: f64| (ns - bare_ns).max(0.0);
    let text = format!(
        "A system call takes {bare_ns:.0} ns here; {:.0} ns more while whit trace counts other \
         processes, {:.0} ns more while it counts this one.  BPF programs store calls in {}.",
        more(*not_selected_ns),
        more(*counted_ns),
        storage.name()
    );
    wrapped(out, "  ", &text)
}

fn capabilities(found: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if found.capabilities.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nCapabilities")?;
    for Capability { name, present, unlocks } in &found.capabilities {
        let (mark, word) = if *present { (' ', "present") } else { ('!', "missing") };
        wrapped(out, &format!("{mark} {name:<19} {word}  "), unlocks)?;
    }
    Ok(())
}

/// Writes text after a head, wrapped between words at the screen's edge.
fn wrapped(out: &mut dyn Write, head: &str, text: &str) -> io::Result<()> {
    let indent = head.chars().count();
    let mut column = indent;
    write!(out, "{head}")?;
    for (index, word) in text.split(' ').enumerate() {
        let length = visible_length(word);
        if index > 0 {
            if column + 1 + length > COLUMNS {
                write!(out, "\n{:indent$}", "")?;
                column = indent;
            } else {
                write!(out, " ")?;
                column += 1;
            }
        }
        write!(out, "{word}")?;
        column += length;
    }
    writeln!(out)
}

/// Characters of a word without escape sequences of colours.
fn visible_length(word: &str) -> usize {
    let mut length = 0;
    let mut escape = false;
    for c in word.chars() {
        match c {
            '\x1b' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            _ => length += 1,
        }
    }
    length
}

fn paint(verdict: Verdict, text: &str, colour: bool) -> String {
    let code = match verdict {
        Verdict::Fine => 32,
        Verdict::Dear => 33,
        Verdict::TooSlow => 31,
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// The end of a text that is too long, which is the significant part.
fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(length - width + 1).collect();
    format!("…{tail}")
}

fn duration(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000_000 => format!("{:.1} us", nanoseconds as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.2} s", nanoseconds as f64 / 1e9),
    }
}

fn interval_seconds(found: &Findings) -> f64 {
    found.interval_ns as f64 / 1e9
}

fn system_calls_json(found: &SystemCalls) -> Value {
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let call = |one: &super::calls::Calls| {
        json!({
            "call": one.name,
            "calls": one.calls,
            "errors": one.errors,
            "wall_us": us(one.wall_ns),
            "us_per_call": us(one.wall_ns) / one.calls.max(1) as f64,
        })
    };
    let price = |price: &CountingCost| {
        json!({
            "bare_ns": price.bare_ns,
            "not_selected_ns": price.not_selected_ns,
            "counted_ns": price.counted_ns,
            "storage": price.storage.name(),
        })
    };
    let calls = found.calls.as_ref().map(|calls| calls.iter().map(call).collect::<Vec<_>>());
    json!({
        "command": COMMAND,
        "way": found.way,
        "not_in_the_kernel": (!found.why.is_empty()).then_some(&found.why),
        "calls": calls.as_ref().ok(),
        "error": calls.as_ref().err(),
        "price": found.price.as_ref().map(price),
    })
}

/// The findings as a JSON object.
fn json(found: &Findings) -> Value {
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let file = |file: &FileCost| {
        json!({
            "path": file.path,
            "files": file.files,
            "state": file.state.word(),
            "bytes": file.bytes,
            "calls": file.calls,
            "median_us": us(file.median_ns),
            "worst_us": us(file.worst_ns),
            "share_percent": verdict::share(file.median_ns, found.interval_ns) * 100.0,
            "sources": file.sources,
            "letters": file.letters,
            "verdict": verdict::of_file(file, found.interval_ns).word(),
        })
    };
    let source = |source: &super::measure::SourceCost| {
        json!({
            "name": source.def.name,
            "letters": source.def.letters,
            "state": source.state.word(),
            "median_us": us(source.median_ns),
        })
    };
    let row = |row: &super::model::Row| {
        json!({
            "path": row.file,
            "cpus": row.cpus,
            "interrupts": row.interrupts,
            "bytes": row.bytes,
            "us": us(row.nanoseconds),
            "estimated": row.estimated,
        })
    };
    let slow = |slow: &Slow| {
        json!({
            "path": slow.path,
            "verdict": slow.verdict.word(),
            "median_us": us(slow.median_ns),
            "letters": slow.letters,
            "fine_interval_seconds": slow.fine_interval_seconds,
            "text": slow.to_string(),
        })
    };
    let capability =
        |c: &Capability| json!({ "name": c.name, "present": c.present, "unlocks": c.unlocks });
    let fact = |fact: &Fact| {
        let body = json!({ "value": fact.value, "good": fact.good, "note": fact.note });
        (fact.name.to_owned(), body)
    };
    let total = found.measured.total_ns();
    json!({
        "host": found.host,
        "kernel": found.kernel,
        "cpus": found.model.as_ref().map(|model| model.cpus),
        "interrupts": found.model.as_ref().map(|model| model.interrupts),
        "interval_seconds": interval_seconds(found),
        "reads": found.measured.reads,
        "verdict": found.verdict.word(),
        "total_us": us(total),
        "share_percent": verdict::share(total, found.interval_ns) * 100.0,
        "advice": found.slow.iter().map(slow).collect::<Vec<_>>(),
        "files": found.measured.files.iter().map(file).collect::<Vec<_>>(),
        "sources": found.measured.sources.iter().map(source).collect::<Vec<_>>(),
        "model": found.model.iter().flat_map(|model| &model.rows).map(row).collect::<Vec<_>>(),
        "system_calls": found.calls.as_ref().map(system_calls_json),
        "capabilities": found.capabilities.iter().map(capability).collect::<Vec<_>>(),
        "facts": Value::Object(found.facts.iter().map(fact).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_and_cut() {
        let mut out = Vec::new();
        wrapped(&mut out, "! name  ", &"word ".repeat(40)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("        word"));
        assert_eq!(shortened("/sys/devices/system/node", 9), "…tem/node");
        assert_eq!(visible_length("\x1b[31mslow\x1b[0m"), 4);
    }
}
