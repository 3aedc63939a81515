//! collectd, which uses RRDtool's library and its caching daemon.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program, the folder of its plugins and its list of types, as installed or as `.ci/run` unpacks
/// them.  `None` if there is none that starts.
#[must_use]
pub fn collectd() -> Option<[PathBuf; 3]> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/collectd");
    let found = [PathBuf::from("/"), unpacked].into_iter().find_map(|root| {
        let parts = ["usr/sbin/collectd", "usr/lib/collectd", "usr/share/collectd/types.db"];
        Some(parts.map(|part| root.join(part)))
            .filter(|parts| parts.iter().all(|part| part.exists()))
    })?;
    let mut command = Command::new(&found[0]);
    command.arg("-h").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(found)
}
