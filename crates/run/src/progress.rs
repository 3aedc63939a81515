//! The lines of `--progress`, `--eta` and `--bar`.
//!
//! Their form is GNU parallel's, for the programs and people that know it: each line begins with a
//! carriage return and overwrites the last one; the bar has lines of `#` and a percentage that
//! zenity(1) reads, and shows its text in reverse video up to the percentage.  The estimate is our
//! own: the time since the first start divided by the completed jobs, for each job that is left;
//! parallel counts whole seconds from the end of the first job.
//!
//! Nothing is written here: the lines are appended to a buffer.

use std::time::Duration;

/// One computer that jobs run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computer {
    /// The name that is shown: `local`, or the login.
    pub name: Vec<u8>,
    /// CPU threads.
    pub threads: u32,
    /// Most jobs at the same time.
    pub slots: u32,
    /// Jobs running now.
    pub running: u64,
    /// Jobs completed.
    pub completed: u64,
}

/// The progress of all jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgressState<'a> {
    /// The computers.
    pub computers: &'a [Computer],
    /// All jobs, if known (`--eta`, `--bar`, `--total-jobs`, or the input has ended).
    pub total: Option<u64>,
    /// Time since the first job was started.
    pub elapsed: Duration,
    /// The arguments of the job that was started last, for the bar.
    pub argument: &'a [u8],
    /// Columns of the terminal.
    pub columns: u16,
}

impl ProgressState<'_> {
    fn completed(&self) -> u64 {
        self.computers.iter().map(|computer| computer.completed).sum()
    }

    fn started(&self) -> u64 {
        self.completed() + self.computers.iter().map(|computer| computer.running).sum::<u64>()
    }

    /// The total; as long as it is unknown, the jobs started.
    fn total(&self) -> u64 {
        self.total.unwrap_or_default().max(self.started())
    }

    /// Seconds for a job, with parallelism; 0 before the first is completed.
    fn seconds_each(&self, completed: u64) -> f64 {
        if completed == 0 { 0.0 } else { self.elapsed.as_secs_f64() / completed as f64 }
    }

    fn seconds_left(&self) -> u64 {
        let completed = self.completed();
        ((self.total() - completed) as f64 * self.seconds_each(completed)) as u64
    }
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `--progress`.
    Progress,
    /// `--eta`.
    Eta,
    /// `--bar`, which wins over the others.
    Bar,
}

/// Columns of a terminal whose size is unknown.
const COLUMNS_DEFAULT: u16 = 80;

/// Writes the lines.
#[derive(Debug)]
pub struct ProgressText {
    style: Style,
    /// Columns of the last line.
    last_columns: usize,
}

impl ProgressText {
    /// Lines of this style.
    pub fn new(style: Style) -> Self {
        ProgressText { style, last_columns: 0 }
    }

    /// The text before the first line.
    pub fn header(&self, computers: &[Computer], out: &mut Vec<u8>) {
        if self.style == Style::Bar {
            return;
        }
        out.extend_from_slice(b"\nComputers / CPU cores / Max jobs to run\n");
        for (number, computer) in (1..).zip(computers) {
            out.extend_from_slice(format!("{number}:").as_bytes());
            out.extend_from_slice(&computer.name);
            out.extend_from_slice(
                format!(" / {} / {}\n", computer.threads, computer.slots).as_bytes(),
            );
        }
        out.extend_from_slice(
            b"\nComputer:jobs running/jobs completed/%of started jobs/Average seconds to complete\n",
        );
    }

    /// The next line.
    pub fn line(&mut self, state: &ProgressState<'_>, out: &mut Vec<u8>) {
        out.push(b'\r');
        let columns = match state.columns {
            0 => usize::from(COLUMNS_DEFAULT),
            columns => usize::from(columns),
        };
        if self.style == Style::Bar {
            push_bar(state, columns, out);
            return;
        }
        let mut line = Vec::new();
        if self.style == Style::Eta {
            let completed = state.completed();
            let left = state.total() - completed;
            let each = state.seconds_each(completed);
            let seconds = state.seconds_left();
            line.extend_from_slice(
                format!("ETA: {seconds}s Left: {left} AVG: {each:.2}s  ").as_bytes(),
            );
        }
        push_computers(state, columns.saturating_sub(line.len()), &mut line);
        let length = String::from_utf8_lossy(&line).chars().count();
        out.extend_from_slice(&line);
        // Blanks overwrite the rest of a longer line.
        out.resize(out.len() + self.last_columns.saturating_sub(length), b' ');
        self.last_columns = length;
    }

