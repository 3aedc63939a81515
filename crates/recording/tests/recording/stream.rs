//! Samples as a stream: what comes out is what went in, and nothing else is taken.

use recording::{SampleDecoder, SampleEncoder, pack_samples, stream_head, unpack_samples};
use sample::Snapshot;

use crate::recording::support::{DEFS, Random, assert_same, machine, meta};

const FILE_ID: u64 = 0x1122_3344_5566_7788;

fn no_texts<'a>() -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
    std::iter::empty()
}

fn decoder() -> SampleDecoder {
    let head = stream_head(&meta(), &DEFS, FILE_ID).unwrap();
    SampleDecoder::new(&head, &[]).unwrap()
}

#[test]
fn samples_and_what_describes_them_come_back() {
    let samples = machine(300, 5);
    let mut encoder = SampleEncoder::new(&DEFS, FILE_ID);
    let mut decoder = decoder();
    assert_eq!((decoder.file_id(), decoder.meta().host()), (FILE_ID, "testhost"));
    assert_eq!(decoder.schemas(), &**DEFS);
    let mut snapshot = Snapshot::new(&decoder.defs());
    for (number, sample) in samples.iter().enumerate() {
        let mut frames = Vec::new();
        if number == 100 {
            encoder.begin();
        }
        let text = [(b"/proc/x".as_slice(), b"text".as_slice())];
        match number % 7 {
            0 => encoder.encode(sample, text.into_iter(), &mut frames),
            _ => encoder.encode(sample, no_texts(), &mut frames),
        }
        let mut packed = Vec::new();
        pack_samples(&frames, &mut packed).unwrap();
        assert_eq!(unpack_samples(&packed).unwrap(), frames);
        let mut rest = frames.as_slice();
        assert_eq!(decoder.decode(&mut rest, &mut snapshot), Ok(true));
        assert_eq!(decoder.decode(&mut rest, &mut snapshot), Ok(false));
        assert_same(std::slice::from_ref(&snapshot), std::slice::from_ref(sample));
        assert_eq!(decoder.texts().count(), usize::from(number % 7 == 0));
    }
}

#[test]
fn a_sample_is_taken_after_the_one_before_it_and_else_only_if_it_is_complete() {
    let samples = machine(3, 6);
    let mut encoder = SampleEncoder::new(&DEFS, FILE_ID);
    let frames: Vec<Vec<u8>> = samples
        .iter()
        .map(|sample| {
            let mut frame = Vec::new();
            encoder.encode(sample, no_texts(), &mut frame);
            frame
        })
        .collect();
    let mut decoder = decoder();
    let mut snapshot = Snapshot::new(&decoder.defs());
    let mut take = |number: usize| decoder.decode(&mut frames[number].as_slice(), &mut snapshot);
    assert!(take(1).is_err());
    assert_eq!(take(0), Ok(true));
    assert!(take(2).is_err());
    assert_eq!(take(1), Ok(true), "what is not taken changes nothing");
    assert_eq!((take(0), take(1), take(2)), (Ok(true), Ok(true), Ok(true)));
}

#[test]
fn no_damaged_byte_is_taken() {
    let mut random = Random::from_seed(testkit::seed(77));
    let mut encoder = SampleEncoder::new(&DEFS, FILE_ID);
    let mut frames = Vec::new();
    machine(20, 7).iter().for_each(|sample| encoder.encode(sample, no_texts(), &mut frames));
    let mut packed = Vec::new();
    pack_samples(&frames, &mut packed).unwrap();
    for _ in 0..testkit::share(2000) {
        let mut decoder = decoder();
        let mut snapshot = Snapshot::new(&decoder.defs());
        let mut damaged = frames.clone();
        let at = random.below(frames.len() as u64) as usize;
        damaged[at] ^= 1 << random.below(8);
        let mut rest = damaged.as_slice();
        let mut taken = 0;
        while decoder.decode(&mut rest, &mut snapshot) == Ok(true) {
            taken += 1;
        }
        assert!(taken < 20 && !rest.is_empty(), "byte {at}");
        // Packed bytes have no checksum of their own: they must not lead to more than they say.
        let mut damaged = packed.clone();
        let at = random.below(packed.len() as u64) as usize;
        damaged[at] ^= 1 << random.below(8);
        let _ = unpack_samples(&damaged);
    }
    assert!(unpack_samples(&[0, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_err());
}
