//! Loads an object into the kernel: BTF of the kernel, relocation, verification.
//!
//! Parsing 5 MB of BTF takes 40 ms, and memory that is not needed afterwards.  The memory is returned
//! to the system, because a recorder's resident size is measured for weeks.  `aya` parses all types
//! for each new loader, whether the caller has parsed them already or not.  So objects without
//! settings share one loader, and of the types only those for attaching are parsed here.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use aya::maps::Map;
use aya::programs::{BtfTracePoint, Iter, Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, Endianness};

use crate::{attach_types, memory_limit};

/// Why a program cannot run in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel was built without BTF (`CONFIG_DEBUG_INFO_BTF`), or it may not be read.
    #[error("no BTF of this kernel in /sys/kernel/btf/vmlinux: {0}")]
    NoBtf(String),
    /// `bpf(2)` was refused: capabilities, lockdown or seccomp.
    #[error("not allowed to load BPF programs (CAP_BPF and CAP_PERFMON are needed): {0}")]
    Denied(String),
    /// This process is in a PID namespace of its own, so the kernel's process numbers are not the
    /// ones that it sees.
    #[error(
        "in a PID namespace of its own, where the kernel's process numbers mean other processes"
    )]
    Namespace,
    /// Reading the kernel's types would take more memory than a limit leaves.
    #[error(
        "loading BPF programs takes {} MiB of memory for a moment, and {what} leaves {}",
        need_bytes >> 20, left_bytes >> 20
    )]
    Memory {
        /// The bytes that it would take.
        need_bytes: u64,
        /// The bytes that are left.
        left_bytes: u64,
        /// The limit.
        what: &'static str,
    },
    /// The verifier or the loader rejected the program.
    #[error("the kernel rejects the program: {0}")]
    Refused(String),
    /// The kernel does not list where a variable is (`CONFIG_KALLSYMS_ALL`), or hides it.
    #[error(
        "/proc/kallsyms does not show `{0}` (CONFIG_KALLSYMS_ALL, CAP_SYSLOG and \
         kernel.kptr_restrict below 2 are needed)"
    )]
    NoSymbol(&'static str),
    /// There is no unified hierarchy of control groups to which programs could be attached.
    #[error("no control groups of version 2 are mounted: mount -t cgroup2 none /sys/fs/cgroup")]
    NoControlGroups,
    /// Reading from a loaded program failed.
    #[error("reading from a BPF program: {0}")]
    Read(io::Error),
}

impl Error {
    /// Tells a missing permission ([`Error::Denied`]) from every other cause ([`Error::Refused`]).
    pub(crate) fn from_loader(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut cause = Some(error);
        // The verifier's log can be thousands of lines long; the first says what was tried.
        let mut text = error.to_string().lines().next().unwrap_or_default().to_owned();
        let mut verified = false;
        while let Some(inner) = cause {
            if let Some(os) = inner.downcast_ref::<io::Error>() {
                let number = os.raw_os_error().unwrap_or(0);
                if number == libc::EPERM || number == libc::EACCES && !verified {
                    return Error::Denied(os.to_string());
                }
            }
            // The verifier too answers EACCES, but with a log.
            if let Some(ProgramError::LoadError { verifier_log, .. }) = inner.downcast_ref() {
                let log = verifier_log.to_string();
                verified = !log.is_empty();
                if let Some(line) = log.lines().rev().find(|line| is_verdict(line)) {
                    text = format!("{text}: {line}");
                }
            }
            cause = inner.source();
            if let Some(inner) = cause {
                let inner = inner.to_string();
                text = format!("{text}: {}", inner.lines().next().unwrap_or_default());
            }
        }
        Error::Refused(text)
    }
}

/// Whether a line of the verifier's log gives the reason of a rejection: neither an instruction nor
/// a statistic.
fn is_verdict(line: &str) -> bool {
    let walked = line.starts_with(|c: char| c.is_ascii_digit() || c == ';');
    let counted = ["verification time", "stack depth", "processed "];
    !line.is_empty() && !walked && !counted.iter().any(|start| line.starts_with(start))
}

/// Most attempts to load a program while signals interrupt the verifier.
const LOAD_ATTEMPTS: u32 = 20;

/// Whether a signal interrupted the verifier.
fn is_interrupted(error: &ProgramError) -> bool {
    matches!(error, ProgramError::LoadError { io_error, .. }
        if io_error.kind() == io::ErrorKind::WouldBlock)
}

/// The array in which programs measure their run time; objects may have one.
pub(crate) const RUN_TIMES: &str = "run_times";

/// The elements of `run_times` for a CPU: one for each program.
pub(crate) const RUN_TIMES_OF_A_CPU: usize = 4;

/// The elements of `run_times` in all.
pub(crate) fn run_times() -> Result<u32, Error> {
    let cpus = aya::util::nr_cpus().map_err(|(_, error)| Error::Read(error))?;
    Ok(u32::try_from(cpus * RUN_TIMES_OF_A_CPU).unwrap_or(u32::MAX))
}

