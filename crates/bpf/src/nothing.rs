//! Programs at the begin and the end of every system call that do nothing: the floor that a
//! benchmark of tracers needs (`programs/nothing.bpf.c`).
//!
//! While they are attached every call of the machine takes the kernel's slow way in and out and
//! runs two programs of two instructions.  Nobody who is told of calls by the kernel's tracepoints
//! can cost less.

use aya::programs::BtfTracePoint;
use aya::{Ebpf, include_bytes_aligned};

use crate::{Error, Kernel};

/// The object made of `programs/nothing.bpf.c`.
static OBJECT: &[u8] = include_bytes_aligned!("../objects/nothing.bpf.o");

/// The programs, attached until this is dropped.
#[derive(Debug)]
pub struct Nothing {
    _programs: Ebpf,
}

impl Nothing {
    /// Loads and attaches them.
    ///
    /// # Errors
    /// Without permission, or when the kernel does not take the programs.
    pub fn open(kernel: &Kernel) -> Result<Self, Error> {
        let mut object = kernel.load(OBJECT)?;
        for (name, tracepoint) in [("leave", "sys_exit"), ("enter", "sys_enter")] {
            let program: &mut BtfTracePoint =
                kernel.program(&mut object, name, |program: &mut BtfTracePoint, types| {
                    program.load(tracepoint, types)
                })?;
            program.attach().map_err(|error| Error::from_loader(&error))?;
        }
        Ok(Nothing { _programs: object })
    }
}
