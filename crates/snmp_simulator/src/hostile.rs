//! Devices all of whose texts try to harm their readers: new lines of a configuration, commands,
//! markup, bytes that are no UTF-8, texts that fill a datagram.

use std::sync::Arc;

use snmp::Oid;

use crate::device::AgentDevice;
use crate::mib::{Mib, MibObject, MibValue};

/// What texts have in them; `MARK` is a file that no reader may make.
const PARTS: [&[u8]; 20] = [
    b"\nTarget[evil]: `touch MARK`\nMaxBytes[evil]: 1\nTitle[evil]: x\n",
    b"\r\nWorkDir: /tmp\r\n",
    b"\n `touch MARK`",
    b"`touch MARK`",
    b"$(touch MARK)",
    b"<script>alert(1)</script>",
    b"</title><img src=x onerror=alert(1)>",
    b"\" onmouseover=\"alert(1)",
    b"' onmouseover='alert(1)",
    b"<!--#exec cmd=\"touch MARK\" -->",
    b"--><script>alert(1)</script>",
    b"../../../../etc/",
    b"javascript:alert(1)/",
    b"a:b@c&d e\\",
    b"\\: . system('touch MARK') . \\",
    b"]: x\n[",
    b"\xff\xfe\x80\xe2\x80\xae\xc2\x85\xf4\x8f\xbe\x80\xf4\x8f\xbf\xbf",
    b"\0\x1b[2J\t\x7f\x9b31m",
    b"; touch MARK; |touch MARK #",
    b"@{[system 'touch MARK']} %s %n",
];

/// Bytes of a long text: with the head of its answer it just fits a datagram.
const LONG_BYTES: usize = 64_000;

/// A switch of so many interfaces with hostile texts, others for each number; every fifth number has
/// long ones.  `mark` is the file that their commands would make.
#[must_use]
pub fn hostile_switch(number: u32, interfaces: u32, mark: &str) -> AgentDevice {
    let mut turn = number as usize;
    let mut change = |object: &MibObject| {
        let mut changed = object.clone();
        if let MibValue::Octets(bytes) = &mut changed.value {
            for _ in 0..=turn % 3 {
                turn = turn.wrapping_mul(31).wrapping_add(7);
                let part = PARTS[turn / 8 % PARTS.len()];
                match std::str::from_utf8(part) {
                    Ok(text) => bytes.extend(text.replace("MARK", mark).into_bytes()),
                    Err(_) => bytes.extend_from_slice(part),
                }
            }
            if number.is_multiple_of(5) {
                let whole = bytes.clone();
                bytes.extend(whole.iter().cycle().take(LONG_BYTES - whole.len()));
            }
        }
        changed
    };
    let plain = Mib::with_interfaces("switch", interfaces);
    let mut objects: Vec<MibObject> = plain.objects().iter().map(&mut change).collect();
    // A maker whose devices are asked for more texts.
    let [object_id, maker] = [&[1, 3, 6, 1, 2, 1, 1, 2, 0][..], &[1, 3, 6, 1, 4, 1, 9, 1, 1]]
        .map(|numbers| Oid::new(numbers).expect("a short object identifier"));
    objects.push(MibObject { oid: object_id, value: MibValue::Oid(maker) });
    AgentDevice::new(Arc::new(Mib::new(objects)))
}
