//! The stacks of processes for `pidstat -s`: `/proc/PID/smaps` (proc(5)), the mapping `[stack]`.
//!
//! ```text
//! 7ffd1000-7ffd2000 rw-p 00000000 00:00 0     [stack]
//! Size:                132 kB
//! Referenced:           12 kB
//! ```
//!
//! One file for each process at each reading, which the kernel writes anew and which may have
//! thousands of lines; so it is read for `-s` only, up to its first 4 MiB.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

/// The most bytes of a file: some 5,000 mappings.
const BYTES_MAX: u64 = 4 << 20;

/// Size and referenced part of a stack, in KiB.
type Stack = [u64; 2];

/// The stacks of all processes at the latest reading and at the one before, and their sums.
#[derive(Default)]
pub(crate) struct Stacks {
    now: HashMap<String, Stack>,
    then: HashMap<String, Stack>,
    sums: HashMap<String, (Stack, u64)>,
}

impl Stacks {
    /// Reads the stacks of these processes; of those that end an `is_interval`, sums are kept.
    pub(crate) fn read(&mut self, root: &Path, processes: &[String], is_interval: bool) {
        let of = |process: &String| Some((process.clone(), stack_of(root, process)?));
        self.then = std::mem::replace(&mut self.now, processes.iter().filter_map(of).collect());
        if !is_interval {
            return;
        }
        // What has ended has no average.
        self.sums.retain(|process, _| self.now.contains_key(process));
        for (process, stack) in &self.now {
            let (sums, count) = self.sums.entry(process.clone()).or_default();
            sums.iter_mut().zip(stack).for_each(|(sum, kib)| *sum += kib);
            *count += 1;
        }
    }

    /// Whether a stack is new, or has another size or referenced part than at the reading before.
    pub(crate) fn has_changed(&self, process: &str) -> bool {
        let now = self.now.get(process);
        now.is_some_and(|now| *now != [0; 2]) && now != self.then.get(process)
    }

    /// The mean of a column of these, in KiB.
    pub(crate) fn value(&self, process: &str, title: &str, is_average: bool) -> Option<f64> {
        let place = ["StkSize", "StkRef"].iter().position(|own| *own == title)?;
        if !is_average {
            return self.now.get(process).map(|stack| stack[place] as f64);
        }
        let (sums, count) = self.sums.get(process)?;
        Some(sums[place] as f64 / (*count).max(1) as f64)
    }
}

/// The processes of this host, by their numbers.
pub(crate) fn processes_of(root: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join("proc")) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// The stack of a process; none if it has ended, or is one of the kernel.
fn stack_of(root: &Path, process: &str) -> Option<Stack> {
    let file = File::open(root.join("proc").join(process).join("smaps")).ok()?;
    let mut lines = BufReader::new(file.take(BYTES_MAX));
    let (mut line, mut is_stack, mut stack) = (Vec::new(), false, [None; 2]);
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if line.ends_with(b"[stack]\n") {
            is_stack = true;
        } else if is_stack {
            for (place, key) in ["Size:", "Referenced:"].iter().enumerate() {
                if let Some(rest) = line.strip_prefix(key.as_bytes()) {
                    let text = std::str::from_utf8(rest).ok()?;
                    stack[place] = text.split_whitespace().next()?.parse().ok();
                }
            }
            if let [Some(size), Some(referenced)] = stack {
                return Some([size, referenced]);
            }
        }
    }
}
