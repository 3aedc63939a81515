//! Restores the files of processes in `/proc` from a collectl recording.
//!
//! ```text
//! proc:42 stat 42 (httpd) S 1 …        → /proc/42/stat
//! proc:42 Tgid:   42                   → /proc/42/status, of which collectl records some lines
//! proc:42 cmd /usr/sbin/httpd -k start → /proc/42/cmdline, with blanks for zeros
//! proc:42 io rchar: 0                  → /proc/42/io
//! procT:43 stat 43 (httpd) S 1 …       → /proc/42/task/43/stat, after its `Tgid:`
//! ```
//!
//! A name with a newline continues in a second line of the same kind; both are joined.  Versions
//! before 3.0 have no `Tgid:`; their threads appear as processes.

use std::collections::HashMap;

use procfs::Host;

/// The most processes and threads of an interval: the limit of the kernel.
const TASKS_MAX: usize = 1 << 22;

/// The most text of one file of a process; a command line is the longest.
const FILE_BYTES_MAX: usize = 64 * 1024;

/// The files of a process, and what collectl calls their lines.
const FILES: [&str; 4] = ["stat", "status", "io", "cmdline"];
const STAT: usize = 0;
const STATUS: usize = 1;
const IO: usize = 2;
const COMMAND_LINE: usize = 3;

/// A process or thread.
#[derive(Default)]
struct Task {
    texts: [Vec<u8>; FILES.len()],
    /// The folder of its files, if the host has any of them.
    folder: Option<String>,
    /// The latest interval that has it.
    interval: u64,
}

/// The processes of an interval.
#[derive(Default)]
pub(super) struct Processes {
    /// The key is: whether it is a thread other than the first, and its id.
    tasks: HashMap<(bool, u32), Task>,
    interval: u64,
    any: bool,
}

impl Processes {
    /// Begins an interval.
    pub(super) fn begin(&mut self) {
        self.interval += 1;
        self.any = false;
    }

    /// Whether the interval has any.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Takes a line: its tag (`proc:42`), and the rest.
    pub(super) fn add_line(&mut self, tag: &[u8], rest: &[u8]) {
        let Some(tag) = tag.strip_prefix(b"proc") else { return };
        let is_thread = tag.starts_with(b"T");
        let number = if is_thread { &tag[1..] } else { tag };
        let number = number.strip_prefix(b":").and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(number) = number.and_then(|digits| digits.parse::<u32>().ok()) else { return };
        let key = (is_thread, number);
        if self.tasks.len() >= TASKS_MAX && !self.tasks.contains_key(&key) {
            return;
        }
        let task = self.tasks.entry(key).or_default();
        if task.interval != self.interval {
            task.interval = self.interval;
            task.texts.iter_mut().for_each(Vec::clear);
        }
        self.any = true;
        let (file, line) = match rest {
            [b's', b't', b'a', b't', b' ', line @ ..] => (STAT, line),
            [b'i', b'o', b' ', line @ ..] => (IO, line),
            [b'c', b'm', b'd', b' ', line @ ..] => (COMMAND_LINE, line),
            line => (STATUS, line),
        };
        let text = &mut task.texts[file];
        if text.len() + line.len() < FILE_BYTES_MAX {
            // The last line of a command line has no end.
            if file == COMMAND_LINE && !text.is_empty() {
                text.push(b'\n');
            }
            text.extend_from_slice(line);
            if file != COMMAND_LINE {
                text.push(b'\n');
            }
        }
    }

    /// Puts the interval's files into the host; removes those of processes that are gone.
    pub(super) fn put_into(&mut self, host: &mut Host) {
        let interval = self.interval;
        if !self.any {
            // Processes are not in every interval; the files stay until the next one that has them.
            return;
        }
        self.tasks.retain(|&(is_thread, number), task| {
            let is_here = task.interval == interval;
            let folder = is_here.then(|| folder_of(is_thread, number, &task.texts[STATUS]));
            if task.folder != folder
                && let Some(old) = task.folder.take()
            {
                FILES.iter().for_each(|file| host.put(&format!("{old}/{file}"), None));
            }
            if let Some(folder) = &folder {
                for (file, text) in FILES.iter().zip(&task.texts) {
                    let text = (!text.is_empty()).then_some(text.as_slice());
                    host.put(&format!("{folder}/{file}"), text);
                }
            }
            task.folder = folder;
            is_here
        });
    }
}

