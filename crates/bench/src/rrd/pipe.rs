//! Commands to a program's standard input, and its answers.

use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};

use super::files::{self, Layout};
use crate::SearchPath;
use crate::contest::Measurement;
use crate::measure::run_talking;
use crate::process::dirtied_bytes;

/// When lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As fast as they are read.
    Ahead,
    /// A round after all answers of the round before.
    Rounds,
    /// Each after the answer of the one before.
    Answered,
}

/// Command lines.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    text: Vec<u8>,
    /// Where each round ends in the text, and how many lines it has.
    rounds: Vec<(usize, u64)>,
    pace: Pace,
}

impl Script {
    /// Lines to be written ahead.
    pub(crate) fn of(lines: impl Iterator<Item = String>) -> Self {
        let mut script = Script { text: Vec::new(), rounds: Vec::new(), pace: Pace::Ahead };
        let count = lines.map(|line| script.push(&line)).count();
        script.rounds.push((script.text.len(), count as u64));
        script
    }

    /// Updates of all files at each step.
    pub(crate) fn updates(layout: &Layout, files: u64, steps: Range<u64>, pace: Pace) -> Self {
        let mut script = Script { text: Vec::new(), rounds: Vec::new(), pace };
        for step in steps {
            (0..files).for_each(|file| script.push(&files::update_line(layout, file, step)));
            script.rounds.push((script.text.len(), files));
        }
        script
    }

    /// The lines of the script, written ahead.
    pub(crate) fn ahead(&self) -> Self {
        Script { pace: Pace::Ahead, ..self.clone() }
    }

    fn push(&mut self, line: &str) {
        self.text.extend_from_slice(line.as_bytes());
        self.text.push(b'\n');
    }

    fn lines(&self) -> u64 {
        self.rounds.iter().map(|(_, lines)| lines).sum()
    }
}

/// What is done before each round.
pub(crate) type Before<'a> = &'a dyn Fn() -> io::Result<()>;

/// Writes a script to a program and reads all answers, each of which must be `OK`; returns the cost,
/// with the pages that it made dirty if the kernel says so.
pub(crate) fn run(
    command: &mut Command,
    script: &Script,
    before: Option<Before<'_>>,
) -> io::Result<Measurement> {
    command.stderr(Stdio::null());
    let (dirtied_bytes, measurement) = run_talking(command, |pid, input, output| {
        let who = pid.to_string();
        match script.pace {
            Pace::Answered => answered(script, input, output, &who),
            _ => in_rounds(script, input, output, &who, before),
        }
    })?;
    Ok(Measurement { dirtied_bytes, ..measurement })
}

fn answered(
    script: &Script,
    mut input: ChildStdin,
    output: ChildStdout,
    who: &str,
) -> io::Result<Option<u64>> {
    let mut answers = Answers::new(output);
    for line in script.text.split_inclusive(|byte| *byte == b'\n') {
        input.write_all(line)?;
        answers.read(1)?;
    }
    Ok(dirtied_bytes(who))
}

fn in_rounds(
    script: &Script,
    mut input: ChildStdin,
    output: ChildStdout,
    who: &str,
    before: Option<Before<'_>>,
) -> io::Result<Option<u64>> {
    let counts: Vec<u64> = match script.pace {
        Pace::Rounds => script.rounds.iter().map(|(_, lines)| *lines).collect(),
        _ => vec![script.lines()],
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read_rounds(&counts, output, &sender));
        let wait = |receiver: &Receiver<()>| receiver.recv().is_ok();
        let mut start = 0;
        for (end, _) in &script.rounds {
            if let Some(before) = before {
                before()?;
            }
            let written = input.write_all(&script.text[start..*end]);
            start = *end;
            if written.is_err() || (script.pace == Pace::Rounds && !wait(&receiver)) {
                break;
            }
        }
        // A program that keeps its answers until its input ends has ended when they are there.
        let dirtied = (script.pace == Pace::Rounds).then(|| dirtied_bytes(who)).flatten();
        drop(input);
        let read = reader.join().map_err(|_| io::Error::other("the reader of answers failed"))?;
        read.map(|()| dirtied)
    })
}

/// Reads the answers of each round and says so.
fn read_rounds(counts: &[u64], output: ChildStdout, sender: &Sender<()>) -> io::Result<()> {
    let mut answers = Answers::new(output);
    for count in counts {
        answers.read(*count)?;
        let _ = sender.send(());
    }
    Ok(())
}

/// The answers of a program: a line `OK …` after what each command says.
struct Answers {
    output: ChildStdout,
    buffer: Vec<u8>,
    /// The part of `buffer` that was not looked at.
    rest: Range<usize>,
    /// The first bytes of a line that is not complete.
    begun: Vec<u8>,
}

impl Answers {
    fn new(output: ChildStdout) -> Self {
        Answers { output, buffer: vec![0; 1 << 16], rest: 0..0, begun: Vec::new() }
    }

    /// Reads until so many commands are answered.
    fn read(&mut self, count: u64) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            if self.rest.is_empty() {
                let bytes = self.output.read(&mut self.buffer)?;
                if bytes == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.rest = 0..bytes;
            }
            let bytes = &self.buffer[self.rest.clone()];
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.begun.extend_from_slice(bytes);
                self.rest = 0..0;
                continue;
            };
            let line = if self.begun.is_empty() {
                &bytes[..end]
            } else {
                self.begun.extend_from_slice(&bytes[..end]);
                &self.begun
            };
            if line.starts_with(b"OK u:") {
                left -= 1;
            } else if line.starts_with(b"ERROR") {
                return Err(io::Error::other(String::from_utf8_lossy(line).into_owned()));
            }
            self.begun.clear();
            self.rest.start += end + 1;
        }
        Ok(())
    }
}

/// A Python that has RRDtool's binding.
pub(crate) fn python(path: &SearchPath) -> Option<PathBuf> {
    let has_it = |python: &PathBuf| {
        let mut command = Command::new(python);
        command.args(["-c", "import rrdtool"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    path.find_all("python3").find(has_it)
}

/// The loop of a Python program that updates.
pub(crate) const PYTHON: &str = "\
import sys, rrdtool
update, write = rrdtool.update, sys.stdout.write
for line in sys.stdin:
    update(*line.split()[1:])
    write('OK u:0.00 s:0.00 r:0.00\\n')
";
