//! Where `-o` sends what a trace shows: stderr without it, as with strace, so that it does not mix
//! with what the command prints; a file; stdout for `-`; or a command behind a `|`.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// An open output.
pub(crate) struct Output {
    writer: Box<dyn Write>,
    child: Option<Child>,
}

impl Output {
    /// Opens what `-o` names, before anything is started, so that a mistake costs nothing.
    pub(crate) fn open(name: Option<&str>, append: bool) -> anyhow::Result<Self> {
        let of = |writer: Box<dyn Write>| Output { writer, child: None };
        match name {
            None => Ok(of(Box::new(BufWriter::new(std::io::stderr())))),
            Some("-") => Ok(of(Box::new(BufWriter::new(std::io::stdout())))),
            Some(name) if name.starts_with(['|', '!']) => pipe(&name[1..]),
            Some(name) => {
                let mut options = OpenOptions::new();
                options.create(true).append(append).write(true).truncate(!append);
                let file = options.open(name).with_context(|| {
                    format!("-o {name}: cannot be written; choose another file")
                })?;
                Ok(of(Box::new(BufWriter::new(file))))
            }
        }
    }

    /// Writes out what is held and waits for the command behind a pipe.
    pub(crate) fn close(mut self) -> anyhow::Result<()> {
        self.writer.flush().context("writing the output of the trace")?;
        drop(self.writer);
        if let Some(mut child) = self.child {
            child.wait().context("waiting for the command of -o")?;
        }
        Ok(())
    }
}

fn pipe(command: &str) -> anyhow::Result<Output> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .spawn()
        .with_context(|| format!("-o |{command}: cannot be started"))?;
    let stdin = child.stdin.take().context("-o: the command has no stdin")?;
    Ok(Output { writer: Box::new(BufWriter::new(stdin)), child: Some(child) })
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}
