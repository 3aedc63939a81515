//! Programs at `sys_enter` and `sys_exit` that do nothing: the least that any tracer at these
//! tracepoints can cost, for benchmarks (`programs/nothing.bpf.c`).
//!
//! While they are attached, every system call of the machine takes the kernel's slow path for
//! traced calls and runs two programs of two instructions each.

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
