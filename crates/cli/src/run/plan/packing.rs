//! How many values go into a job: `-N`, `-n`, `-L`, `-X`, `-m`, `--xargs`, `-s`.

use anyhow::Context as _;
use run::engine::COMMAND_BYTES_MAX;
use run::engine::feed::Fits;
use run::input::{self, Input, Packer};
use run::units;
use template::Record;
use template::{Context, Measure, Packing, Template, Values};

use super::command::Command;
use super::output;
use crate::run::arguments::{PackingArguments, RunArguments};

/// How many records a job gets at most, where that is said.
fn records_max(packing: &PackingArguments) -> Option<u64> {
    let PackingArguments { replace_args, args, lines, max_lines, .. } = *packing;
    replace_args.or(args).or(max_lines.map(|lines| lines.max(1))).or(lines)
}

/// How records share a command line.
///
/// As GNU parallel has it: `-X` and `-N` repeat words, beside whatever else, even for one record of
/// several values; so does `-L`, but not beside `-m` and `--xargs`.
pub(super) fn of_template(packing: &PackingArguments) -> Packing {
    let PackingArguments { replace_args, lines, context_replace, multiple, xargs, .. } = *packing;
    let joins = multiple || xargs;
    match records_max(packing) {
        _ if context_replace || replace_args.is_some() => Packing::Repeat,
        _ if lines.is_some() && !joins => Packing::Repeat,
        None | Some(1) if !joins => Packing::One,
        _ => Packing::Join,
    }
}

/// What gives each job its records.
pub(super) fn packer(input: Input, packing: &PackingArguments, slots: u32) -> Packer {
    let fill = packing.context_replace || packing.multiple || packing.xargs;
    let spreads = (packing.context_replace || packing.multiple) && slots > 1;
    Packer::new(
        input,
        input::Packing {
            records_max: records_max(packing).unwrap_or(if fill { u64::MAX } else { 1 }),
            spread: spreads.then_some(slots),
            exact: packing.exact,
        },
    )
}

/// A number of jobs of as many digits as there may be, for measuring command lines.
const TOTAL_MAX: u64 = 999_999_999;

/// How many jobs parallel takes so many records for before it packs them: without a number, as many.
pub(super) fn jobs_of(records: u64, packing: &PackingArguments) -> u64 {
    records.div_ceil(records_max(packing).unwrap_or(1).max(1))
}

/// What says whether a command line with so many records can still be run; `total` is the number of
/// jobs that `-s` counts with.
pub(super) fn fits(
    command: &Command,
    arguments: &RunArguments,
    total: Option<u64>,
) -> anyhow::Result<Fits> {
    let asked = match &arguments.packing.chars {
        Some(text) => {
            let bytes = units::size(text).with_context(|| format!("-s {text}"))?;
            Some((usize::try_from(bytes).unwrap_or(usize::MAX), measure(command, arguments)?))
        }
        None => None,
    };
    let (template, packing) = (command.template.clone(), command.packing);
    let values = Values::Quoted(command.dialect);
    Ok(Box::new(move |records: &[Record]| {
        let context = Context {
            seq: 1,
            slot: 1,
            slots: 1,
            total: Some(TOTAL_MAX),
            records,
            packing,
            local_time_s: 0,
        };
        let is_short = asked.as_ref().is_none_or(|(limit, measure)| {
            let context = Context { total: total.or(context.total), ..context };
            measure.length(&context, records).is_ok_and(|bytes| bytes < *limit)
        });
        is_short
            && template.rendered_len(&context, values).is_ok_and(|bytes| bytes <= COMMAND_BYTES_MAX)
    }))
}

/// What counts for `-s`: the command, and the replacement strings of what is made beside it.
fn measure(command: &Command, arguments: &RunArguments) -> anyhow::Result<Measure> {
    let beside = output::beside(arguments, command)?;
    let beside: Vec<&Template> = beside.iter().collect();
    Ok(command.template.measure(&beside, command.packing, command.dialect))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(options: &str) -> PackingArguments {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            packing: PackingArguments,
        }
        let words = std::iter::once("run").chain(options.split_whitespace());
        <Alone as clap::Parser>::try_parse_from(words).unwrap().packing
    }

    #[test]
    fn words_are_repeated_where_the_incumbent_repeats_them() {
        for (options, expected) in [
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
            assert_eq!(of_template(&arguments(options)), expected, "{options}");
        }
    }

    #[test]
    fn of_several_numbers_one_counts() {
        for (options, expected) in [
            ("-N 3 -n 2 -L 1", Some(3)),
            ("-n 2 -L 3", Some(2)),
            ("-L 2 -l 3", Some(3)),
            ("-l 0", Some(1)),
            ("-X", None),
        ] {
            assert_eq!(records_max(&arguments(options)), expected, "{options}");
        }
    }

    #[test]
    fn jobs_are_counted_before_they_are_packed() {
        assert_eq!(jobs_of(12, &arguments("-X")), 12);
        assert_eq!(jobs_of(12, &arguments("-N 12")), 1);
        assert_eq!(jobs_of(5, &arguments("-n 2")), 3);
        assert_eq!(jobs_of(5, &arguments("-n 0")), 5);
    }
}