/// The inode of the initial PID namespace (`PROC_PID_INIT_INO` of linux/proc_ns.h).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Fails in a PID namespace other than the initial one.
fn check_namespace() -> Result<(), Error> {
    match rustix::fs::stat("/proc/self/ns/pid") {
        Ok(status) if status.st_ino != FIRST_NAMESPACE => Err(Error::Namespace),
        // A kernel without namespaces has only one.
        _ => Ok(()),
    }
}

/// The running kernel's types, by which programs are relocated and attached.  Drop it when all are
/// loaded: it takes 30 MB.
pub struct KernelTypes {
    /// The types for attaching; `None` only while this is dropped.
    types: Option<Btf>,
    /// The loader of objects without settings.
    shared: RefCell<Option<EbpfLoader<'static>>>,
}

/// The kernel's BTF.
const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// Bytes of memory for each byte of the kernel's types: `aya` parses all of them.  With 5.5 MB of
/// types a recorder of processes has a peak of 43.5 MB.
const MEMORY_OF_TYPES: u64 = 8;

/// Fails where a limit leaves less memory than reading the kernel's types takes.
fn check_memory() -> Result<(), Error> {
    let Some((left_bytes, what)) = memory_limit::left() else { return Ok(()) };
    // A kernel without types says so below.
    let types_bytes = std::fs::metadata(KERNEL_BTF).map_or(0, |facts| facts.len());
    let need_bytes = types_bytes * MEMORY_OF_TYPES;
    match left_bytes < need_bytes {
        true => Err(Error::Memory { need_bytes, left_bytes, what }),
        false => Ok(()),
    }
}

impl KernelTypes {
    /// Reads the kernel's BTF.
    ///
    /// # Errors
    /// [`Error::NoBtf`], and [`Error::Namespace`] in a PID namespace of its own.
    pub fn open() -> Result<Self, Error> {
        check_namespace()?;
        check_memory()?;
        let whole = std::fs::read(KERNEL_BTF).map_err(|error| Error::NoBtf(error.to_string()))?;
        // A newer format may have kinds of types that only `aya` knows.
        let reduced = attach_types::reduced(&whole);
        let types = Btf::parse(reduced.as_ref().unwrap_or(&whole), Endianness::default());
        let types = types.map_err(|error| Error::NoBtf(error.to_string()))?;
        Ok(KernelTypes { types: Some(types), shared: RefCell::new(None) })
    }

    /// Creates an object's maps and relocates its programs for this kernel.
    pub(crate) fn load(&self, object: &[u8]) -> Result<Ebpf, Error> {
        let elements = run_times()?;
        let mut shared = self.shared.borrow_mut();
        let loader = shared.get_or_insert_with(EbpfLoader::new);
        loader.map_max_entries(RUN_TIMES, elements);
        loader.load(object).map_err(|error| Error::from_loader(&error))
    }

    /// As [`load`](Self::load); `set` sets globals and map sizes before, for this object alone.
    pub(crate) fn load_with<'a>(
        &self,
        object: &[u8],
        set: impl FnOnce(&mut EbpfLoader<'a>),
    ) -> Result<Ebpf, Error> {
        let elements = run_times()?;
        let mut loader = EbpfLoader::new();
        loader.map_max_entries(RUN_TIMES, elements);
        set(&mut loader);
        loader.load(object).map_err(|error| Error::from_loader(&error))
    }

    /// Loads the program `name` of `object`; `load` is the call that its program type needs.
    ///
    /// The verifier returns EAGAIN while a signal is pending (`do_check` of kernel/bpf/verifier.c),
    /// as when a child ends meanwhile: the program is valid, so it is loaded again.
    pub(crate) fn program<'a, P>(
        &self,
        object: &'a mut Ebpf,
        name: &str,
        load: impl Fn(&mut P, &Btf) -> Result<(), ProgramError>,
    ) -> Result<&'a mut P, Error>
    where
        &'a mut P: TryFrom<&'a mut Program, Error = ProgramError>,
    {
        let absent = || Error::Refused(format!("the object has no program `{name}`"));
        let program: &mut P = object
            .program_mut(name)
            .ok_or_else(absent)?
            .try_into()
            .map_err(|error| Error::from_loader(&error))?;
        let types = self.types.as_ref().ok_or_else(absent)?;
        let mut loaded = load(program, types);
        for _ in 1..LOAD_ATTEMPTS {
            match &loaded {
                Err(error) if is_interrupted(error) => loaded = load(program, types),
                _ => break,
            }
        }
        loaded.map_err(|error| Error::from_loader(&error))?;
        Ok(program)
    }

    /// Loads the program `name` of `object` and attaches it to a tracepoint.  It is detached when
    /// the object is dropped.
    pub(crate) fn attach(
        &self,
        object: &mut Ebpf,
        name: &str,
        tracepoint: &str,
    ) -> Result<(), Error> {
        let program: &mut BtfTracePoint =
            self.program(object, name, |program: &mut BtfTracePoint, types| {
                program.load(tracepoint, types)
            })?;
        program.attach().map_err(|error| Error::from_loader(&error))?;
        Ok(())
    }

    /// Loads the iterator `name` of `object` over `what` (`task`, `task_file`), for
    /// [`open_iterator`] to open.
    pub(crate) fn iterator(
        &self,
        object: &mut Ebpf,
        name: &str,
        what: &str,
    ) -> Result<OwnedFd, Error> {
        let program: &mut Iter =
            self.program(object, name, |program: &mut Iter, types| program.load(what, types))?;
        let program = program.fd().map_err(|error| Error::from_loader(&error))?;
        link_iterator(program.as_fd()).map_err(|error| Error::from_loader(&error))
    }
}

