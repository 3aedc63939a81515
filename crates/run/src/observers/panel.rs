//! `--watch`: once a second on standard error, the state of the jobs and of the machine.
//!
//! On a terminal it is a panel of a few lines at the bottom.  The rest of the screen becomes a
//! scrolling region (DECSTBM), so that the jobs' output scrolls above the panel; a line is written
//! again only when it has changed.  At the end the panel is removed and the whole screen scrolls
//! again. Without a terminal it is a plain line each second.
//!
//! Costs four small kernel files and a `getrusage` a second, some 0.1 ms.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use procfs::usage::{Whose, usage};

use super::machine::{MachineFiles, MachineReading, PRESSURES};
use super::{Clock, TerminalSize};
use crate::engine::{Observer, RunStatus};
use crate::units::short_duration;

/// Time between two updates.
const PERIOD: Duration = Duration::from_secs(1);

/// Lines of the panel.
const LINES: u16 = 5;

/// A terminal with fewer rows gets plain lines.
const ROWS_MIN: u16 = 2 * LINES;

/// The panel or the lines.
pub struct Panel {
    out: Box<dyn Write>,
    clock: Clock,
    machine: MachineFiles,
    /// The reading from which the latest lines were made.
    seen: MachineReading,
    status: RunStatus,
    own_us: u64,
    begin: Instant,
    next: Instant,
    screen: Option<BottomLines>,
}

impl Panel {
    /// Begins to show the state, on a terminal of this size or in plain lines.
    pub fn begin(out: Box<dyn Write>, size: TerminalSize, clock: Clock) -> Self {
        let mut machine = MachineFiles::new();
        let seen = machine.read_all(clock());
        let own = usage(Whose::Own);
        Panel {
            out,
            clock,
            machine,
            seen,
            status: RunStatus::default(),
            own_us: own.user_us + own.system_us,
            begin: seen.at,
            next: seen.at + PERIOD,
            screen: BottomLines::on(size),
        }
    }

    fn write(&mut self, text: &str) {
        // An error of standard error can be reported nowhere.
        let _ = self.out.write_all(text.as_bytes());
    }

    /// Reads the machine; returns the interval since the latest lines.
    fn interval(&mut self, status: &RunStatus) -> Interval {
        let seen = self.machine.read_all((self.clock)());
        let own = usage(Whose::Own);
        let own_us = own.user_us + own.system_us;
        let interval = Interval {
            seconds: (seen.at - self.seen.at).as_secs_f64(),
            passed: seen.at - self.begin,
            before: self.seen,
            ended: status.ended - self.status.ended,
            own_us: own_us - self.own_us,
            own_kib: own.resident_kib_max,
            seen,
            status: *status,
        };
        (self.seen, self.status, self.own_us) = (seen, *status, own_us);
        interval
    }
}

impl Observer for Panel {
    fn next_tick(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn tick(&mut self, status: &RunStatus, now: Instant) {
        // Ticks that were missed are skipped.
        self.next = (self.next + PERIOD).max(now);
        let interval = self.interval(status);
        let text = match &mut self.screen {
            Some(screen) => screen.draw(&interval.lines()),
            None => interval.plain(),
        };
        self.write(&text);
    }

    fn before_stop(&mut self) {
        // The next tick sets the panel up again, for the terminal's size then.
        if let Some(screen) = &mut self.screen {
            let text = screen.leave();
            self.write(&text);
        }
    }

    fn all_ended(&mut self, status: &RunStatus) {
        let text = match &mut self.screen {
            Some(screen) => screen.leave(),
            None => self.interval(status).plain(),
        };
        self.write(&text);
    }
}

impl Drop for Panel {
    /// Restores the terminal in every case.
    fn drop(&mut self) {
        if let Some(screen) = &mut self.screen {
            let text = screen.leave();
            self.write(&text);
        }
    }
}

/// Two readings and what happened between them.
struct Interval {
    seconds: f64,
    /// Since the run began.
    passed: Duration,
    before: MachineReading,
    seen: MachineReading,
    status: RunStatus,
    /// Jobs that ended.
    ended: u64,
    /// CPU time of this process.
    own_us: u64,
    own_kib: u64,
}

/// Shown for unknown values.
const MISSING: &str = "-";

impl Interval {
    fn rate(&self, count: u64) -> String {
        let rate = count as f64 / self.seconds.max(1e-3);
        if rate < 10.0 { format!("{rate:.1}/s") } else { format!("{rate:.0}/s") }
    }

