//! The chores of the workspace, as a program: `cargo xtask ci` is all that CI calls, and a person
//! can run it too.
//!
//! Costs nothing to set up: two small dependencies, no shell script longer than three lines.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use skips::Ledger;

mod bpf;
mod dist;
mod generate;
mod miri;
mod newcomer;
mod picture;
mod skips;
mod smoke;
mod tidy;
mod vm;

const HELP: &str = "\
cargo xtask ci       all checks and tests: what CI runs; --strict (or CI=true) also fails on a
                     test that was skipped and is not on the list in xtask/src/skips.rs
cargo xtask fmt      format all code, also the files that `cargo fmt` does not find
cargo xtask tidy     the house rules alone
cargo xtask gen      rewrite generated files (docs/reference); --check only compares
cargo xtask smoke    run every fuzz target and every benchmark at its smallest size
cargo xtask newcomer add a source and a view to a copy of the tree, and find them everywhere
cargo xtask bpf      compile the kernel's programs (needs clang and llvm-strip)
cargo xtask miri     unit tests in the Miri interpreter (needs nightly; about ten minutes)
cargo xtask picture  draw the README's picture from the commands given, run for real
cargo xtask vm       boot Debian's kernels in an emulator and check whit there; --all: every kernel;
                     --kernel 6.1 --cpus 48 --nodes 8 [-- COMMAND]: one, with a shell or a command;
                     --release: the release build; --rivals: with collectl and strace
                     --out DIR: copy what the command leaves in /out; --capture NAME: copy the
                     kernel files that sources (--sources A,B) read to testdata/proc/NAME
cargo xtask dist     man pages, completions, systemd unit and .deb under target/dist";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ci"] => ci(std::env::var_os("CI").is_some_and(|value| value == "true")),
        ["ci", "--strict"] => ci(true),
        ["fmt"] => format(&[]),
        ["tidy"] => tidy::run(),
        ["gen"] => generate::run(false),
        ["gen", "--check"] => generate::run(true),
        ["miri"] => miri::run(),
        ["newcomer"] => newcomer::run(),
        ["smoke"] => smoke::run(),
        ["bpf"] => bpf::run(),
        ["vm", arguments @ ..] => vm::run(arguments),
        ["dist"] => dist::run(),
        ["picture", commands @ ..] => picture::run(commands),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Every check, the quick ones first.  Formatting, layout and warnings must be right before anything
/// is built; of the others each one runs, so that one run tells all that is wrong.
fn ci(strict: bool) -> anyhow::Result<()> {
    let ledger = Ledger::begin()?;
    step("fmt", || format(&["--check"]))?;
    step("tidy", tidy::run)?;
    step("clippy", || {
        run("cargo", &["clippy", "-q", "--workspace", "--all-targets", "--", "-D", "warnings"])
    })?;
    let rest: [(&str, &dyn Fn() -> anyhow::Result<()>); 7] = [
        ("test", &|| {
            let mut test = cargo(&["test", "--workspace", "--no-fail-fast"]);
            test.env(skips::VARIABLE, ledger.path());
            finish(test)
        }),
        ("doc", &doc),
        ("gen --check", &|| generate::run(true)),
        ("smoke", &smoke::run),
        ("newcomer", &newcomer::run),
        ("vm", &vm::run_in_ci),
        ("packages", &packages),
    ];
    let mut failed = Vec::new();
    for (name, work) in rest {
        if let Err(error) = step(name, work) {
            eprintln!("xtask: {error:#}");
            failed.push(name);
        }
    }
    let unlisted = ledger.show()?;
    if !failed.is_empty() {
        bail!("these steps failed: {}", failed.join(", "));
    }
    if strict && unlisted > 0 {
        bail!("{unlisted} skips are not on the list in xtask/src/skips.rs");
    }
    println!("ci: all steps passed");
    Ok(())
}

/// Formats all code by `rustfmt` with these options.  `cargo fmt` alone does not find the modules that
/// the macro of `crates/source/src/lib.rs` declares.
fn format(options: &[&str]) -> anyhow::Result<()> {
    let mut command = cargo(&["fmt", "--all", "--"]);
    command.args(options).args(rust_files(&root().join("crates/source/src"))?);
    finish(command)
}

/// The Rust files in a folder and below it.
fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.append(&mut rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// The documentation of all crates, without warnings.
fn doc() -> anyhow::Result<()> {
    let mut doc = cargo(&["doc", "-q", "--workspace", "--no-deps", "--document-private-items"]);
    // Private items are documented too, so links to them lead somewhere.
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
    finish(doc)
}

/// What `deny.toml` says, by cargo-deny where it is installed; `tidy` has checked the same lists.
/// Advisories need the network, so a run without it does not ask for them.
fn packages() -> anyhow::Result<()> {
    let mut ask = cargo(&["deny", "--version"]);
    ask.stdout(Stdio::null()).stderr(Stdio::null());
    if !ask.status().is_ok_and(|status| status.success()) {
        println!("cargo-deny is not installed: tidy has checked deny.toml's lists");
        return Ok(());
    }
    run("cargo", &["deny", "check", "licenses", "sources", "bans"])
}

fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("==> {name}");
    let start = Instant::now();
    work().with_context(|| format!("step {name}"))?;
    println!("<== {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The top of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// The build directory: what `CARGO_TARGET_DIR` names, or `target`.
fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(arguments).current_dir(root());
    command
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    if program == "cargo" {
        return finish(cargo(arguments));
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    finish(command)
}

fn finish(mut command: Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
