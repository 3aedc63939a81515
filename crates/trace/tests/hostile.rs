//! Whatever a task does, and whatever its memory holds, a line comes of it: nothing panics, and no
//! line costs more than a bound.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use trace::{
    Abi, Call, CallId, CallSet, CallStatuses, ConstantStyle, DescriptorTarget, Descriptors,
    EventKind, LineOptions, Memory, NetlinkSocket, PidPrefix, Precision, Printer, Signal, Stamp,
    TraceEvent, ValueStyle, WaitStatus,
};

/// Memory that holds something made of the address everywhere, or only sometimes.
struct Noise {
    seed: u64,
    /// Of 8 places so many can be read.
    readable: u64,
    /// Small numbers and pointers are more likely than in noise.
    pattern: u8,
}

impl Memory for Noise {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut length = 0;
        for (offset, byte) in into.iter_mut().enumerate() {
            let place = address.wrapping_add(offset as u64);
            let mixed = ((place / 8) ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if ((place / 64) ^ self.seed) % 8 >= self.readable {
                break;
            }
            *byte = match self.pattern {
                0 => (mixed >> (place % 8 * 8)) as u8,
                1 => 0xff,
                // Little numbers, one word each.
                2 => {
                    if place.is_multiple_of(8) {
                        (mixed >> 60) as u8
                    } else {
                        0
                    }
                }
                // A word that points to itself.
                _ => ((place & !7) >> (place % 8 * 8)) as u8,
            };
            length += 1;
        }
        length
    }
}

struct Anything {
    exact: bool,
}

impl Descriptors for Anything {
    fn target(&self, process: i32, descriptor: i32, details: bool) -> Option<DescriptorTarget> {
        let path = format!("\x1b]0;{process}<{descriptor}>\n").into_bytes();
        Some(DescriptorTarget { path, details: details.then(|| "char 1:3".to_owned()) })
    }

    fn netlink(&self, _process: i32, descriptor: i32) -> Option<NetlinkSocket> {
        let protocol = u32::try_from(descriptor).ok().map(|number| number % 24);
        Some(NetlinkSocket { protocol })
    }

    fn is_exact(&self) -> bool {
        self.exact
    }
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0..600_u64,
        (0..64_u32).prop_map(|bit| 1 << bit),
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        any::<i32>().prop_map(|number| i64::from(number) as u64),
        Just(u64::MAX),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let number = prop_oneof![8 => 0..470_u64, 1 => word()];
    (number, any::<bool>(), prop::array::uniform6(word())).prop_map(|(number, is_32, arguments)| {
        let abi = if is_32 { Abi::I386 } else { Abi::X86_64 };
        Call { id: CallId { abi, number }, arguments }
    })
}

fn what() -> impl Strategy<Value = EventKind> {
    let result = prop_oneof![Just(0), -600..600_i64, any::<i64>()];
    let signal = (any::<i32>(), any::<i32>(), any::<[u64; 3]>(), 0..70_i32).prop_map(
        |(code, pid, words, number)| {
            EventKind::Signal(Signal {
                number,
                code: code % 10,
                error: code % 200,
                pid,
                uid: pid as u32,
                status: words[0] as i64,
                address: words[1],
                user_ticks: words[2] as i64,
                system_ticks: words[1] as i64,
            })
        },
    );
    prop_oneof![
        6 => call().prop_map(EventKind::Enter),
        8 => (call(), result, any::<u64>()).prop_map(|(call, result, wall_ns)| {
            EventKind::Exit { call, result, wall_ns, cpu_ns: None, changes: Default::default() }
        }),
        1 => signal,
        1 => any::<i32>().prop_map(EventKind::Stopped),
        1 => (0..4_i32).prop_map(|parent| EventKind::Began { parent }),
        1 => (0..4_i32).prop_map(|former| EventKind::Superseded { former }),
        1 => any::<i32>().prop_map(|status| EventKind::Ended(WaitStatus::Exited(status))),
        1 => any::<i32>().prop_map(|number| EventKind::Ended(WaitStatus::Signaled { number, dumped: true })),
    ]
}

fn options() -> impl Strategy<Value = LineOptions> {
    let limit = prop_oneof![
        20 => Just(32_usize),
        10 => Just(0),
        10 => Just(4096),
        1 => any::<usize>(),
    ];
    (any::<[bool; 8]>(), limit, any::<i64>(), any::<i32>()).prop_map(
        |(flags, text_limit, wall_offset_ns, zone)| LineOptions {
            pid_prefix: if flags[0] { PidPrefix::WhenSeveral } else { PidPrefix::Never },
            stamp: flags[1].then_some(Stamp::OfDay(Precision::Nanoseconds)),
            relative: flags[2].then_some(Precision::Milliseconds),
            took: flags[3].then_some(Precision::Seconds),
            numbers: flags[4],
            abbreviated: if flags[5] { CallSet::none() } else { CallSet::all() },
            statuses: if flags[6] {
                CallStatuses::parse("failed").unwrap()
            } else {
                CallStatuses::all()
            },
            paths: if flags[7] { vec![b"/etc/passwd".to_vec()] } else { Vec::new() },
            column: text_limit,
            style: ValueStyle {
                text_limit,
                whole: false,
                plain: false,
                commands: false,
                constants: *[ConstantStyle::Name, ConstantStyle::Number, ConstantStyle::Both]
                    .get(usize::from(flags[0]) + usize::from(flags[1]))
                    .unwrap(),
                hex_texts: u8::from(flags[2]),
                descriptors: u8::from(flags[3]) * 2,
                zone_s: zone % 86_400,
            },
            wall_offset_ns,
            ..LineOptions::default()
        },
    )
}

/// Bytes of one event's lines at most: 16 MiB of data, of which the last piece has four letters for a
/// byte, and twice if a call is told whole.
const LINE_MAX: usize = 160 << 20;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_line_comes_of_everything(
        events in prop::collection::vec((0..4_i32, any::<u64>(), what()), 1..12),
        options in options(),
        seed in any::<u64>(),
        readable in 0..9_u64,
        pattern in 0..4_u8,
        repeats in any::<bool>(),
    ) {
        let memory = Noise { seed, readable, pattern };
        let descriptors = Anything { exact: seed % 2 == 0 };
        let mut printer = Printer::new(options);
        let mut begun = None;
        for (thread, time_ns, mut what) in events {
            // Most calls end as they began.
            match (&mut what, begun) {
                (EventKind::Enter(call), _) => begun = Some(*call),
                (EventKind::Exit { call, .. }, Some(before)) if repeats => *call = before,
                _ => {}
            }
            let event = TraceEvent { time_ns, thread, process: thread, what };
            let mut out = Vec::new();
            printer.event(&event, &memory, &descriptors, &mut out).unwrap();
            prop_assert!(out.len() < LINE_MAX, "{} bytes", out.len());
            let is_plain = |byte: &u8| matches!(byte, b'\n' | 0x20..0x7f);
            prop_assert!(out.iter().all(is_plain), "{:?}", String::from_utf8_lossy(&out));
        }
        let mut out = Vec::new();
        printer.detach(&mut out).unwrap();
    }
}