    fn rate_of(&self, count: Option<u64>) -> String {
        count.map_or_else(|| MISSING.to_owned(), |count| self.rate(count))
    }

    /// Jobs that have ended, and their total if it is known.
    fn done(&self) -> String {
        match self.status.total {
            Some(total) => format!("{} of {total}", self.status.ended),
            None => self.status.ended.to_string(),
        }
    }

    fn load(&self) -> [String; 2] {
        match self.seen.load {
            Some(load) => [load.running, load.tasks].map(|count| count.to_string()),
            None => [MISSING; 2].map(str::to_owned),
        }
    }

    fn cpu(&self) -> String {
        let Some(shares) = self.seen.shares_since(&self.before) else { return MISSING.to_owned() };
        let shown = [
            ("user", shares.user),
            ("system", shares.system),
            ("waiting", shares.wait),
            ("stolen", shares.stolen),
            ("idle", shares.idle),
        ];
        let mut text = String::new();
        for (name, share) in shown {
            // Most machines have no stolen time.
            if name == "stolen" && share < 0.005 {
                continue;
            }
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{:.0}% {name}", share * 100.0);
        }
        text
    }

    fn memory(&self) -> String {
        let gib = |kib: u64| kib as f64 / (1024.0 * 1024.0);
        match (self.seen.memory_kib, self.seen.available_kib) {
            (Some(all), Some(available)) => {
                let used = all.saturating_sub(available);
                format!("{:.1} of {:.1} GiB used", gib(used), gib(all))
            }
            _ => MISSING.to_owned(),
        }
    }

    /// Empty on a kernel without pressure stall information.
    fn pressure(&self) -> String {
        let mut text = String::new();
        let shares = self.seen.pressure_since(&self.before);
        for (name, share) in PRESSURES.iter().zip(shares) {
            if let Some(share) = share {
                let comma = if text.is_empty() { "" } else { ", " };
                let _ = write!(text, "{comma}{name} {:.0}%", (share * 100.0).min(100.0));
            }
        }
        text
    }

    fn own(&self) -> String {
        let a_job = match self.own_us.checked_mul(1000).and_then(|ns| ns.checked_div(self.ended)) {
            Some(ns) => format!("{} a job", short_duration(ns)),
            None => format!("{MISSING} a job"),
        };
        let share = self.own_us as f64 / (self.seconds.max(1e-3) * 1e4);
        format!("{share:.1}% of a CPU, {a_job}")
    }

    /// The lines of the panel.
    fn lines(&self) -> [String; LINES as usize] {
        let RunStatus { running, failed, .. } = self.status;
        let [queue, tasks] = self.load();
        let born = self.rate_of(self.seen.born_since(&self.before));
        let died = self.rate_of(self.seen.died_since(&self.before));
        let seconds = self.passed.as_secs();
        let pressure = self.pressure();
        let pressure =
            if pressure.is_empty() { String::new() } else { format!("   pressure {pressure}") };
        [
            format!(
                "jobs      {:>8}   {running} running, {} done, {failed} failed   {}:{:02}",
                self.rate(self.ended),
                self.done(),
                seconds / 60,
                seconds % 60,
            ),
            format!("processes {born:>8} born, {died} ended; {tasks} there, {queue} runnable"),
            format!("CPU       {}{pressure}", self.cpu()),
            format!("memory    {}", self.memory()),
            format!("whit run  {}, {:.1} MiB", self.own(), self.own_kib as f64 / 1024.0),
        ]
    }

