//! What the tests beside GNU parallel share: how it is run.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Output, Stdio};

/// What the installed `parallel` answers to these arguments and this standard input, its jobs run
/// by `shell`; `None` where there is none, which is said.
///
/// It takes some 0.3 s: put much into each call.
pub(crate) fn parallel<A: AsRef<[u8]>>(
    shell: &str,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Option<Output> {
    if !testkit::is_installed("GNU parallel", "parallel") {
        return None;
    }
    let mut command = Command::new("parallel");
    command.args(["--will-cite", "-k"]).env("LC_ALL", "C").env("PARALLEL_SHELL", shell);
    for argument in arguments {
        command.arg(OsStr::from_bytes(argument.as_ref()));
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("parallel starts");
    // One that reads no input closes it early.
    let _ = child.stdin.take().expect("it is piped").write_all(input);
    Some(child.wait_with_output().expect("it ends"))
}
