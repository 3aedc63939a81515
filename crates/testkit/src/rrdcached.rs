//! RRDtool's caching daemon, started for a test and ended with it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Running;

/// A running rrdcached; dropping it kills the daemon.
#[derive(Debug)]
pub struct Rrdcached(#[expect(dead_code, reason = "held so that it ends with this")] Running);

impl Rrdcached {
    /// Starts the daemon on the socket `socket` in a folder, which is also its base, and waits until
    /// it listens.  `None`, and a skip, if it is not installed.
    ///
    /// # Panics
    /// If the daemon does not listen within [`crate::PATIENCE`].
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        if !crate::is_installed("rrdcached", "rrdcached") {
            return None;
        }
        let socket = folder.join("socket");
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new("rrdcached");
        command.arg("-g").arg("-l").arg(&socket).arg("-p").arg(folder.join("pid"));
        command.arg("-b").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self(Running::start(&mut command));
        crate::connect(&socket);
        Some(daemon)
    }
}
