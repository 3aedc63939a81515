//! Bytes and packets of IP by process, counted as each packet passes (`programs/net.bpf.c`).
//!
//! The programs are attached at the root of the unified hierarchy of control groups, so they see
//! the packets of every socket, in every network namespace.  Each packet pays for two lookups and
//! two additions, sent ones of TCP for two copies more; the head of the program says whose a packet
//! is.  Reading costs a system call for 512 processes, and a search for the owners of sockets a pass
//! over all open files, which is made when there is a socket without an owner.
//!
//! The programs change and hold back nothing; dropping [`ProcessNet`] detaches them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use aya::maps::{HashMap, IterableMap as _, Map, MapData};
use aya::programs::{CgroupAttachMode, CgroupSkb, CgroupSkbAttachType, CgroupSock};
use aya::{Ebpf, include_bytes_aligned};

use crate::loader::{elements, open_iterator, take_map};
use crate::mapped::MappedArray;
use crate::{Error, KernelTypes};

/// The object made of `programs/net.bpf.c`.
static OBJECT: &[u8] = include_bytes_aligned!("../objects/net.bpf.o");

/// Bytes and packets: of TCP, UDP and everything else, received before sent.
pub type NetCounts = [u64; 12];

/// Elements that one system call copies.  The kernel copies whole buckets, which hold one or two.
const BATCH: usize = 512;

/// A process, and what its sockets received and sent (`struct owner` of the program).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NetOwner {
    /// Since the process was first seen.
    pub counts: NetCounts,
    /// When its first thread began, on `CLOCK_BOOTTIME`.
    pub start_boottime_ns: u64,
    /// Id of its control group in the unified hierarchy.
    pub cgroup: u64,
    /// The process.
    pub pid: i32,
    /// The real user id.
    pub uid: u32,
    /// The name (`comm`), ended by a zero byte unless it fills all bytes.
    pub command: [u8; 16],
}

const NOBODY: NetOwner =
    NetOwner { counts: [0; 12], start_boottime_ns: 0, cgroup: 0, pid: 0, uid: 0, command: [0; 16] };

/// `struct cpu` of the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CpuState {
    unowned: NetCounts,
    moved: NetCounts,
    sought: u64,
    owners_lost: u64,
    sockets_lost: u64,
    unused: [u64; 5],
}

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl aya::Pod for NetOwner {}
// SAFETY: as above.
unsafe impl aya::Pod for CpuState {}

/// What belongs to no process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unowned {
    /// What passed by sockets without an owner.  It shrinks when an owner is found: its packets
    /// are then in that owner's counts.
    pub counts: NetCounts,
    /// Sockets without an owner that were seen.
    pub sockets: u64,
    /// Times that a process did not fit in the map of 16,384.
    pub owners_lost: u64,
    /// Packets whose socket got no memory for its owner.
    pub sockets_lost: u64,
}

/// The attached programs and their counts.
pub struct ProcessNet {
    owners: HashMap<MapData, u64, NetOwner>,
    cpus: MappedArray<CpuState>,
    files: OwnedFd,
    keys: Box<[u64]>,
    values: Box<[NetOwner]>,
    // Dropping it detaches the programs.
    _object: Ebpf,
}

impl ProcessNet {
    /// Loads the programs and attaches them to the control group in this folder, the root of the
    /// unified hierarchy; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::NoControlGroups`] without a hierarchy, [`Error::Denied`] without permission;
    /// [`Error::Refused`] when the kernel rejects a program.
    pub fn open(kernel: &KernelTypes, root: Option<&Path>) -> Result<Self, Error> {
        let root = File::open(root.ok_or(Error::NoControlGroups)?).map_err(Error::Read)?;
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| Error::Read(error))?;
        let elements = u32::try_from(cpus).unwrap_or(u32::MAX);
        let mut object = kernel.load_with(OBJECT, |loader| {
            loader.map_max_entries("cpus", elements);
        })?;
        let files = kernel.iterator(&mut object, "files", "task_file")?;
        let program: &mut CgroupSock =
            kernel.program(&mut object, "created", |program: &mut CgroupSock, _| program.load())?;
        let attached = program.attach(&root, CgroupAttachMode::Single);
        attached.map_err(|error| Error::from_loader(&error))?;
        let directions =
            [("received", CgroupSkbAttachType::Ingress), ("sent", CgroupSkbAttachType::Egress)];
        for (name, direction) in directions {
            let program: &mut CgroupSkb =
                kernel.program(&mut object, name, |program: &mut CgroupSkb, _| program.load())?;
            let attached = program.attach(&root, direction, CgroupAttachMode::Single);
            attached.map_err(|error| Error::from_loader(&error))?;
        }
        let owners: Map = take_map(&mut object, "owners")?;
        Ok(ProcessNet {
            owners: owners.try_into().map_err(|error| Error::from_loader(&error))?,
            cpus: MappedArray::map(&take_map(&mut object, "cpus")?, cpus)?,
            files,
            keys: vec![0; BATCH].into(),
            values: vec![NOBODY; BATCH].into(),
            _object: object,
        })
    }

    /// Calls `each` with every process that has had a socket, and the key to
    /// [`forget`](Self::forget) it by.  Returns the number of system calls made.
    ///
    /// # Errors
    /// When the map cannot be read.
    pub fn each(&mut self, mut each: impl FnMut(u64, &NetOwner)) -> Result<u64, Error> {
        let (mut from, mut calls) = (None, 0);
        loop {
            calls += 1;
            let map = self.owners.map().fd().as_fd();
            let (count, next) =
                elements(map, from, &mut self.keys, &mut self.values).map_err(Error::Read)?;
            self.keys
                .iter()
                .zip(&self.values)
                .take(count)
                .for_each(|(key, owner)| each(*key, owner));
            match next {
                Some(_) => from = next,
                None => return Ok(calls),
            }
        }
    }

    /// Removes a process.  What its sockets still receive and send has no owner, until one is
    /// found.
    ///
    /// # Errors
    /// When it is not in the map.
    pub fn forget(&mut self, key: u64) -> Result<(), Error> {
        self.owners.remove(&key).map_err(|error| Error::from_loader(&error))
    }

    /// The packets without an owner, summed over all CPUs.  Makes no system call.
    #[must_use]
    pub fn unowned(&self) -> Unowned {
        let mut sum = Unowned::default();
        for cpu in (0..self.cpus.len()).filter_map(|number| self.cpus.read(number)) {
            let counts = cpu.unowned.iter().zip(cpu.moved);
            for (sum, (unowned, moved)) in sum.counts.iter_mut().zip(counts) {
                // On one CPU more may be moved than came; the sum is right.
                *sum = sum.wrapping_add(*unowned).wrapping_sub(moved);
            }
            sum.sockets += cpu.sought;
            sum.owners_lost += cpu.owners_lost;
            sum.sockets_lost += cpu.sockets_lost;
        }
        // The kernel counts while we read: what was moved meanwhile may exceed what came before.
        for count in &mut sum.counts {
            *count = if *count > u64::MAX / 2 { 0 } else { *count };
        }
        sum
    }

    /// Looks through all open files for the owners of sockets that have none.  Their packets are
    /// moved to them with the next one.
    ///
    /// # Errors
    /// When the kernel does not run the pass.
    pub fn search(&mut self) -> Result<(), Error> {
        let file = open_iterator(&self.files).map_err(Error::Read)?;
        let mut nothing = [0; 8];
        loop {
            match rustix::io::read(&file, &mut nothing) {
                // The kernel interrupts a pass that shows nothing after a million files.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(Error::Read(io::Error::from(error))),
            }
        }
    }
}
