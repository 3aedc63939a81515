//! Raw logs of atop: those of older versions beside the program that converts them, and damaged ones.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use recording::atop::{AtopError, AtopReader};
use recording::imported::{ImportEnding, ImportedRow};

fn log() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/atop/atop_20261127");
    fs::read(path).unwrap()
}

/// Records of a log that is written anew.
const RECORDS: usize = 2;

/// The bytes of atop 2.8: header, head of a record, statistics of the machine and of a task.
const HEADER: usize = 480;
const HEAD: usize = 96;
const TASK: usize = 0x3c8;

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn put_u32(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 4].copy_from_slice(&u32::try_from(value).unwrap().to_le_bytes());
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// A log whose records went through `change`: the head, the machine and the tasks.
fn changed(
    log: &[u8],
    records: usize,
    mut change: impl FnMut(&mut Vec<u8>, &mut Vec<u8>, &mut Vec<u8>),
) -> Vec<u8> {
    let mut new = log[..HEADER].to_vec();
    let mut at = HEADER;
    for _ in 0..records {
        if at >= log.len() {
            break;
        }
        let mut head = log[at..at + HEAD].to_vec();
        let tasks_at = at + HEAD + u32_at(&head, 16);
        let mut machine = unpacked(&log[at + HEAD..tasks_at]);
        at = tasks_at + u32_at(&head, 20);
        let mut tasks = unpacked(&log[tasks_at..at]);
        change(&mut head, &mut machine, &mut tasks);
        let (machine, tasks) = (packed(&machine), packed(&tasks));
        put_u32(&mut head, 16, machine.len());
        put_u32(&mut head, 20, tasks.len());
        new.extend([head, machine, tasks].concat());
    }
    new
}

/// Pieces of a structure of 2.8: from where, to where, how many bytes.
type Pieces = Vec<(usize, usize, usize)>;

/// The sizes of both structures of an older version, as its own converter has them, and the pieces of
/// 2.8's that it has.
fn older(minor: u8) -> (usize, usize, Pieces, Pieces) {
    let (size, interfaces, disks, pressure) = match minor {
        3 => (0xadce0, 0x44578, 0x4cd80, 0),
        4..=6 => (0xaef70, 0x44578, 0x4cd80, 0xadcc0),
        _ => (0xe8ff8, 0x545f0, 0x86e08, 0xe7d48),
    };
    let (cpu, memory, protocols) =
        if minor < 7 { (136, 0x440d8, 0x441d0) } else { (168, 0x540f8, 0x54248) };
    let mut machine: Pieces = vec![(0, 0, 80)];
    machine.extend((0..2049).map(|number| (80 + number * 168, 80 + number * cpu, 104)));
    // Two numbers of sockets were inserted after the first thirteen.
    let words = match minor {
        ..=5 => 23,
        6 => 25,
        _ => 33,
    };
    machine.push((0x540f8, memory, 13 * 8));
    machine.push((0x540f8 + 15 * 8, memory + 13 * 8, (words - 13) * 8));
    // One of ICMP was inserted after the first 21.
    machine.push((0x54248, protocols, 21 * 8));
    machine.push((0x54248 + 22 * 8, protocols + 21 * 8, 96 * 8));
    machine.push((0x545f8, interfaces, 0x8808));
    machine.push((0x88e10, disks, 12));
    let bytes = if minor < 7 { 80 } else { 96 };
    machine
        .extend((0..3328).map(|number| (0x88e20 + number * 128, disks + 16 + number * 112, bytes)));
    if pressure > 0 {
        machine.push((0xf6d50, pressure, 0x80));
    }
    let (cpu, disk, memory) = (0x180, 0x1d8, 0x220);
    let mut task: Pieces =
        vec![(0, 0, 384), (0x1c0, cpu, 40), (0x238, disk, 72), (0x280, memory, 96)];
    if minor > 5 {
        task.push((0x1c0 + 64, cpu + 56, 24));
        task.push((0x280 + 96, memory + 96, 8));
    }
    (size, if minor == 3 { 0x310 } else { 0x348 }, machine, task)
}

/// The log as an older version would have written it.
fn as_older(minor: u8) -> Vec<u8> {
    let (machine_bytes, task_bytes, machine_pieces, task_pieces) = older(minor);
    let moved = |old: &[u8], bytes: usize, pieces: &Pieces| {
        let mut new = vec![0; bytes];
        for (from, to, count) in pieces {
            new[*to..to + count].copy_from_slice(&old[*from..from + count]);
        }
        new
    };
    let mut log = changed(&log(), RECORDS, |_, machine, tasks| {
        *machine = moved(machine, machine_bytes, &machine_pieces);
        *tasks =
            tasks.chunks(TASK).flat_map(|task| moved(task, task_bytes, &task_pieces)).collect();
    });
    log[4] = minor;
    put_u32(&mut log, 28, machine_bytes);
    put_u32(&mut log, 32, task_bytes);
    log
}

