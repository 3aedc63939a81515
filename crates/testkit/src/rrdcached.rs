//! RRDtool's caching daemon, started for a test and ended with it.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running rrdcached; dropping it kills the daemon.
#[derive(Debug)]
pub struct Rrdcached(Child);

impl Rrdcached {
    /// Starts the daemon on the socket `socket` in a folder, which is also its base, and waits until
    /// it listens.  `None`, and a skip, if it is not installed.
    ///
    /// # Panics
    /// If the daemon does not listen within 20 s.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let socket = folder.join("socket");
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new("rrdcached");
        command.arg("-g").arg("-l").arg(&socket).arg("-p").arg(folder.join("pid"));
        command.arg("-b").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            crate::skip("rrdcached", "it is not installed");
            return None;
        };
        let daemon = Self(child);
        let begun = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "rrdcached does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(daemon)
    }
}

impl Drop for Rrdcached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
