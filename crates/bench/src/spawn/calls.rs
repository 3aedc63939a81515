//! System calls of a runner and all its jobs, counted by whit.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Context, Result, ensure};
use serde_json::Value;

use crate::programs::text_of;

/// Counts in the kernel if that is allowed, otherwise by ptrace.
pub(super) fn count(whit: &Path, command: &Command) -> Result<u64> {
    let answer = tempfile::NamedTempFile::new()?;
    let mut outer = Command::new(whit);
    outer.args(["trace", "-c", "-f", "--json", "-o"]).arg(answer.path());
    outer.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let output = outer.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("no message");
    let (text, status) = (text_of(command), output.status);
    ensure!(status.success(), "'{text}' under whit trace ended with {status}: {said}");
    let object: Option<Value> = serde_json::from_slice(&std::fs::read(answer.path())?).ok();
    let calls = object.and_then(|object| object["total"]["calls"].as_u64());
    calls.with_context(|| format!("whit trace counted no calls of '{text}'"))
}
