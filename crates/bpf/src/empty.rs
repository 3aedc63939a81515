//! Programs at the begin and the end of every system call that do nothing: the floor that a
//! benchmark of tracers needs (`programs/nothing.bpf.c`).
//!
//! While they are attached every call of the machine takes the kernel's slow way in and out and
//! runs two programs of two instructions.  Nobody who is told of calls by the kernel's tracepoints
//! can cost less.

use aya::{Ebpf, include_bytes_aligned};

use crate::{Error, KernelTypes};

/// The object made of `programs/nothing.bpf.c`.
static OBJECT: &[u8] = include_bytes_aligned!("../objects/nothing.bpf.o");

/// The programs, attached until this is dropped.
#[derive(Debug)]
pub struct EmptyPrograms {
    _programs: Ebpf,
}

impl EmptyPrograms {
    /// Loads and attaches them.
    ///
    /// # Errors
    /// Without permission, or when the kernel does not take the programs.
    pub fn open(kernel: &KernelTypes) -> Result<Self, Error> {
        let mut object = kernel.load(OBJECT)?;
        for (name, tracepoint) in [("leave", "sys_exit"), ("enter", "sys_enter")] {
            kernel.attach(&mut object, name, tracepoint)?;
        }
        Ok(EmptyPrograms { _programs: object })
    }
}
