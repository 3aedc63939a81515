//! Compiles the programs that run in the kernel: `crates/bpf/programs/*.bpf.c` to
//! `crates/bpf/objects/*.bpf.o`, which are checked in.
//!
//! Each object carries a checksum of what it was made of, in a section of its own; a test of the
//! crate holds the two together, without a compiler.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::{finish, root};

/// What programs include: every object is taken for made of all of them.
const HEADERS: [&str; 3] = ["kernel.h", "calls.h", "run_times.h"];

/// What a program is compiled as: the suffix of the object's name, and the macro that is defined.
/// The second is for programs that store calls; see `calls.h`.
const VARIANTS: [(&str, &str); 2] = [("", ""), ("_before_5_12", "BEFORE_5_12")];

/// Compiles every program.
pub(crate) fn run() -> anyhow::Result<()> {
    let home = root().join("crates/bpf");
    let programs = home.join("programs");
    for entry in std::fs::read_dir(&programs).context("reading crates/bpf/programs")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".bpf.c") else { continue };
        let text = std::fs::read_to_string(&path).with_context(|| name.clone())?;
        for (suffix, define) in VARIANTS {
            if define.is_empty() || text.contains("#include \"calls.h\"") {
                let object = format!("{stem}{suffix}.bpf.o");
                compile(&programs, &name, define, &home.join("objects").join(&object))?;
                println!("bpf: {object}");
            }
        }
    }
    Ok(())
}

fn compile(programs: &Path, name: &str, define: &str, object: &Path) -> anyhow::Result<()> {
    let mut source = Vec::new();
    for part in HEADERS.into_iter().chain([name]) {
        source
            .extend(std::fs::read(programs.join(part)).with_context(|| format!("reading {part}"))?);
    }
    let mut clang = Command::new("clang");
    clang
        .current_dir(programs)
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"]);
    if !define.is_empty() {
        clang.arg(format!("-D{define}"));
    }
    clang.arg(format!("-DSOURCE_CHECKSUM=0x{:08x}", crc32c::crc32c(&source)));
    // The types name the sources that they come from; an object is the same wherever it is made.
    clang.arg(format!("-fdebug-prefix-map={}=.", programs.display()));
    clang.args(["-c", name, "-o"]).arg(object);
    finish(clang)?;
    let mut strip = Command::new("llvm-strip");
    // A loader moves what `.BTF.ext` says by itself, and needs no list of where that is.
    strip.args(["-g", "--remove-section=.rel.BTF.ext", "--remove-section=.llvm_addrsig"]);
    strip.arg(object);
    finish(strip)
}
