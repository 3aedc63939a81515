//! Daily files of sysstat before 11.7.1, which do not say how they are laid out, made of
//! `testdata/sysstat/old-files.txt` for machines of either byte order and word size.

use std::fs;
use std::path::Path;

use crate::sadc::{data, difference, run, whit};

/// The names of the files.
pub(crate) const NAMES: [&str; 2] = ["sa-10.1.5", "sa-11.2.0"];

/// The first two bytes, as a number.
const MAGIC: u64 = 0xd596;
const RECORD: &str = "L2 W @8 c4";
const RECORD_BYTES: usize = 48;
const COMMENT_BYTES: usize = 64;

/// A machine of that byte order and word size, and the bytes that it writes.
struct Machine {
    is_big_endian: bool,
    word_bytes: usize,
    bytes: Vec<u8>,
}

impl Machine {
    fn put(&mut self, value: u64, bytes: usize) {
        match self.is_big_endian {
            true => self.bytes.extend(&value.to_be_bytes()[8 - bytes..]),
            false => self.bytes.extend(&value.to_le_bytes()[..bytes]),
        }
    }

    /// A structure of so many bytes: what each letter of its layout is stands in the file of the lines.
    fn structure<'a>(
        &mut self,
        layout: &str,
        bytes: usize,
        mut values: impl Iterator<Item = Value<'a>>,
    ) {
        let start = self.bytes.len();
        let align = |bytes: &mut Vec<u8>, to: usize| {
            bytes.resize(start + (bytes.len() - start).next_multiple_of(to), 0);
        };
        for run in layout.split(' ') {
            let (kind, count) = run.split_at(1);
            let count = if count.is_empty() { 1 } else { count.parse().unwrap() };
            let (aligned, size) = match kind {
                "L" => (16, 8),
                "l" => (8, 8),
                "W" => (16, self.word_bytes),
                "w" => (8, self.word_bytes),
                "J" => (16, 4),
                "I" => (8, 4),
                "i" => (4, 4),
                "c" => (1, 1),
                "@" => {
                    align(&mut self.bytes, count);
                    continue;
                }
                _ => {
                    let Some(Value::Text(text)) = values.next() else { panic!("{layout}") };
                    let end = self.bytes.len() + count;
                    self.bytes.extend(text.as_bytes());
                    self.bytes.resize(end, 0);
                    continue;
                }
            };
            for _ in 0..count {
                align(&mut self.bytes, aligned);
                let Some(Value::Number(number)) = values.next() else { panic!("{layout}") };
                self.put(number, size);
            }
        }
        assert!(self.bytes.len() <= start + bytes && values.next().is_none(), "{layout}");
        self.bytes.resize(start + bytes, 0);
    }
}

enum Value<'a> {
    Number(u64),
    Text(&'a str),
}

/// The values of a line in a step: `5000+25` is 5000, and 25 more in each.
fn values(line: &str, step: i64) -> impl Iterator<Item = Value<'_>> {
    line.split_whitespace().map(move |word| {
        let (first, more) = match word.find(['+', '-']) {
            Some(at) => word.split_at(at),
            None => (word, "0"),
        };
        match (first.parse::<i64>(), more.parse::<i64>()) {
            (Ok(first), Ok(more)) => Value::Number((first + more * step).cast_unsigned()),
            _ => Value::Text(word),
        }
    })
}

fn number(word: &str) -> usize {
    word.parse().unwrap()
}

/// An activity: its layout, the bytes of an item, and the lines of its items.
struct Activity<'a> {
    layout: String,
    bytes: usize,
    items: Vec<&'a str>,
}

/// Makes the file of these lines.
fn file(lines: &str, machine: &mut Machine) {
    let mut activities: Vec<Activity<'_>> = Vec::new();
    let mut descriptions: Vec<[u64; 5]> = Vec::new();
    for line in lines.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "magic" => {
                machine.put(MAGIC, 2);
                machine.put(u64::from_str_radix(words[2], 16).unwrap(), 2);
                machine.bytes.extend(words[3].split('.').map(|part| part.parse::<u8>().unwrap()));
                let bytes = number(words[1]);
                machine.bytes.push(0);
                if bytes > 8 {
                    let head = lines.lines().find_map(|line| line.strip_prefix("head ")).unwrap();
                    machine.put(number(head.split(' ').next().unwrap()) as u64, 4);
                }
                machine.bytes.resize(bytes, 0);
            }
            "head" => {
                let (layout, told) = line.split_once(": ").unwrap();
                let layout = layout.splitn(3, ' ').nth(2).unwrap();
                // The size of a word is that of the machine.
                let told = told.replacen(" 8 Linux", &format!(" {} Linux", machine.word_bytes), 1);
                machine.structure(layout, number(words[1]), values(&told, 0));
            }
            "activity" => {
                let format = u64::from_str_radix(words[2], 16).unwrap();
                let [id, items, parts, bytes] = [1, 3, 4, 5].map(|at| number(words[at]));
                descriptions.push([id as u64, format, items as u64, parts as u64, bytes as u64]);
                activities.push(Activity {
                    layout: words[6..].join(" "),
                    bytes,
                    items: Vec::new(),
                });
            }
            "record" => {
                for description in descriptions.drain(..) {
                    description.iter().for_each(|number| machine.put(*number, 4));
                }
                let (told, content) = line["record ".len()..].split_once(':').unwrap();
                machine.structure(RECORD, RECORD_BYTES, values(told, 0));
                record(content.trim(), &activities, machine);
            }
            _ => activities.last_mut().unwrap().items.push(line),
        }
    }
}