/// Takes a map out of an object.  Load the object's programs before: loading them needs the
/// descriptors of its maps.
pub(crate) fn take_map(object: &mut Ebpf, name: &str) -> Result<Map, Error> {
    object.take_map(name).ok_or_else(|| Error::Refused(format!("no map `{name}`")))
}

impl Drop for KernelTypes {
    /// Returns the memory to the system.
    fn drop(&mut self) {
        self.types = None;
        *self.shared.borrow_mut() = None;
        heap::return_free_memory();
    }
}

/// `BPF_ITER_CREATE` and `BPF_LINK_CREATE`, commands of `bpf(2)`.
const ITER_CREATE: libc::c_long = 33;
const LINK_CREATE: libc::c_long = 28;
/// `BPF_TRACE_ITER`.
const TRACE_ITER: u32 = 28;

/// Attaches a loaded iterator program.
fn link_iterator(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // prog_fd, target_fd, attach_type and flags; the rest of the union is zero.
    let mut attributes = [0_u32; 16];
    attributes[0] = program.as_raw_fd().cast_unsigned();
    attributes[2] = TRACE_ITER;
    bpf(LINK_CREATE, &attributes)
}

/// Opens the iterator's file.  It can be read once, from its beginning to its end.
pub(crate) fn open_iterator(link: &OwnedFd) -> io::Result<OwnedFd> {
    // link_fd, flags.
    bpf(ITER_CREATE, &[link.as_fd().as_raw_fd().cast_unsigned(), 0])
}

/// `BPF_MAP_LOOKUP_BATCH`.
const MAP_LOOKUP_BATCH: libc::c_long = 24;

/// Copies elements of a hash map, from where the last call stopped (`from`; `None` at the
/// beginning).  Returns how many, and where to go on; `None` at the end.
pub(crate) fn elements<K: aya::Pod, V: aya::Pod>(
    map: BorrowedFd<'_>,
    from: Option<u32>,
    keys: &mut [K],
    values: &mut [V],
) -> io::Result<(usize, Option<u32>)> {
    let (start, mut next) = (from.unwrap_or(0), 0_u32);
    let room = keys.len().min(values.len()) as u64;
    // in_batch, out_batch, keys, values, count and map_fd, elem_flags, flags.
    let mut attributes = [
        from.map_or(0, |_| (&raw const start).expose_provenance() as u64),
        (&raw mut next).expose_provenance() as u64,
        keys.as_mut_ptr().expose_provenance() as u64,
        values.as_mut_ptr().expose_provenance() as u64,
        room & u64::from(u32::MAX) | u64::from(map.as_raw_fd().cast_unsigned()) << 32,
        0,
        0,
    ];
    // SAFETY: the kernel reads and writes the attributes, writes one word to `next`, and at most
    // `room` elements to `keys` and `values`, whose types are as long as those of the map: any bits
    // are values of them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            MAP_LOOKUP_BATCH,
            attributes.as_mut_ptr(),
            size_of_val(&attributes),
        )
    };
    let count = ((attributes[4] & u64::from(u32::MAX)) as usize).min(keys.len());
    let error = io::Error::last_os_error();
    match result {
        0.. => Ok((count, Some(next))),
        // The end of the map.
        _ if error.raw_os_error() == Some(libc::ENOENT) => Ok((count, None)),
        _ => Err(error),
    }
}

/// `BPF_PROG_TEST_RUN`.
const PROG_TEST_RUN: libc::c_long = 10;

/// Runs a `raw_tp` program once, on this CPU, with one argument.
pub(crate) fn run_once(program: RawFd, argument: u64) -> io::Result<()> {
    let arguments = [argument];
    // prog_fd, and at byte 40 the size and at byte 48 the address of the context.
    let mut attributes = [0_u64; 10];
    attributes[0] = u64::from(program.cast_unsigned());
    attributes[5] = size_of_val(&arguments) as u64;
    attributes[6] = arguments.as_ptr().expose_provenance() as u64;
    // SAFETY: the kernel reads `size_of_val` bytes of the attributes, and of the arguments as many
    // as these say; it writes the program's result into the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            PROG_TEST_RUN,
            attributes.as_mut_ptr(),
            size_of_val(&attributes),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Runs a command of `bpf(2)` that returns a file descriptor.
fn bpf(command: libc::c_long, attributes: &[u32]) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `size_of_val` bytes of the attributes and writes none.
    let descriptor = unsafe {
        libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), size_of_val(attributes))
    };
    match i32::try_from(descriptor) {
        // SAFETY: the kernel has just made this descriptor for us alone.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}
