//! How many values go into a job: `-N`, `-n`, `-L`, `-X`, `-m`, `--xargs`, `-s`.

use anyhow::Context as _;
use run::engine::COMMAND_BYTES_MAX;
use run::engine::feed::Fits;
use run::input::{self, Input, Packer};
use run::template::{Context, Packing, Values};
use run::{Record, units};

use super::command::Command;
use crate::run::arguments::PackingArguments;

/// How many records a job gets at most, where that is said.
fn records_max(packing: &PackingArguments) -> Option<u64> {
    let PackingArguments { replace_args, args, lines, max_lines, .. } = *packing;
    replace_args.or(args).or(lines).or(max_lines.map(|lines| lines.max(1)))
}

/// How records share a command line.
pub(super) fn of_template(packing: &PackingArguments) -> Packing {
    if records_max(packing).is_some_and(|records| records > 1) || packing.context_replace {
        Packing::Repeat
    } else if packing.multiple || packing.xargs {
        Packing::Join
    } else {
        Packing::One
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

/// What says whether a command line with so many records can still be run.
pub(super) fn fits(command: &Command, arguments: &PackingArguments) -> anyhow::Result<Fits> {
    let mut bytes_max = COMMAND_BYTES_MAX;
    if let Some(text) = &arguments.chars {
        let asked = units::size(text).with_context(|| format!("-s {text}"))?;
        bytes_max = bytes_max.min(usize::try_from(asked).unwrap_or(usize::MAX));
    }
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
        template.rendered_len(&context, values).is_ok_and(|bytes| bytes <= bytes_max)
    }))
}