/// The folder of the files of a process or thread.
fn folder_of(is_thread: bool, number: u32, status: &[u8]) -> String {
    let mut lines = status.split(|&byte| byte == b'\n');
    let group = lines.find_map(|line| line.strip_prefix(b"Tgid:")).filter(|_| is_thread);
    let group = group.and_then(|text| std::str::from_utf8(text).ok()?.trim().parse::<u32>().ok());
    match group.filter(|&group| group != number) {
        Some(group) => format!("/proc/{group}/task/{number}"),
        None => format!("/proc/{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_lines(processes: &mut Processes, lines: &[&str]) {
        for line in lines {
            let (tag, rest) = line.split_once(' ').unwrap();
            processes.add_line(tag.as_bytes(), rest.as_bytes());
        }
    }

    fn read(host: &mut Host, path: &str) -> Option<String> {
        let text = host.read_once(path).ok()?;
        Some(String::from_utf8(text).unwrap())
    }

    #[test]
    fn lines_go_back_to_their_files() {
        let (mut processes, mut host) = (Processes::default(), Host::in_memory());
        processes.begin();
        add_lines(
            &mut processes,
            &[
                "proc:42 stat 42 (httpd) S 1 42",
                "proc:42 Tgid:\t42",
                "proc:42 VmSize:\t  100 kB",
                "proc:42 cmd /usr/sbin/httpd -k start ",
                "proc:42 io rchar: 5",
                "proc:42 io wchar: 6",
                "proc:7 stat 7 (new",
                "proc:7 stat line) S 1 7",
                "procT:43 stat 43 (worker) S 1 42",
                "procT:43 Tgid:\t42",
                "procT:44 stat 44 (old) S 1 42",
                "proc:x stat 1 (bad) S",
                "proc:99999999999 stat 1 (bad) S",
            ],
        );
        assert!(processes.any());
        processes.put_into(&mut host);
        assert_eq!(read(&mut host, "/proc/42/stat").unwrap(), "42 (httpd) S 1 42\n");
        assert_eq!(read(&mut host, "/proc/42/status").unwrap(), "Tgid:\t42\nVmSize:\t  100 kB\n");
        assert_eq!(read(&mut host, "/proc/42/cmdline").unwrap(), "/usr/sbin/httpd -k start ");
        assert_eq!(read(&mut host, "/proc/42/io").unwrap(), "rchar: 5\nwchar: 6\n");
        assert_eq!(read(&mut host, "/proc/7/stat").unwrap(), "7 (new\nline) S 1 7\n");
        assert_eq!(read(&mut host, "/proc/7/io"), None);
        assert_eq!(read(&mut host, "/proc/42/task/43/stat").unwrap(), "43 (worker) S 1 42\n");
        assert_eq!(read(&mut host, "/proc/44/stat").unwrap(), "44 (old) S 1 42\n");
    }

    #[test]
    fn who_is_gone_has_no_files() {
        let (mut processes, mut host) = (Processes::default(), Host::in_memory());
        processes.begin();
        add_lines(
            &mut processes,
            &["proc:1 stat 1 (a) S", "proc:2 stat 2 (b) S", "proc:2 io rchar: 1"],
        );
        processes.put_into(&mut host);
        processes.begin();
        processes.put_into(&mut host);
        assert!(read(&mut host, "/proc/1/stat").is_some(), "an interval without processes");
        processes.begin();
        add_lines(&mut processes, &["proc:2 stat 2 (c) S"]);
        processes.put_into(&mut host);
        assert_eq!(read(&mut host, "/proc/1/stat"), None);
        assert_eq!(read(&mut host, "/proc/2/stat").unwrap(), "2 (c) S\n");
        assert_eq!(read(&mut host, "/proc/2/io"), None, "not told again");
    }
}
