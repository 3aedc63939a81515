//! Terminals: `struct termios`, abbreviated as `strace` does.

use super::{Bytes, Scene, put};

/// Speeds by their code.
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

/// Writes `struct termios`: `{B38400 opost isig icanon echo ...}`.
pub(crate) fn write(scene: &mut Scene<'_>, bytes: &Bytes<36>) {
    let (input, output) = (bytes.u32(0), bytes.u32(4));
    let (control, local) = (bytes.u32(8), bytes.u32(12));
    if scene.style.whole {
        put!(scene, "{{c_iflag={input:#x}, c_oflag={output:#x}, c_cflag={control:#x}");
        put!(scene, ", c_lflag={local:#x}, c_line={}, c_cc=", bytes.0[16]);
        let hex = scene.style.hex_texts;
        scene.style.hex_texts = 2;
        scene.quoted(&bytes.0[17..36], false);
        scene.style.hex_texts = hex;
        scene.put("}");
        return;
    }
    let code = control & 0x100f;
    match SPEEDS.iter().find(|(number, _)| *number == code) {
        Some((_, name)) => put!(scene, "{{{name}"),
        None => put!(scene, "{{{code:#x}"),
    }
    for (is_set, name) in [
        (output & 1 != 0, "opost"),
        (local & 1 != 0, "isig"),
        (local & 2 != 0, "icanon"),
        (local & 8 != 0, "echo"),
    ] {
        put!(scene, " {}{name}", if is_set { "" } else { "-" });
    }
    scene.put(" ...}");
}
