//! The chores of the workspace, as a program: `cargo xtask ci` is all that CI calls, and a person
//! can run it too.
//!
//! Costs nothing to set up: two small dependencies, no shell script longer than three lines.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use skips::Ledger;
use unchanged::Unchanged;

mod bpf;
mod costs;
mod cpu;
mod dist;
mod doc;
mod generate;
mod miri;
mod newcomer;
mod page;
mod picture;
mod skips;
mod smoke;
mod suite;
mod tidy;
mod unchanged;
mod vm;

const HELP: &str = "\
cargo xtask ci       all checks and tests: what CI runs; --strict (or CI=true) also fails on a
                     test that was skipped and is not on the list in xtask/src/skips.rs;
                     --long: random comparisons run all of their cases instead of a share;
                     what passed on this machine within twelve hours, and looks at nothing that
                     has changed since, is named and not run again: --all (as --strict, --long
                     and CI=true) runs everything
cargo xtask test     all tests, several files at a time, with the slowest at the end
cargo xtask doc      check the documentation of all crates
cargo xtask fmt      format all code, also the files that `cargo fmt` does not find
cargo xtask tidy     the house rules alone
cargo xtask gen      rewrite generated files (docs/reference, the tables of costs); --check only
                     compares
cargo xtask smoke    run every benchmark at its smallest size
cargo xtask newcomer add a source and a view to a copy of the tree, and find them everywhere
cargo xtask bpf      compile the kernel's programs (needs clang and llvm-strip)
cargo xtask page     build the page of `whit serve` (needs node and npm)
cargo xtask miri     unit tests in the Miri interpreter (needs nightly; about ten minutes)
cargo xtask picture  draw the README's picture from the commands given, run for real
cargo xtask vm       boot Debian's kernels in an emulator and check whit there; --all: every kernel;
                     --kernel 6.1 --cpus 48 --nodes 8 [-- COMMAND]: one, with a shell or a command;
                     --release: the release build; --whit FILE: a program that is built already, and
                     whit-bench beside it; --rivals: with collectl and strace;
                     --out DIR: copy what the command leaves in /out; --capture NAME: copy the
                     kernel files that sources (--sources A,B) read to testdata/proc/NAME
cargo xtask dist     man pages, completions, systemd units, .deb and an archive with static programs
                     under target/dist";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ci", options @ ..]
            if options.iter().all(|one| ["--all", "--long", "--strict"].contains(one)) =>
        {
            let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
            let (is_strict, is_long) = (options.contains(&"--strict"), options.contains(&"--long"));
            ci(is_ci || is_strict, is_long, is_ci || !options.is_empty())
        }
        ["test"] => {
            suite::build().and_then(|built| suite::run(&built, &[], &Unchanged::open(false)?))
        }
        ["doc"] => {
            suite::build().and_then(|built| doc::run(&built.artifacts, &Unchanged::open(false)?))
        }
        ["fmt"] => format(&[]),
        ["tidy"] => tidy::run(),
        ["gen"] => build_whit(false).and_then(|whit| generate::run(&whit, false)),
        ["gen", "--check"] => build_whit(false).and_then(|whit| generate::run(&whit, true)),
        ["miri"] => miri::run(),
        ["newcomer"] => newcomer::run(false),
        ["smoke"] => build_whit(false).and_then(|whit| smoke::run(&whit)),
        ["bpf"] => bpf::run(),
        ["page"] => page::run(),
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

/// Every check.  Formatting, layout and the build must be right before anything else; of the rest
/// each step runs, so that one run tells all that is wrong.  One build serves all steps; while the
/// tests run, the other steps run beside them, in two rows.  Unless `all` is to run, what passed and
/// has not changed since is left out.
fn ci(strict: bool, long: bool, all: bool) -> anyhow::Result<()> {
    let ledger = Ledger::begin()?;
    let unchanged = Unchanged::open(!all)?;
    let steps = Steps::default();
    steps.must("fmt", || format(&["--check"]))?;
    steps.must("tidy", tidy::run)?;
    let built = steps.must("build", suite::build)?;
    let bench = built.whit.with_file_name("whit-bench");
    let programs = unchanged.stamp(&[&built.whit, &bench], &[]);
    // The copy has all code.
    let whole_tree = unchanged.stamp(&[], &[""]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let long = long.then_some((LONG_VARIABLE, Path::new("1")));
            steps.may("test", || suite::run(&built, long.as_slice(), &unchanged));
        });
        // Machines and browsers mostly wait and translate; in one row with the steps below, which compile
        // and measure, they would end long after the tests.
        scope.spawn(|| {
            steps.unless(&unchanged, "vm", &programs, || vm::run_in_ci(&built.whit));
            steps.unless(&unchanged, "page", &programs, || page::check(&built.whit, long));
        });
        steps.may("lints", || {
            ensure!(built.warnings == 0, "{} complaints, shown above", built.warnings);
            Ok(())
        });
        steps.may("doc", || doc::run(&built.artifacts, &unchanged));
        steps.may("gen --check", || generate::run(&built.whit, true));
        steps.unless(&unchanged, "newcomer", &whole_tree, || newcomer::run(true));
        steps.may("packages", packages);
        steps.unless(&unchanged, "smoke", &programs, || smoke::run(&built.whit));
    });
    let unlisted = ledger.show()?;
    let failed = steps.show();
    if !failed.is_empty() {
        bail!("these steps failed: {}", failed.join(", "));
    }
    if strict && unlisted > 0 {
        bail!("{unlisted} skips are not on the list in xtask/src/skips.rs");
    }
    println!("ci: all steps passed");
    Ok(())
}

