//! How many values go into a job: `-N`, `-n`, `-L`, `-X`, `-m`, `--xargs`, `-s`.

use template::quote::Shell;
use template::{CommandLength, Context, Packing, Record, RenderError, Template, Values};

use crate::engine::job_source::Fits;
use crate::input::{self, Input, Packer};
use crate::settings::PackingSettings;
use spawn::{ARGUMENT_BYTES_MAX, Room};

mod remote;

pub use remote::RemoteLength;

/// The most records of a job, if an option says so.
fn records_max(packing: &PackingSettings) -> Option<u64> {
    let PackingSettings { replace_args, args, lines, max_lines, .. } = *packing;
    replace_args.or(args).or(max_lines.map(|lines| lines.max(1))).or(lines)
}

/// How records are packed into a command line.
///
/// As in GNU parallel: `-X` and `-N` repeat words, whatever other options there are, even for one
/// record of several values; so does `-L`, but not with `-m` and `--xargs`.
pub fn of_template(packing: &PackingSettings) -> Packing {
    let PackingSettings { replace_args, lines, context_replace, multiple, xargs, .. } = *packing;
    let joins = multiple || xargs;
    match records_max(packing) {
        _ if context_replace || replace_args.is_some() => Packing::Repeat,
        _ if lines.is_some() && !joins => Packing::Repeat,
        None | Some(1) if !joins => Packing::One,
        _ => Packing::Join,
    }
}

/// The packer that gives each job its records.
pub fn packer(input: Input, packing: &PackingSettings, slots: u32) -> Packer {
    let fill = packing.context_replace || packing.multiple || packing.xargs;
    let spreads = (packing.context_replace || packing.multiple) && slots > 1;
    Packer::new(
        input,
        input::RecordPacking {
            records_max: records_max(packing).unwrap_or(if fill { u64::MAX } else { 1 }),
            spread: spreads.then_some(slots),
            exact: packing.exact,
        },
    )
}

/// A total with as many digits as there may be, to measure command lines.
const TOTAL_MAX: u64 = 999_999_999;

/// How many jobs parallel expects from this many records before it packs them; without a number as
/// many.
pub fn jobs_of(records: u64, packing: &PackingSettings) -> u64 {
    records.div_ceil(records_max(packing).unwrap_or(1).max(1))
}

/// The longest command line that `-s` allows, and how its length is counted.
pub struct LengthLimit {
    /// The limit in bytes.
    pub bytes: usize,
    /// How the length is counted.
    pub measure: CommandLength,
    /// The number of jobs to count with, if it is known.
    pub total: Option<u64>,
}

/// What limits a command line.
pub struct CommandLimits {
    /// `-s`.
    pub chars: Option<LengthLimit>,
    /// How many jobs run at once: the highest number of a slot.
    pub slots: u32,
    /// What the environment leaves for arguments.
    pub room: Room,
    /// Bytes of the text before each command line.
    pub prologue: usize,
    /// What is added for other hosts, if some jobs run there.
    pub remote: Option<RemoteLength>,
}

impl CommandLimits {
    /// Whether the kernel takes this command line.
    fn hold(&self, line: &[u8], context: &Context<'_>) -> bool {
        let bytes = match &self.remote {
            Some(remote) => remote.length(line, context).unwrap_or(usize::MAX),
            None => self.prologue.saturating_add(line.len()),
        };
        // A shell passes the words on to the program, and without a shell we do.
        let words = || OWN_WORDS + memchr::memchr2_iter(b' ', b'\t', line).count();
        bytes <= ARGUMENT_BYTES_MAX
            && (self.room.holds(OWN_WORDS + bytes, bytes) || self.room.holds(words(), bytes))
    }
}

/// The words around a command line: the shell, `-c`, and those that log in to a host.
const OWN_WORDS: usize = 16;

/// A function that decides whether a command line with these records can be run.
///
/// It counts with the job's own number and the highest one of a slot, so that what fits here is
/// never too long when it is started.
pub fn fits(template: Template, packing: Packing, shell: Shell, limits: CommandLimits) -> Fits {
    let shell = if limits.remote.is_some() { Shell::Bourne } else { shell };
    let values = Values::Quoted(shell);
    Box::new(move |seq, records: &[Record]| {
        let context = Context {
            seq,
            slot: limits.slots,
            slots: limits.slots,
            total: Some(TOTAL_MAX),
            records,
            packing,
            local_time_s: 0,
        };
        let is_short = limits.chars.as_ref().is_none_or(|limit| {
            let total = limit.total.or(context.total);
            let context = Context { slot: 1, slots: 1, total, ..context };
            limit.measure.length(&context, records).is_ok_and(|bytes| bytes < limit.bytes)
        });
        let holds = |line: &[u8]| limits.hold(line, &context);
        is_short
            && match template.with_rendered(&context, values, holds) {
                Ok(holds) => holds,
                // The job tells why when it is rendered.
                Err(error) => matches!(error, RenderError::Expression(_)),
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> PackingSettings {
        let mut options = PackingSettings::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|word| word.parse().ok());
            match word {
                "-N" => options.replace_args = number(),
                "-n" => options.args = number(),
                "-L" => options.lines = number(),
                "-l" => options.max_lines = number(),
                "-X" => options.context_replace = true,
                "-m" => options.multiple = true,
                "--xargs" => options.xargs = true,
                other => panic!("{other}"),
            }
        }
        options
    }

    #[test]
    fn words_are_repeated_where_the_incumbent_repeats_them() {
        for (text, expected) in [
            ("", Packing::One),
            ("-n 1", Packing::One),
            ("-l 1", Packing::One),
            ("-n 2", Packing::Join),
            ("-l 2", Packing::Join),
            ("-m", Packing::Join),
            ("--xargs -n 2", Packing::Join),
            ("-m -L 2", Packing::Join),
            ("-L 2 --xargs", Packing::Join),
            ("-N 1", Packing::Repeat),
            ("-L 1", Packing::Repeat),
            ("-L 2 -n 3", Packing::Repeat),
            ("-N 2 -m", Packing::Repeat),
            ("-X -n 2", Packing::Repeat),
            ("-X --xargs", Packing::Repeat),
            ("-l 2 -X", Packing::Repeat),
        ] {
            assert_eq!(of_template(&options(text)), expected, "{text}");
        }
    }

    #[test]
    fn of_several_numbers_one_counts() {
        for (text, expected) in [
            ("-N 3 -n 2 -L 1", Some(3)),
            ("-n 2 -L 3", Some(2)),
            ("-L 2 -l 3", Some(3)),
            ("-l 0", Some(1)),
            ("-X", None),
        ] {
            assert_eq!(records_max(&options(text)), expected, "{text}");
        }
    }

    #[test]
    fn jobs_are_counted_before_they_are_packed() {
        assert_eq!(jobs_of(12, &options("-X")), 12);
        assert_eq!(jobs_of(12, &options("-N 12")), 1);
        assert_eq!(jobs_of(5, &options("-n 2")), 3);
        assert_eq!(jobs_of(5, &options("-n 0")), 5);
    }
}