    /// The end of the last line.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        self.last_columns = 0;
        out.push(b'\n');
    }
}

/// The state of each computer, with as many details as fit the line.
fn push_computers(state: &ProgressState<'_>, columns: usize, out: &mut Vec<u8>) {
    let started = state.started().max(1);
    let mut line = Vec::new();
    for details in (0..=2).rev() {
        line.clear();
        for computer in state.computers {
            if !line.is_empty() {
                line.push(b' ');
            }
            line.extend_from_slice(&computer.name);
            let Computer { running, completed, .. } = *computer;
            line.extend_from_slice(format!(":{running}/{completed}").as_bytes());
            if details >= 1 {
                let percent = (running + completed) * 100 / started;
                line.extend_from_slice(format!("/{percent}%").as_bytes());
            }
            if details >= 2 {
                let each = state.seconds_each(completed);
                line.extend_from_slice(format!("/{each:.1}s ").as_bytes());
            }
        }
        if line.len() <= columns {
            break;
        }
    }
    out.extend_from_slice(&line);
}

fn push_bar(state: &ProgressState<'_>, columns: usize, out: &mut Vec<u8>) {
    let (completed, total) = (state.completed(), state.total());
    let left = total - completed;
    let percent = if total == 0 { 0.0 } else { completed as f64 * 100.0 / total as f64 };
    let seconds = state.seconds_left();
    // A control character in an argument must not control the terminal.
    let argument: String = String::from_utf8_lossy(state.argument)
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(columns)
        .collect();
    let fit =
        |text: String| -> String { format!("{text:<columns$}").chars().take(columns).collect() };
    let zenity = fit(format!("#   {seconds} sec {argument}"));
    let text = fit(format!("{}% {completed}:{left}={seconds}s {argument}", percent as u64));
    let done = (columns as f64 * percent / 100.0) as usize;
    let split = text.char_indices().nth(done).map_or(text.len(), |(at, _)| at);
    let (done, rest) = text.split_at(split);
    let percent = significant(percent);
    out.extend_from_slice(
        format!("\r{zenity}\r{percent}\r\u{1b}[7m{done}\u{1b}[0m{rest}\u{1b}[0m").as_bytes(),
    );
}

