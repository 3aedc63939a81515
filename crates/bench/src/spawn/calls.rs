//! System calls of a runner and all its jobs, counted by whit.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::error::{Context, Result};
use crate::process::text_of;
use crate::programs::run_heard;

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
    run_heard(&mut outer, Stdio::null())?;
    let object: Option<Value> = serde_json::from_slice(&std::fs::read(answer.path())?).ok();
    let calls = object.and_then(|object| object["total"]["calls"].as_u64());
    calls.with_context(|| format!("whit trace counted no calls of '{}'", text_of(command)))
}