    /// One plain line.
    fn plain(&self) -> String {
        let RunStatus { running, failed, .. } = self.status;
        let [queue, tasks] = self.load();
        let pressure = self.pressure();
        let pressure =
            if pressure.is_empty() { String::new() } else { format!("; pressure {pressure}") };
        format!(
            "{:.0}s: jobs {}, {running} running, {} done, {failed} failed; processes {} born, {} \
             ended, {tasks} there, {queue} runnable; CPU {}{pressure}; memory {}; whit run {}\n",
            self.passed.as_secs_f64(),
            self.rate(self.ended),
            self.done(),
            self.rate_of(self.seen.born_since(&self.before)),
            self.rate_of(self.seen.died_since(&self.before)),
            self.cpu(),
            self.memory(),
            self.own(),
        )
    }
}

/// The bottom of a terminal.
struct BottomLines {
    terminal: TerminalSize,
    /// Columns and rows for which the panel was set up; 0 rows: it is not set up.
    size: (u16, u16),
    /// The text of each line.
    shown: [String; LINES as usize],
}

impl BottomLines {
    /// The panel of a terminal, if there is one with enough rows.
    fn on(terminal: TerminalSize) -> Option<Self> {
        let (_, rows) = terminal()?;
        let size = (0, 0);
        (rows >= ROWS_MIN).then(|| BottomLines { terminal, size, shown: Default::default() })
    }

    /// The escape sequences and text that show these lines.
    fn draw(&mut self, lines: &[String; LINES as usize]) -> String {
        let Some(size) = (self.terminal)() else { return String::new() };
        self.draw_at(size, lines)
    }

    fn draw_at(&mut self, size: (u16, u16), lines: &[String; LINES as usize]) -> String {
        let mut text = String::new();
        if size != self.size {
            text.push_str(&self.leave());
            if size.1 < ROWS_MIN {
                return text;
            }
            // Makes room below the cursor; setting the region moves the cursor, so its position is
            // saved.
            let above = size.1 - LINES;
            let room = "\n".repeat(LINES.into());
            let _ = write!(text, "{room}\x1b[{LINES}A\x1b7\x1b[1;{above}r\x1b8");
            self.size = size;
        }
        let (columns, rows) = self.size;
        let first = rows - LINES + 1;
        let mut changed = String::new();
        for ((line, shown), row) in lines.iter().zip(&mut self.shown).zip(first..) {
            let line: String = line.chars().take(columns.into()).collect();
            if line != *shown {
                let _ = write!(changed, "\x1b[{row};1H{line}\x1b[K");
                *shown = line;
            }
        }
        if !changed.is_empty() {
            let _ = write!(text, "\x1b7{changed}\x1b8");
        }
        text
    }

    /// The escape sequences that remove the panel and restore scrolling.
    fn leave(&mut self) -> String {
        let (_, rows) = std::mem::take(&mut self.size);
        self.shown = Default::default();
        if rows == 0 {
            return String::new();
        }
        format!("\x1b7\x1b[r\x1b[{};1H\x1b[J\x1b8", rows - LINES + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: &str) -> [String; LINES as usize] {
        [first, "b", "c", "d", "e"].map(str::to_owned)
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let size = (0, 0);
        let mut screen = BottomLines { terminal: || None, size, shown: Default::default() };
        let text = screen.draw_at((80, 24), &lines("a"));
        assert!(text.starts_with("\n\n\n\n\n\x1b[5A\x1b7\x1b[1;19r\x1b8"), "{text:?}");
        assert!(text.contains("\x1b[20;1Ha\x1b[K") && text.contains("\x1b[24;1He\x1b[K"));
        assert_eq!(screen.draw_at((80, 24), &lines("a")), "");
        assert_eq!(screen.draw_at((80, 24), &lines("x")), "\x1b7\x1b[20;1Hx\x1b[K\x1b8");
        // A terminal that became smaller is set up again, one that is too small is left alone.
        assert!(screen.draw_at((3, 20), &lines("abcdef")).contains("\x1b[16;1Habc\x1b[K"));
        assert_eq!(screen.draw_at((80, 9), &lines("y")), "\x1b7\x1b[r\x1b[16;1H\x1b[J\x1b8");
        assert_eq!(screen.leave(), "");
    }
}
