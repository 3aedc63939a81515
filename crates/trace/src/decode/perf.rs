//! `perf_event_open`: the attributes of an event.
//!
//! Reads `struct perf_event_attr`, whose size is in it.  Without `-v` the flags that are set are
//! shown, and what comes after them is `...`.

use super::structure::{u32_at, u64_at};
use super::{ArgumentKind, CapturePhase, ConstantStyle, DecodeContext, Outcome, put, reads};
use crate::flags::{event, perf as names};

/// The size of the first version, which a size of 0 stands for.
const FIRST: usize = 64;
/// The size of the last version that is shown.
const LAST: usize = 128;

/// Names of the flags by bit; bits 15 and 16 are a number.
#[rustfmt::skip]
static BITS: [&str; 38] = [
    "disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv",
    "exclude_idle", "mmap", "comm", "freq", "inherit_stat", "enable_on_exec", "task", "watermark",
    "precise_ip", "", "mmap_data", "sample_id_all", "exclude_host", "exclude_guest",
    "exclude_callchain_kernel", "exclude_callchain_user", "mmap2", "comm_exec", "use_clockid",
    "context_switch", "write_backward", "namespaces", "ksymbol", "bpf_event", "aux_output",
    "cgroup", "text_poke", "build_id", "inherit_thread", "remove_on_exec", "sigtrap",
];

const FREQUENCY: u32 = 10;
const WATERMARK: u32 = 14;
const PRECISE: u32 = 15;
const CLOCK: u32 = 25;
const RESERVED: u32 = 38;

/// Words for how exactly the address of a sample is known.
static SKIDS: [&str; 4] =
    ["arbitrary skid", "constant skid", "requested to have 0 skid", "must have 0 skid"];

/// The attributes of an event.
pub(crate) const ATTRIBUTES: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    let Some(said) = context.read::<8>(address).map(|bytes| bytes.u32(4) as usize) else {
        context.pointer(address);
        return Outcome::Done;
    };
    let size = if said == 0 { FIRST } else { said };
    let bytes = context.read_some(address, size.min(LAST));
    if size < FIRST || bytes.len() < size.min(LAST) || context.style.plain {
        context.pointer(address);
        return Outcome::Done;
    }
    write(context, &bytes, size);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, LAST as u32)])
.of_any_width();

fn write(context: &mut DecodeContext<'_>, bytes: &[u8], size: usize) {
    let flags = u64_at(bytes, 40);
    let is_set = |bit: u32| flags >> bit & 1 != 0;
    context.put("{type=");
    context.constant(&names::TYPE, u32_at(bytes, 0).into());
    context.put(", size=");
    context.constant(&names::SIZE, u32_at(bytes, 4).into());
    context.put(", config=");
    config(context, u32_at(bytes, 0), u64_at(bytes, 8));
    let period = if is_set(FREQUENCY) { "freq" } else { "period" };
    put!(context, ", sample_{period}={}, sample_type=", u64_at(bytes, 16));
    context.constant(&names::SAMPLE, u64_at(bytes, 24));
    context.put(", read_format=");
    context.constant(&names::FORMAT, u64_at(bytes, 32));
    write_flags(context, flags);
    if !context.style.whole {
        context.put(", ...}");
        return;
    }
    let wakeup = if is_set(WATERMARK) { "watermark" } else { "events" };
    put!(context, ", wakeup_{wakeup}={}", u32_at(bytes, 48));
    let is_breakpoint = u32_at(bytes, 0) == 5;
    if is_breakpoint {
        context.put(", bp_type=");
        breakpoint(context, u32_at(bytes, 52));
    }
    hex(context, if is_breakpoint { "bp_addr" } else { "config1" }, u64_at(bytes, 56));
    later(context, bytes, size, flags);
    context.put(if size > LAST { ", ...}" } else { "}" });
}

