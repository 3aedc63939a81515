//! An array map as memory shared with the kernel: reading it takes no system call.
//!
//! The kernel writes while we read, so values are copied out and never borrowed.  Each 64-bit word
//! is read whole, but words of one value may be of different moments.

use std::marker::PhantomData;
use std::os::fd::AsFd as _;

use aya::maps::Map;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::Error;

/// A mapped array of `T`, which consists of integers.
#[derive(Debug)]
pub(crate) struct MappedArray<T> {
    start: *const T,
    length: usize,
    bytes: usize,
    _values: PhantomData<T>,
}

// SAFETY: the memory is owned by this value alone, and only read, as integers.
unsafe impl<T: aya::Pod> Send for MappedArray<T> {}

impl<T: aya::Pod> MappedArray<T> {
    /// Maps an array of `length` values that was created with `BPF_F_MMAPABLE`.
    pub(crate) fn map(map: &Map, length: usize) -> Result<Self, Error> {
        // The kernel places values at multiples of eight bytes.
        assert!(size_of::<T>().is_multiple_of(8) && align_of::<T>() <= 8);
        let bytes = length * size_of::<T>();
        let Map::Array(map) = map else {
            return Err(Error::Refused("a map is not an array".to_owned()));
        };
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ,
                MapFlags::SHARED,
                map.fd().as_fd(),
                0,
            )
        };
        let start = start.map_err(|error| Error::Read(error.into()))?.cast_const().cast();
        Ok(MappedArray { start, length, bytes, _values: PhantomData })
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The first eight bytes of a value; `None` beyond the end.
    pub(crate) fn first_word(&self, index: usize) -> Option<u64> {
        // SAFETY: as in `read`; values are multiples of eight bytes, at multiples of eight.
        (index < self.length)
            .then(|| unsafe { self.start.add(index).cast::<u64>().read_volatile() })
    }

    /// A copy of one value; `None` beyond the end.
    pub(crate) fn read(&self, index: usize) -> Option<T> {
        // SAFETY: within the mapping, aligned, and every bit pattern is a value; volatile as the
        // kernel writes.
        (index < self.length).then(|| unsafe { self.start.add(index).read_volatile() })
    }
}

impl<T> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and nothing points into it any more.
        let _ = unsafe { munmap(self.start.cast_mut().cast(), self.bytes) };
    }
}
