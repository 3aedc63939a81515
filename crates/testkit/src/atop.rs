//! atop, whose package has a service.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program of atop's package (`atop`, `atopconvert`), as installed or as `.ci/run` unpacks it.  If
/// none starts, says that `what` is left out, and returns `None`.
#[must_use]
pub fn atop(what: &str, program: &str) -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/atop");
    let paths = [PathBuf::from("/"), unpacked].map(|root| root.join("usr/bin").join(program));
    let starts = |path: &PathBuf| {
        let mut command = Command::new(path);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // One prints its version, the other how it is used.
        command.arg("-V").status().is_ok_and(|status| status.code().is_some())
    };
    let found = paths.into_iter().find(|path| path.exists() && starts(path));
    if found.is_none() {
        crate::skip(what, "neither installed nor unpacked");
    }
    found
}
