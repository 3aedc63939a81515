//! Terminals: `struct termios`, abbreviated as `strace` does.

use super::{DecodeContext, StructBytes, put};
use crate::flags::Flags;

/// Baud rates by their code.
static SPEEDS: &[(u32, &str)] = &[
    (0, "B0"),
    (1, "B50"),
    (2, "B75"),
    (3, "B110"),
    (4, "B134"),
    (5, "B150"),
    (6, "B200"),
    (7, "B300"),
    (8, "B600"),
    (9, "B1200"),
    (10, "B1800"),
    (11, "B2400"),
    (12, "B4800"),
    (13, "B9600"),
    (14, "B19200"),
    (15, "B38400"),
    (0x1001, "B57600"),
    (0x1002, "B115200"),
    (0x1003, "B230400"),
    (0x1004, "B460800"),
    (0x1005, "B500000"),
    (0x1006, "B576000"),
    (0x1007, "B921600"),
    (0x1008, "B1000000"),
    (0x1009, "B1152000"),
    (0x100a, "B1500000"),
    (0x100b, "B2000000"),
    (0x100c, "B2500000"),
    (0x100d, "B3000000"),
    (0x100e, "B3500000"),
    (0x100f, "B4000000"),
];

/// Input modes (`c_iflag`).
static INPUT: Flags = Flags {
    unknown: "",
    names: crate::flags::names![
        (0x1, "IGNBRK"),
        (0x2, "BRKINT"),
        (0x4, "IGNPAR"),
        (0x8, "PARMRK"),
        (0x10, "INPCK"),
        (0x20, "ISTRIP"),
        (0x40, "INLCR"),
        (0x80, "IGNCR"),
        (0x100, "ICRNL"),
        (0x200, "IUCLC"),
        (0x400, "IXON"),
        (0x800, "IXANY"),
        (0x1000, "IXOFF"),
        (0x2000, "IMAXBEL"),
        (0x4000, "IUTF8"),
    ],
};

/// Output modes (`c_oflag`).
static OUTPUT: Flags = Flags {
    unknown: "",
    names: crate::flags::names![
        (0x1, "OPOST"),
        (0x2, "OLCUC"),
        (0x4, "ONLCR"),
        (0x8, "OCRNL"),
        (0x10, "ONOCR"),
        (0x20, "ONLRET"),
        (0x40, "OFILL"),
        (0x80, "OFDEL"),
    ],
};

/// Delays of output modes: the lowest bit of each field, its mask, its name.
static DELAYS: &[(u32, u32, &str)] =
    &[(8, 1, "NL"), (9, 3, "CR"), (11, 3, "TAB"), (13, 1, "BS"), (14, 1, "VT"), (15, 1, "FF")];

/// Control modes (`c_cflag`).
static CONTROL: Flags = Flags {
    unknown: "",
    names: crate::flags::names![
        (0x40, "CSTOPB"),
        (0x80, "CREAD"),
        (0x100, "PARENB"),
        (0x200, "PARODD"),
        (0x400, "HUPCL"),
        (0x800, "CLOCAL"),
        (0x2000_0000, "ADDRB"),
        (0x4000_0000, "CMSPAR"),
        (0x8000_0000, "CRTSCTS"),
    ],
};

/// Local modes (`c_lflag`).
static LOCAL: Flags = Flags {
    unknown: "",
    names: crate::flags::names![
        (0x1, "ISIG"),
        (0x2, "ICANON"),
        (0x4, "XCASE"),
        (0x8, "ECHO"),
        (0x10, "ECHOE"),
        (0x20, "ECHOK"),
        (0x40, "ECHONL"),
        (0x80, "NOFLSH"),
        (0x100, "TOSTOP"),
        (0x8000, "IEXTEN"),
        (0x200, "ECHOCTL"),
        (0x400, "ECHOPRT"),
        (0x800, "ECHOKE"),
        (0x1000, "FLUSHO"),
        (0x4000, "PENDIN"),
        (0x1_0000, "EXTPROC"),
    ],
};

/// Names of the special characters (`c_cc`), by index.
static CHARACTERS: [&str; 17] = [
    "VINTR", "VQUIT", "VERASE", "VKILL", "VEOF", "VTIME", "VMIN", "VSWTC", "VSTART", "VSTOP",
    "VSUSP", "VEOL", "VREPRINT", "VDISCARD", "VWERASE", "VLNEXT", "VEOL2",
];

/// Writes `struct termios`: `{c_iflag=ICRNL|IXON, …, c_lflag=ISIG|ICANON|ECHO, ...}`.
pub(crate) fn write(context: &mut DecodeContext<'_>, bytes: &StructBytes<36>) {
    let (output, control) = (bytes.u32(4), bytes.u32(8));
    context.put("{c_iflag=");
    context.constant(&INPUT, u64::from(bytes.u32(0)));
    context.put(", c_oflag=");
    let mut delays = 0;
    for (index, (shift, width, name)) in DELAYS.iter().enumerate() {
        delays |= width << shift;
        context.put(if index > 0 { "|" } else { "" });
        let bits = output & width << shift;
        context.named(bits.into(), |context| put!(context, "{name}{}", bits >> shift));
    }
    rest(context, &OUTPUT, output & !delays);
    context.put(", c_cflag=");
    let code = control & 0x100f;
    context.named(code.into(), |context| match SPEEDS.iter().find(|(number, _)| *number == code) {
        Some((_, name)) => context.put(name),
        None => put!(context, "{code:#x}"),
    });
    context.put("|");
    let size = control >> 4 & 3;
    context.named(u64::from(size << 4), |context| put!(context, "CS{}", 5 + size));
    rest(context, &CONTROL, control & !0x103f);
    context.put(", c_lflag=");
    context.constant(&LOCAL, u64::from(bytes.u32(12)));
    if !context.style.whole {
        context.put(", ...}");
        return;
    }
    match bytes.0[16] {
        0 => {
            context.put(", c_line=");
            context.named(0, |context| context.put("N_TTY"));
        }
        number => put!(context, ", c_line={number:#x}"),
    }
    context.put(", c_cc=[");
    for (index, character) in bytes.0[17..36].iter().enumerate() {
        context.put(if index > 0 { ", " } else { "" });
        match CHARACTERS.get(index) {
            Some(name) => put!(context, "[{name}]="),
            None => put!(context, "[{index}]="),
        }
        context.hex(u64::from(*character));
    }
    context.put("]}");
}

/// Writes flags after something else.
fn rest(context: &mut DecodeContext<'_>, set: &'static Flags, bits: u32) {
    if bits != 0 {
        context.put("|");
        context.more_flags(set, u64::from(bits));
    }
}
