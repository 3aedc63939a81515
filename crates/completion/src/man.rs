//! Man pages: one for each verb, with a synopsis of one line, its examples and a date.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

/// Writes the pages of a built command and of all below it into a folder.
///
/// # Errors
/// If a page cannot be written; its path is in the error.
pub fn write_pages(command: &Command, date: &str, to: &Path) -> io::Result<()> {
    let program = command.render_version();
    write_below(command, &Origin { program: program.trim_end(), date }, to)
}

/// What stands at the foot of each page.
struct Origin<'a> {
    program: &'a str,
    date: &'a str,
}

fn write_below(command: &Command, origin: &Origin<'_>, to: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_below(verb, origin, to)?;
    }
    let man = Man::new(command.clone()).date(origin.date).source(origin.program);
    let path = to.join(man.get_filename());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend_from_slice(synopsis(command).as_bytes());
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let below = command.get_after_long_help().or(command.get_after_help());
    page.extend_from_slice(
        sections(&below.map(ToString::to_string).unwrap_or_default()).as_bytes(),
    );
    std::fs::write(&path, page).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
    })
}

/// The usage, without each option: those follow below.
fn synopsis(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(|line| escaped(line.trim()));
    format!(".SH SYNOPSIS\n{}\n", lines.collect::<Vec<_>>().join("\n.br\n"))
}

/// What stands below the options: a section for each heading (`Examples:`), other text in NOTES.
fn sections(text: &str) -> String {
    let mut page = String::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (name, body) = match first.strip_suffix(':') {
            Some(name) if !rest.is_empty() => (name.to_uppercase(), rest),
            _ => ("NOTES".to_owned(), block),
        };
        let lines: Vec<String> = body.lines().map(escaped).collect();
        let _ = write!(page, ".SH \"{name}\"\n.nf\n{}\n.fi\n", lines.join("\n"));
    }
    page
}

/// A line of text as troff prints it.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}