/// A percentage with fifteen significant digits and no zeros at its end, as `%.15g` of printf(3)
/// writes it above 0.0001.
fn significant(percent: f64) -> String {
    let whole_digits = if percent < 1.0 {
        // Leading zeros after the decimal point do not count.
        if percent > 0.0 { percent.log10().floor() as i32 + 1 } else { 1 }
    } else {
        (percent as u64).to_string().len() as i32
    };
    let decimals = usize::try_from(15 - whole_digits).unwrap_or(0);
    let text = format!("{percent:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(running: u64, completed: u64) -> Vec<Computer> {
        vec![Computer { name: b"local".to_vec(), threads: 2, slots: 2, running, completed }]
    }

    fn line(progress: &mut ProgressText, state: &ProgressState<'_>) -> String {
        let mut out = Vec::new();
        progress.line(state, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_header_names_the_computers() {
        let mut computers = local(0, 0);
        computers.push(Computer {
            name: b"lo".to_vec(),
            threads: 1,
            slots: 3,
            ..computers[0].clone()
        });
        let mut out = Vec::new();
        ProgressText::new(Style::Progress).header(&computers, &mut out);
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "\nComputers / CPU cores / Max jobs to run\n1:local / 2 / 2\n2:lo / 1 / 3\n\n\
             Computer:jobs running/jobs completed/%of started jobs/Average seconds to complete\n"
        );
    }

    #[test]
    fn progress_and_estimate_as_others_print_them() {
        let computers = local(2, 0);
        let state =
            ProgressState { computers: &computers, columns: 80, ..ProgressState::default() };
        let mut progress = ProgressText::new(Style::Progress);
        assert_eq!(line(&mut progress, &state), "\rlocal:2/0/100%/0.0s ");
        let computers = local(2, 3);
        let elapsed = Duration::from_millis(1000);
        let state = ProgressState { computers: &computers, elapsed, ..state };
        assert_eq!(line(&mut progress, &state), "\rlocal:2/3/100%/0.3s ");
        let mut progress = ProgressText::new(Style::Eta);
        let state =
            ProgressState { total: Some(28), elapsed: Duration::from_millis(1500), ..state };
        assert_eq!(
            line(&mut progress, &state),
            "\rETA: 12s Left: 25 AVG: 0.50s  local:2/3/100%/0.5s "
        );
        // A shorter line blots out the longer one.
        let computers = local(0, 28);
        let state = ProgressState { computers: &computers, ..state };
        let text = "\rETA: 0s Left: 0 AVG: 0.05s  local:0/28/100%/0.1s ";
        assert_eq!(line(&mut progress, &state), format!("{text} "));
    }

    #[test]
    fn several_computers_share_the_line() {
        let mut computers = local(1, 0);
        computers.push(Computer { name: b"lo".to_vec(), running: 0, ..computers[0].clone() });
        let state =
            ProgressState { computers: &computers, columns: 80, ..ProgressState::default() };
        let mut progress = ProgressText::new(Style::Progress);
        assert_eq!(line(&mut progress, &state), "\rlocal:1/0/100%/0.0s  lo:0/0/0%/0.0s ");
        let state = ProgressState { columns: 30, ..state };
        let mut progress = ProgressText::new(Style::Progress);
        assert_eq!(line(&mut progress, &state), "\rlocal:1/0/100% lo:0/0/0%");
    }

    /// Lines that the program that had them first wrote to a terminal of 40 and 61 columns.
    #[test]
    fn the_bar_moves_behind_its_text() {
        let mut progress = ProgressText::new(Style::Bar);
        let computers = local(1, 2);
        let argument = "loooooooooong arg ééé and more text to be cut off here".as_bytes();
        let state = ProgressState {
            computers: &computers,
            total: Some(5),
            elapsed: Duration::from_millis(200),
            argument: b"tab",
            columns: 40,
        };
        assert_eq!(
            line(&mut progress, &state),
            "\r\r#   0 sec tab                           \r40\r\u{1b}[7m40% 2:3=0s tab  \u{1b}[0m\
                                     \u{20}                       \u{1b}[0m"
        );
        let computers = local(1, 0);
        let state = ProgressState { computers: &computers, argument, ..state };
        assert_eq!(
            line(&mut progress, &state),
            "\r\r#   0 sec loooooooooong arg ééé and more\r0\r\u{1b}[7m\u{1b}[0m\
             0% 0:5=0s loooooooooong arg ééé and more\u{1b}[0m"
        );
        let computers = local(2, 2);
        let state = ProgressState {
            computers: &computers,
            total: Some(30),
            argument: b"arg4",
            columns: 61,
            ..state
        };
        let state = ProgressState { elapsed: Duration::from_secs(1), ..state };
        let blanks = " ".repeat(45);
        assert_eq!(
            line(&mut progress, &state),
            format!(
                "\r\r#   14 sec arg4 {blanks}\r6.66666666666667\r\u{1b}[7m6% 2\u{1b}[0m\
                 :28=14s arg4{blanks}\u{1b}[0m"
            )
        );
        // Nothing of an argument reaches the terminal but letters.
        let state = ProgressState { argument: b"\x1b[2J\n\xff", ..state };
        assert!(line(&mut progress, &state).contains("14 sec  [2J \u{fffd} "));
    }

    #[test]
    fn nothing_to_do_is_no_error() {
        let state = ProgressState::default();
        assert!(line(&mut ProgressText::new(Style::Bar), &state).starts_with("\r\r#   0 sec  "));
        assert_eq!(
            line(&mut ProgressText::new(Style::Eta), &state),
            "\rETA: 0s Left: 0 AVG: 0.00s  "
        );
    }

    #[test]
    fn percentages_have_fifteen_digits() {
        for (percent, text) in [
            (0.0, "0"),
            (100.0, "100"),
            (10.0, "10"),
            (100.0 / 30.0, "3.33333333333333"),
            (100.0 / 300.0, "0.333333333333333"),
            (100.0 / 3000.0, "0.0333333333333333"),
            (200.0 / 3.0, "66.6666666666667"),
            (12.5, "12.5"),
        ] {
            assert_eq!(significant(percent), text);
        }
    }
}