/// All rows of a log.
fn rows(bytes: Vec<u8>) -> Vec<Vec<ImportedRow>> {
    let mut reader =
        AtopReader::from_reader(Cursor::new(bytes), Path::new("atop_20261127")).unwrap();
    let mut records = Vec::new();
    while reader.next_record().unwrap().is_some() {
        records.push(reader.rows().to_vec());
    }
    assert_eq!(*reader.ending(), ImportEnding::Whole);
    records
}

/// Checks that `all` has what `some` has, and returns how many values that are.
fn contained(some: &[Vec<ImportedRow>], all: &[Vec<ImportedRow>], but: &[&str], of: &str) -> usize {
    let mut count = 0;
    assert_eq!(some.len(), all.len(), "{of}");
    for (some, all) in some.iter().zip(all) {
        for row in some.iter().filter(|row| !but.contains(&row.source)) {
            let other = all.iter().find(|all| (all.source, &all.name) == (row.source, &row.name));
            let other = other.unwrap_or_else(|| panic!("{of}: no {} {:?}", row.source, row.name));
            for cell in &row.cells {
                assert!(other.cells.contains(cell), "{of}: {cell:?} of {row:?} not in {other:?}");
            }
            for text in &row.texts {
                assert!(other.texts.contains(text), "{of}: {text:?} of {row:?} not in {other:?}");
            }
            count += row.cells.len() + row.texts.len();
        }
    }
    count
}

#[test]
fn older_versions_are_read_as_they_were_written_and_as_their_converter_reads_them() {
    let converter = testkit::atop("atop: logs of older versions", "atopconvert");
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let written = rows(changed(&log(), RECORDS, |_, _, _| {}));
    for minor in 3..=7 {
        let log = as_older(minor);
        fs::write(&old, &log).unwrap();
        let read = rows(log);
        let count = contained(&read, &written, &[], &format!("2.{minor}"));
        assert!(count > 400, "2.{minor}: {count}");
        let Some(converter) = &converter else { continue };
        let _ = fs::remove_file(&new);
        let output = Command::new(converter).args([&old, &new]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // It copies the numbers of protocols as they are, though one was inserted with 2.8, and
        // passes over the pressure that 2.4 has.
        let but = if minor == 4 { &["tcp", "pressure"][..] } else { &["tcp"] };
        contained(&read, &rows(fs::read(&new).unwrap()), but, &format!("2.{minor} converted"));
    }
}

/// A log of two records with the fewest bytes: one task each.
fn small() -> Vec<u8> {
    changed(&log(), 2, |head, _, tasks| {
        tasks.truncate(TASK);
        put_u32(head, 28, 1);
    })
}

/// Reads all that can be read of a log.
fn read_all(bytes: Vec<u8>) -> Result<usize, AtopError> {
    let mut reader = AtopReader::from_reader(Cursor::new(bytes), Path::new("atop_20261127"))?;
    let mut rows = 0;
    while reader.next_record()?.is_some() {
        rows += reader.rows().len();
    }
    Ok(rows)
}

#[test]
fn a_log_with_any_byte_damaged_is_read_or_refused() {
    let log = small();
    let whole = read_all(log.clone()).unwrap();
    // A short run damages a tenth of the bytes of heads, and a hundredth of the others.
    let few = |places: Vec<usize>| testkit::share_of(testkit::share_of(places).collect());
    let second = HEADER + HEAD + u32_at(&log, HEADER + 16) + u32_at(&log, HEADER + 20);
    let heads = (0..HEADER + HEAD).chain(second..second + HEAD);
    let names = 36..430;
    let heads: Vec<usize> = heads.filter(|at| !names.contains(at)).collect();
    let rest = few((HEADER + HEAD..log.len()).collect());
    for at in testkit::share_of(heads).chain(rest) {
        let mut damaged = log.clone();
        damaged[at] ^= if at % 2 == 0 { 0x01 } else { 0xff };
        // Neither a panic, nor rows without end.
        assert!(read_all(damaged).is_ok_and(|rows| rows <= whole + 4096) || at < HEADER, "{at}");
    }
    for end in few((0..log.len()).collect()) {
        assert!(read_all(log[..end].to_vec()).is_ok_and(|rows| rows <= whole) || end < HEADER);
    }
}

#[test]
fn what_unpacks_without_end_is_not_unpacked() {
    // The structure of one task is wanted; 8 MiB of zeros are there.
    let log = changed(&log(), 1, |head, _, tasks| {
        *tasks = vec![0; 8 << 20];
        put_u32(head, 28, 1);
    });
    let mut reader = AtopReader::from_reader(Cursor::new(log), Path::new("atop_20261127")).unwrap();
    assert!(reader.next_record().unwrap().is_some());
    let log = changed(&self::log(), 1, |_, machine, _| machine.resize(8 << 20, 0));
    let mut reader = AtopReader::from_reader(Cursor::new(log), Path::new("atop_20261127")).unwrap();
    assert!(reader.next_record().unwrap().is_none());
    assert!(matches!(reader.ending(), ImportEnding::Damaged(_)), "{:?}", reader.ending());
    let log = changed(&self::log(), 1, |head, _, _| put_u32(head, 28, 1 << 30));
    let mut reader = AtopReader::from_reader(Cursor::new(log), Path::new("atop_20261127")).unwrap();
    assert!(reader.next_record().unwrap().is_none());
}
