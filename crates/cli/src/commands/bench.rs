//! `whit bench`: repeats the classic measurements on this machine, by the program `whit-bench`, which
//! nothing else needs.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};

/// Where the program is, seen from the folder of this one: beside it, or where packages keep programs
/// that users do not call.
const PLACES: [&str; 2] = ["whit-bench", "../libexec/whit-bench"];

/// Becomes that program; the command line is checked already.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let whit = std::env::current_exe().context("cannot find this program's own file")?;
    let folder = whit.parent().unwrap_or(Path::new("/"));
    let Some(program) =
        PLACES.map(|place| folder.join(place)).into_iter().find(|file| file.is_file())
    else {
        bail!(
            "the benchmarks are a program of their own, whit-bench, which is neither in {0} nor in \
             {0}/../libexec: `cargo build --release` makes both, `cargo install --path crates/cli` \
             installs both",
            folder.display()
        );
    };
    let words = crate::words::given().into_iter().skip(2);
    let error = Command::new(&program).arg("--whit").arg(&whit).args(words).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}