/// Writes what stands behind the header of a record.
fn record(content: &str, activities: &[Activity<'_>], machine: &mut Machine) {
    let (kind, rest) = content.split_once(' ').unwrap_or((content, ""));
    match kind {
        "values" => {
            for Activity { layout, bytes, items } in activities {
                for item in items {
                    machine.structure(layout, *bytes, values(item, rest.parse().unwrap()));
                }
            }
        }
        "comment" => {
            let end = machine.bytes.len() + COMMENT_BYTES;
            machine.bytes.extend(rest.as_bytes());
            machine.bytes.resize(end, 0);
        }
        _ => rest.split_whitespace().for_each(|word| machine.put(number(word) as u64, 4)),
    }
}

/// Makes the old files in a folder, as such a machine writes them.
pub(crate) fn write(folder: &Path, is_big_endian: bool, word_bytes: usize) {
    let lines = fs::read_to_string(data().join("old-files.txt")).unwrap();
    let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with('#')).collect();
    let lines = lines.join("\n");
    for part in lines.split("file ").skip(1) {
        let (name, lines) = part.split_once('\n').unwrap();
        let mut machine = Machine { is_big_endian, word_bytes, bytes: Vec::new() };
        file(lines, &mut machine);
        fs::write(folder.join(name), machine.bytes).unwrap();
    }
}

/// Files of machines of 32 bits and of the other byte order have the values of that of this machine,
/// which the next test compares with what the installed sysstat makes of it.
#[test]
fn old_files_of_other_machines_have_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    for (machine, is_big_endian, word_bytes) in
        [("own", false, 8), ("little32", false, 4), ("big64", true, 8), ("big32", true, 4)]
    {
        fs::create_dir(folder.path().join(machine)).unwrap();
        write(&folder.path().join(machine), is_big_endian, word_bytes);
        // What other tests read is made of the same lines.
        let kept = |name| fs::read(data().join(name)).unwrap();
        let made = |name| fs::read(folder.path().join(machine).join(name)).unwrap();
        assert!(NAMES.iter().all(|name| (kept(name) == made(name)) == (machine == "own")));
        for name in NAMES {
            for options in ["-A -C -P ALL", "-F", "-d"] {
                let show = |machine: &str| {
                    let file = format!("{machine}/{name}");
                    let bytes = fs::read(folder.path().join(&file)).unwrap();
                    (bytes, whit(&format!("sysstat sar -f {file} {options}"), folder.path()))
                };
                let ((own, expected), (other, shown)) = (show("own"), show(machine));
                assert!(expected.lines().count() > 10, "{expected}");
                assert_eq!(own == other, machine == "own");
                assert_eq!(difference(&shown, &expected), None, "{machine} {name} {options}");
            }
        }
    }
}

/// Both files have every activity of these versions that is read, with a number of its own in each field,
/// a comment and a restart.  The installed `sadf -c` makes files of today of them, in which what was not
/// recorded then is 0, where it is missing here.
#[test]
fn old_files_have_the_values_that_sadf_converts() {
    let what = "sysstat: old daily files beside sadf -c";
    if !testkit::is_installed(what, "sadf") || !testkit::is_installed(what, "sar") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), false, 8);
    for name in NAMES {
        let mut converting = std::process::Command::new("sadf");
        let converted = converting.arg("-c").arg(folder.path().join(name)).output().unwrap();
        assert!(converted.status.success(), "{}", String::from_utf8_lossy(&converted.stderr));
        fs::write(folder.path().join("new"), converted.stdout).unwrap();
        let mut lines = 0;
        for options in ["-A -C", "-u -P ALL", "-F", "-r ALL -S", "-d -p -n DEV,EDEV"] {
            let words: Vec<&str> = ["-f", "new"].into_iter().chain(options.split(' ')).collect();
            let theirs = run("sar", &words, folder.path());
            let ours = whit(&format!("sysstat sar -f {name} {options}"), folder.path());
            assert_eq!(ours.lines().count(), theirs.lines().count(), "{name} {options}:\n{ours}");
            for (ours, theirs) in ours.lines().zip(theirs.lines()) {
                // The names of disks are those of another machine.
                let theirs = theirs.replace(" sda", " dev8-0").replace(" sdb", " dev8-16");
                let pairs = ours.split_whitespace().zip(theirs.split_whitespace());
                let is_same = |(ours, theirs): (&str, &str)| {
                    ours == theirs || ours == "-" && ["0", "0.00"].contains(&theirs)
                };
                assert!(pairs.clone().all(is_same), "{name} {options}:\n{ours}\n{theirs}");
                lines += 1;
            }
        }
        assert!(lines >= 300, "{name}: {lines} lines");
    }
}
