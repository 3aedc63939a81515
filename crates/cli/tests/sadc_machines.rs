//! Daily files of machines of another byte order and word size: the file of `testdata/sysstat` written
//! anew as such a machine writes it, which whit and the installed `sar` show as the file itself.
//!
//! The numbers are found by what the file says of its structures, not by tables of whit.

use std::fs;
use std::path::Path;

use crate::sadc::{data, difference, run, whit};

/// The head of the magic numbers, which no version changes.
const MAGIC_BYTES: usize = 76;

/// A file that is read as it is and written as by another machine.
struct Machine<'a> {
    file: &'a [u8],
    at: usize,
    written: Vec<u8>,
    is_big_endian: bool,
    word_bytes: usize,
}

impl Machine<'_> {
    /// A number of the file at a place from here.
    fn number(&self, at: usize, bytes: usize) -> u64 {
        let bytes = &self.file[self.at + at..][..bytes];
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn put(&mut self, bytes: usize) -> u64 {
        let value = self.number(0, bytes);
        match self.is_big_endian {
            true => self.written.extend(&value.to_be_bytes()[8 - bytes..]),
            false => self.written.extend(&value.to_le_bytes()[..bytes]),
        }
        self.at += bytes;
        value
    }

    /// A word of the machine, aligned to 8 bytes.
    fn put_word(&mut self) {
        let value = self.number(0, 8);
        assert!(self.word_bytes == 8 || value <= u64::from(u32::MAX), "{value} in a word");
        match self.is_big_endian {
            true => self.written.extend(&value.to_be_bytes()[8 - self.word_bytes..]),
            false => self.written.extend(&value.to_le_bytes()[..self.word_bytes]),
        }
        self.written.resize(self.written.len() + 8 - self.word_bytes, 0);
        self.at += 8;
    }

    fn copy(&mut self, bytes: usize) {
        self.written.extend(&self.file[self.at..][..bytes]);
        self.at += bytes;
    }

    /// A structure with so many numbers of each kind, and texts behind them.
    fn structure(&mut self, [long, words, short]: [u64; 3], bytes: u64) {
        (0..long).for_each(|_| _ = self.put(8));
        (0..words).for_each(|_| self.put_word());
        (0..short).for_each(|_| _ = self.put(4));
        self.copy((bytes - 8 * (long + words) - 4 * short) as usize);
    }

    /// The numbers of a structure of 32-bit numbers alone, which is written.
    fn numbers<const N: usize>(&mut self) -> [u64; N] {
        [(); N].map(|()| self.put(4))
    }

    fn file(mut self) -> Vec<u8> {
        (0..2).for_each(|_| _ = self.put(2));
        self.copy(4);
        let [head_bytes, _, long, words, short] = self.numbers();
        self.copy(MAGIC_BYTES - 28);
        // Behind the numbers stand day, month and the size of a word.
        let word_at = self.written.len() + (8 * (long + words) + 4 * short) as usize + 2;
        let place = |place: u64| (8 * (long + words) + 4 * place) as usize;
        let told = [1, 6, 7, 8].map(|at| self.number(place(at), 4));
        let [activities, record @ ..] = told;
        let record_bytes = self.number(place(10), 4);
        self.structure([long, words, short], head_bytes);
        self.written[word_at] = self.word_bytes as u8;
        let activities: Vec<[u64; 9]> = (0..activities).map(|_| self.numbers()).collect();
        while self.at < self.file.len() {
            let kind = self.file[self.at + (8 * (record[0] + record[1]) + 4 * record[2]) as usize];
            self.structure(record, record_bytes);
            match kind {
                2 => _ = self.put(4),
                4 => self.copy(64),
                _ => activities.iter().for_each(|activity| self.items(activity)),
            }
        }
        self.written
    }

    fn items(&mut self, [_, _, items, parts, has_count, bytes, counts @ ..]: &[u64; 9]) {
        let items = if *has_count > 0 { self.put(4) } else { *items };
        (0..items * parts).for_each(|_| self.structure(*counts, *bytes));
    }
}

#[test]
fn files_of_other_machines_have_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let printed = fs::read_to_string(data().join("sar.txt")).unwrap();
    let file = fs::read(data().join("sa20261126")).unwrap();
    let what = "sysstat: daily files of other machines beside sar";
    let has_sar = testkit::is_installed(what, "sar");
    let mut cases = 0;
    for (name, is_big_endian, word_bytes) in
        [("same", false, 8), ("little32", false, 4), ("big64", true, 8), ("big32", true, 4)]
    {
        let (at, written) = (0, Vec::new());
        let machine = Machine { file: &file, at, written, is_big_endian, word_bytes };
        let bytes = machine.file();
        assert_eq!(bytes == file, name == "same", "{name}");
        fs::write(folder.path().join(name), bytes).unwrap();
        for case in printed.split("$ sar ").skip(1) {
            let (options, theirs) = case.split_once('\n').unwrap();
            let line = format!("sysstat sar -f {name} {options}");
            assert_eq!(difference(&whit(&line, folder.path()), theirs), None, "{line}");
            cases += 1;
        }
        if has_sar {
            check_beside_sar(name, folder.path());
        }
    }
    assert_eq!(cases, 4 * 16);
}

/// The installed program shows the file, too, and as the one that it is made of.
fn check_beside_sar(name: &str, folder: &Path) {
    let words = ["-f", name, "-u", "ALL", "-r", "ALL", "-B", "-n", "TCP"];
    let theirs = run("sar", &words, folder);
    let ours = whit(&format!("sysstat sar {}", words.join(" ")), folder);
    assert_eq!(difference(&ours, &theirs), None, "{name}");
}
