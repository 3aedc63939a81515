//! Kernel text that is broken in any way never makes a source panic.
//!
//! Every file of every tree is cut, doubled, flipped and filled with noise in turn, with all
//! sources open on it and, now and then, opened anew.  What fails prints the seed.

use std::sync::Arc;

use procfs::Host;
use sample::{Snapshot, State};
use source::{Entry, Sampler};
use testkit::trees::{ALL as TREES, Tree};
use testkit::{FakeHost, Random, SimClock};

/// Files of a tree that are broken in a long run; the rest is more of the same.
const FILES_MAX: usize = 200;

/// As above for a tree with files longer than [`LONG_BYTES`], which take a while to read.
const FILES_MAX_OF_BIG: usize = 50;

/// See [`FILES_MAX_OF_BIG`]; such a file itself is broken in two ways only.
const LONG_BYTES: usize = 64 * 1024;

fn broken(text: &[u8], kind: u64, numbers: &mut Random) -> Vec<u8> {
    let mut out = text.to_vec();
    match kind {
        0 => out.truncate(numbers.index(text.len() + 1)),
        1 => out.extend_from_slice(text),
        2 => {
            for _ in 0..1 + text.len() / 50 {
                let at = numbers.index(out.len());
                if let Some(byte) = out.get_mut(at) {
                    *byte ^= 1 << (numbers.bits() % 8);
                }
            }
        }
        3 => out.clear(),
        4 => {
            // Numbers that do not fit.
            let long = b"99999999999999999999999999";
            let digits = |byte: &u8| byte.is_ascii_digit();
            let start = numbers.index(out.len());
            if let Some(at) = out[start..].iter().position(digits) {
                out.splice(start + at..start + at, long.iter().copied());
            }
        }
        5 => {
            let (from, to) = (numbers.index(out.len()), numbers.index(out.len()));
            out.drain(from.min(to)..from.max(to));
        }
        6 => out = (0..300).map(|_| (numbers.bits() & 0xff) as u8).collect(),
        _ => {
            let blanks = |byte: &mut u8| {
                *byte = match *byte {
                    b' ' => b'\n',
                    b'\n' => b':',
                    b':' => b' ',
                    other => other,
                };
            };
            out.iter_mut().for_each(blanks);
        }
    }
    out
}

fn break_tree(tree: &Tree, seed: u64) {
    let fake = FakeHost::new().expect("a temporary folder");
    tree.write(fake.root(), 0).expect("writing the tree");
    let entries: Vec<&'static Entry> = source::ALL.to_vec();
    let mut host = Host::new(fake.root());
    let mut sampler = Sampler::open(&mut host, &entries, &Arc::default());
    let mut snapshot = Snapshot::new(&sampler.defs());
    let mut clock = SimClock::default();
    let mut numbers = Random::from_seed(seed);
    let files = fake.files().expect("the tree that was written");
    for file in &files {
        // Some may only be read; their owner is refused to write them, if that is not root.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(fake.path(file), mode).expect("changing a mode");
    }
    let length = |file: &String| std::fs::metadata(fake.path(file)).map_or(0, |meta| meta.len());
    let is_big = files.iter().any(|file| length(file) > LONG_BYTES as u64);
    let most = testkit::share(if is_big { FILES_MAX_OF_BIG } else { FILES_MAX });
    let apart = files.len().div_ceil(most);
    for (index, file) in files.iter().enumerate().filter(|(index, _)| index % apart == 0) {
        let text = std::fs::read(fake.path(file)).unwrap_or_default();
        let kinds = if text.len() > LONG_BYTES { 2 } else { 8 };
        for kind in 0..kinds {
            let kind = if kinds < 8 { numbers.bits() % 8 } else { kind };
            fake.put(file, broken(&text, kind, &mut numbers)).expect("writing");
            sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
            let anew = index % 8 == 0 || file.contains("mountinfo") || file.contains("/sys/");
            if anew && text.len() <= LONG_BYTES {
                let mut host = Host::new(fake.root());
                let mut sampler = Sampler::open(&mut host, &entries, &Arc::default());
                sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
            }
        }
        fake.put(file, text).expect("writing");
    }
}

#[test]
fn broken_text_never_panics() {
    for (index, tree) in TREES.iter().enumerate() {
        let seed = 0x5eed_0000 + index as u64;
        let done = std::panic::catch_unwind(|| break_tree(tree, seed));
        assert!(done.is_ok(), "{} with seed {seed:#x}", tree.name);
    }
}
