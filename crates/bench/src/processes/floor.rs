//! The least cost of reading processes: a plain walk of `/proc`, and a bare pass of the kernel's
//! iterator; neither uses what it reads.

use std::io;

use crate::contest::Measurement;
use crate::measure::measure;

/// Files that a walk reads of each process.
const FILES: [&str; 3] = ["stat", "status", "io"];

/// Walks `/proc` `passes` times, and reads three files of each process.  Also returns the number of
/// processes of the last pass.
pub(crate) fn walk(passes: u64) -> io::Result<(Measurement, usize)> {
    let mut buffer = vec![0; 16 * 1024];
    let mut processes = 0;
    let measurement = measured(|| {
        for _ in 0..passes {
            processes = 0;
            for entry in std::fs::read_dir("/proc")? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                if !name.iter().all(u8::is_ascii_digit) {
                    continue;
                }
                processes += 1;
                for file in FILES {
                    // A process that ends meanwhile has no files.
                    if let Ok(file) = std::fs::File::open(path.join(file)) {
                        let _ = rustix::io::pread(&file, buffer.as_mut_slice(), 0);
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok((measurement, processes))
}

/// Runs the kernel's iterator `passes` times.
pub(crate) fn iterate(tasks: &mut bpf::TaskIterator, passes: u64) -> io::Result<Measurement> {
    measured(|| {
        for _ in 0..passes {
            let mut sum = 0_u64;
            tasks.pass(|task, _| sum = sum.wrapping_add(task.run_ns)).map_err(io::Error::other)?;
            std::hint::black_box(sum);
        }
        Ok(())
    })
}

fn measured(work: impl FnOnce() -> io::Result<()>) -> io::Result<Measurement> {
    let (done, measurement) = measure(work);
    done.map(|()| measurement)
}