/// The variable that asks tests for all of their random cases, instead of a share.
const LONG_VARIABLE: &str = "WHIT_LONG";

/// The steps of a run that have ended.
#[derive(Default)]
struct Steps(std::sync::Mutex<Vec<Step>>);

/// A step that has ended.
struct Step {
    name: &'static str,
    seconds: f64,
    /// Processor time of the programs that it started.
    cpu_seconds: f64,
    is_failed: bool,
}

impl Steps {
    /// Runs a step; an error ends the run.
    fn must<T>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        println!("==> {name}");
        cpu::take_seconds();
        let start = Instant::now();
        let done = work().with_context(|| format!("step {name}"));
        let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu::take_seconds());
        println!("<== {name}: {seconds:.1} s, {cpu_seconds:.1} s of CPU time");
        if let Ok(mut steps) = self.0.lock() {
            steps.push(Step { name, seconds, cpu_seconds, is_failed: done.is_err() });
        }
        done
    }

    /// Runs a step; an error is printed, and the run goes on.
    fn may(&self, name: &'static str, work: impl FnOnce() -> anyhow::Result<()>) {
        if let Err(error) = self.must(name, work) {
            eprintln!("xtask: {error:#}");
        }
    }

    /// As [`Steps::may`], unless the step passed with this stamp.
    fn unless(
        &self,
        unchanged: &Unchanged,
        name: &'static str,
        stamp: &str,
        work: impl FnOnce() -> anyhow::Result<()>,
    ) {
        if unchanged.has_passed(name, stamp) {
            println!("==> {name}: not run, unchanged since it passed (--all runs it)");
            return;
        }
        skips::take_added();
        self.may(name, || {
            work()?;
            // A step that skips tells so in each run.
            if skips::take_added() { Ok(()) } else { unchanged.keep(name, stamp) }
        });
    }

    /// Prints the time of each step; gives those that failed.
    fn show(&self) -> Vec<&'static str> {
        let Ok(steps) = self.0.lock() else { return vec!["steps"] };
        println!("the steps, in seconds (those after `build` run side by side), and of CPU time:");
        for Step { name, seconds, cpu_seconds, is_failed } in steps.iter() {
            let mark = if *is_failed { "  failed" } else { "" };
            println!("{seconds:>7.1} {cpu_seconds:>7.1}  {name}{mark}");
        }
        steps.iter().filter(|step| step.is_failed).map(|step| step.name).collect()
    }
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

/// The top of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// The folder that cargo builds into: `CARGO_TARGET_DIR`, or `target` at the top.
fn target() -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").filter(|path| !path.is_empty());
    root().join(given.unwrap_or_else(|| "target".into()))
}

/// Builds whit alone; returns the program's path.
fn build_whit(release: bool) -> anyhow::Result<PathBuf> {
    let mut build = cargo(&["build", "-q", "-p", "cli"]);
    if release {
        build.arg("--release");
    }
    finish(build)?;
    Ok(target().join(if release { "release" } else { "debug" }).join("whit"))
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(arguments).current_dir(root());
    // `cargo run` says these of xtask. Build scripts that look at them, as that of `ring`, would run
    // again each time a build by hand follows one by xtask, and half of the workspace with them.
    for (name, _) in std::env::vars_os() {
        let is_of_xtask = |prefix: &str| name.to_string_lossy().starts_with(prefix);
        if is_of_xtask("CARGO_PKG_") || is_of_xtask("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// A tool of the toolchain that cargo belongs to.
fn tool(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_default();
    let beside = Path::new(&cargo).with_file_name(name);
    if beside.exists() { beside } else { name.into() }
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
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let (status, cpu_seconds) = cpu::wait(&mut child)?;
    cpu::add(cpu_seconds);
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