/// Writes what an event counts, which depends on its type.
fn config(context: &mut DecodeContext<'_>, kind: u32, config: u64) {
    match kind {
        // The upper half of a hardware event names the processors' unit.
        0 => {
            if config >> 32 != 0 {
                put!(context, "{:#x}<<32|", config >> 32);
            }
            context.constant(&names::HARDWARE, config & 0xffff_ffff);
        }
        1 => context.constant(&names::SOFTWARE, config),
        2 => context.number(config),
        3 => cache(context, config),
        _ => context.hex(config),
    }
}

fn cache(context: &mut DecodeContext<'_>, config: u64) {
    if config >> 32 != 0 {
        put!(context, "{:#x}<<32|", config >> 32);
    }
    if config >> 24 & 0xff != 0 {
        put!(context, "{:#x}<<24|", config >> 24 & 0xff);
    }
    context.constant(&names::CACHE_RESULT, config >> 16 & 0xff);
    context.put("<<16|");
    context.constant(&names::CACHE_OPERATION, config >> 8 & 0xff);
    context.put("<<8|");
    context.constant(&names::CACHE, config & 0xff);
}

fn breakpoint(context: &mut DecodeContext<'_>, kind: u32) {
    match kind {
        // Reading, writing and executing at once is no kind that the kernel takes.
        5..=7 if context.style.constants != ConstantStyle::Number => {
            put!(context, "{kind:#x} /* HW_BREAKPOINT_INVALID */");
        }
        _ => context.constant(&names::BREAKPOINT, kind.into()),
    }
}

fn write_flags(context: &mut DecodeContext<'_>, flags: u64) {
    for (bit, name) in (0..RESERVED).zip(BITS) {
        let value = flags >> bit & 1;
        if bit == PRECISE {
            let precise = flags >> bit & 3;
            put!(context, ", {name}={precise} /* {} */", SKIDS[precise as usize]);
        } else if !name.is_empty() && (value != 0 || context.style.whole) {
            put!(context, ", {name}={value}");
        }
    }
    if flags >> RESERVED != 0 {
        put!(context, ", __reserved_1={:#x} /* Bits 63..38 */", flags >> RESERVED);
    }
}

fn hex(context: &mut DecodeContext<'_>, name: &str, value: u64) {
    put!(context, ", {name}=");
    context.hex(value);
}

/// Writes the fields that came with later versions.
fn later(context: &mut DecodeContext<'_>, bytes: &[u8], size: usize, flags: u64) {
    const BRANCHES: u64 = 1 << 11;
    const USER_STACK: u64 = 1 << 13;
    let sample = u64_at(bytes, 24);
    if size > 64 {
        let value = u64_at(bytes, 64);
        if u32_at(bytes, 0) == 5 {
            put!(context, ", bp_len={value}");
        } else {
            hex(context, "config2", value);
        }
    }
    if size > 72 && sample & BRANCHES != 0 {
        context.put(", branch_sample_type=");
        context.constant(&names::BRANCH, u64_at(bytes, 72));
    }
    if size > 80 {
        hex(context, "sample_regs_user", u64_at(bytes, 80));
    }
    if size > 88 && sample & USER_STACK != 0 {
        hex(context, "sample_stack_user", u32_at(bytes, 88).into());
    }
    if size > 92 && flags >> CLOCK & 1 != 0 {
        context.put(", clockid=");
        context.constant(&event::CLOCK, u32_at(bytes, 92).into());
    }
    if size > 96 {
        hex(context, "sample_regs_intr", u64_at(bytes, 96));
    }
    if size > 104 {
        put!(context, ", aux_watermark={}", u32_at(bytes, 104));
    }
    if size > 108 {
        let word = u32_at(bytes, 108);
        put!(context, ", sample_max_stack={}", word & 0xffff);
        unused(context, 110, 111, word >> 16);
    }
    if size > 112 {
        put!(context, ", aux_sample_size={}", u32_at(bytes, 112));
        unused(context, 116, 119, u32_at(bytes, 116));
    }
    if size > 120 {
        hex(context, "sig_data", u64_at(bytes, 120));
    }
}

/// Writes bytes that should be zero and are not.
fn unused(context: &mut DecodeContext<'_>, start: u32, end: u32, value: u32) {
    if value != 0 {
        put!(context, " /* bytes {start}..{end}: {value:#x} */");
    }
}
