//! What file descriptors point to, as earlier calls have shown.
//!
//! Looking descriptors up (`/proc/PID/fd`) is exact while a task is stopped.  The engine in the
//! kernel hands events over later, so what earlier calls showed is used first.

use std::collections::HashMap;

use crate::event::Call;
use crate::{DescriptorTarget, Descriptors, Memory};

/// Most processes, and most descriptors of each, that are remembered; beyond them descriptors are
/// only looked up.
const PROCESSES_MAX: usize = 4096;
const DESCRIPTORS_MAX: usize = 1024;

/// What is known of a descriptor.
#[derive(Clone)]
struct KnownDescriptor {
    target: DescriptorTarget,
    closes_on_exec: bool,
}

/// Remembers what calls did to descriptors.
pub(super) struct Tracker {
    is_on: bool,
    processes: HashMap<i32, HashMap<i32, KnownDescriptor>>,
}

impl Tracker {
    pub(super) fn new(is_on: bool) -> Self {
        Tracker { is_on, processes: HashMap::new() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn target(
        &self,
        descriptors: &dyn Descriptors,
        process: i32,
        descriptor: i32,
        details: bool,
    ) -> Option<DescriptorTarget> {
        let known = || {
            let known = self.processes.get(&process)?.get(&descriptor)?;
            Some(known.target.clone())
        };
        let looked_up = || descriptors.target(process, descriptor, details);
        if descriptors.is_exact() { looked_up().or_else(known) } else { known().or_else(looked_up) }
    }

    /// A new process has the descriptors of its parent.
    pub(super) fn inherit(&mut self, parent: i32, process: i32) {
        if !self.is_on || parent == process || self.processes.len() >= PROCESSES_MAX {
            return;
        }
        if let Some(known) = self.processes.get(&parent).cloned() {
            self.processes.insert(process, known);
        }
    }

    pub(super) fn forget(&mut self, process: i32) {
        self.processes.remove(&process);
    }

    /// Updates the descriptors after a successful call.
    pub(super) fn observe(
        &mut self,
        process: i32,
        call: &Call,
        value: i64,
        memory: &dyn Memory,
        descriptors: &dyn Descriptors,
    ) {
        const CLOSES: u64 = libc::O_CLOEXEC as u64;
        let result = value as i32;
        let [first, second, third, ..] = call.arguments;
        let Some(name) = call.id.known_name() else { return };
        match name {
            "open" | "creat" | "openat" | "openat2" => {
                let is_at = name.starts_with("openat");
                let (folder, path_at) =
                    if is_at { (first as i32, second) } else { (libc::AT_FDCWD, first) };
                let flags = match name {
                    "open" => second,
                    "openat" => third,
                    _ => 0,
                };
                let target = self.opened(process, folder, path_at, memory, descriptors);
                self.set(process, result, target, flags & CLOSES != 0);
            }
            "dup" | "dup2" | "dup3" => {
                let target = self.target(descriptors, process, first as i32, false);
                self.set(process, result, target, name == "dup3" && third & CLOSES != 0);
            }
            "fcntl" | "fcntl64" => {
                let command = second as i32;
                if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
                    let target = self.target(descriptors, process, first as i32, false);
                    self.set(process, result, target, command == libc::F_DUPFD_CLOEXEC);
                }
            }
            "close" => {
                if let Some(known) = self.processes.get_mut(&process) {
                    known.remove(&(first as i32));
                }
            }
            "socket" | "accept" | "accept4" | "epoll_create" | "epoll_create1" | "eventfd"
            | "eventfd2" | "memfd_create" | "timerfd_create" | "signalfd" | "signalfd4" => {
                self.set(process, result, descriptors.target(process, result, false), false);
            }
            "pipe" | "pipe2" | "socketpair" => {
                let mut pair = [0; 8];
                let at = if name == "socketpair" { call.arguments[3] } else { first };
                if memory.read(at, &mut pair) == 8 {
                    for half in [0, 4] {
                        let number = i32::from_le_bytes([
                            pair[half],
                            pair[half + 1],
                            pair[half + 2],
                            pair[half + 3],
                        ]);
                        let target = descriptors.target(process, number, false);
                        self.set(process, number, target, false);
                    }
                }
            }
            "execve" | "execveat" => {
                if let Some(known) = self.processes.get_mut(&process) {
                    known.retain(|_, known| !known.closes_on_exec);
                }
            }
            _ => {}
        }
    }

    /// What an opened file is: looked up if that is exact, otherwise by its name.
    fn opened(
        &self,
        process: i32,
        folder: i32,
        path_at: u64,
        memory: &dyn Memory,
        descriptors: &dyn Descriptors,
    ) -> Option<DescriptorTarget> {
        let mut bytes = vec![0; crate::decode::PATH_MAX];
        let have = memory.read(path_at, &mut bytes);
        let end = bytes[..have.min(bytes.len())].iter().position(|&byte| byte == 0)?;
        bytes.truncate(end);
        if bytes.first() != Some(&b'/') {
            let mut path = self.target(descriptors, process, folder, false)?.path;
            if path != b"/" {
                path.push(b'/');
            }
            path.extend_from_slice(&bytes);
            bytes = path;
        }
        Some(DescriptorTarget { path: bytes, details: None })
    }

    fn set(
        &mut self,
        process: i32,
        descriptor: i32,
        target: Option<DescriptorTarget>,
        closes: bool,
    ) {
        if !self.processes.contains_key(&process) && self.processes.len() >= PROCESSES_MAX {
            return;
        }
        let known = self.processes.entry(process).or_default();
        match target {
            Some(target) if known.len() < DESCRIPTORS_MAX => {
                known.insert(descriptor, KnownDescriptor { target, closes_on_exec: closes });
            }
            _ => {
                known.remove(&descriptor);
            }
        }
    }
}
