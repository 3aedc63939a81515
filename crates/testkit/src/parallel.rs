//! GNU parallel, for tests that compare with it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Output};

/// Whether GNU parallel is installed; if not, that is skipped.
///
/// # Panics
/// If the installed program does not start.
#[must_use]
pub fn has_parallel() -> bool {
    if !crate::is_installed("GNU parallel", "parallel") {
        return false;
    }
    let output = Command::new("parallel").arg("--version").output().expect("it starts");
    let has = output.stdout.starts_with(b"GNU parallel");
    if !has {
        crate::skip("GNU parallel", "another program has its name");
    }
    has
}

/// What GNU parallel answers to these arguments and this standard input, its jobs run by `shell`.
/// `None`, and a skip, if it is not installed.
///
/// It takes some 0.3 s: put much into each call.
pub fn parallel<A: AsRef<[u8]>>(
    shell: &str,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Option<Output> {
    if !has_parallel() {
        return None;
    }
    let mut command = Command::new("parallel");
    command.args(["--will-cite", "-k"]).env("LC_ALL", "C").env("PARALLEL_SHELL", shell);
    for argument in arguments {
        command.arg(OsStr::from_bytes(argument.as_ref()));
    }
    Some(crate::run_on(&mut command, input))
}
