//! The picture in the README: real commands and what they really printed, drawn as a terminal.
//!
//! `cargo xtask picture 'whit record -scdnm -c5' 'whit doctor'` runs each with the release build
//! and writes `docs/whit-at-work.svg`.  An SVG of text stays sharp, small and readable in a diff.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::{root, target};

/// Size of a character and of a line, in SVG units, for the font sizes below.
const CHARACTER_WIDTH: f64 = 7.83;
const LINE_HEIGHT: usize = 18;
/// Lines kept of each command's output: a picture, not a log.
const LINES_MAX: usize = 14;

/// Runs the commands and draws what they printed.
pub(crate) fn run(commands: &[&str]) -> anyhow::Result<()> {
    if commands.is_empty() {
        bail!("give the commands to show, each in quotes, each beginning with `whit`");
    }
    let mut lines: Vec<(bool, String)> = Vec::new();
    for command in commands {
        lines.push((true, format!("$ {command}")));
        let output = output_of(command)?;
        let shown = output.lines().filter(|line| !line.trim().is_empty()).take(LINES_MAX);
        lines.extend(shown.map(|line| (false, line.trim_end().to_owned())));
        lines.push((false, String::new()));
    }
    lines.pop();
    std::fs::write(root().join("docs/whit-at-work.svg"), draw(&lines))
        .context("docs/whit-at-work.svg")
}

fn output_of(command: &str) -> anyhow::Result<String> {
    let mut words = command.split_whitespace();
    if words.next() != Some("whit") {
        bail!("`{command}` does not begin with `whit`");
    }
    let mut run = Command::new(target().join("release/whit"));
    let output = run.args(words).output().context("build it first: cargo build --release")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn draw(lines: &[(bool, String)]) -> String {
    let columns = lines.iter().map(|(_, line)| line.chars().count()).max().unwrap_or(0);
    let width = (columns as f64 * CHARACTER_WIDTH).ceil() as usize + 32;
    let height = lines.len() * LINE_HEIGHT + 52;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
         font-size=\"13\">"
    );
    let _ = writeln!(svg, "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>");
    for (index, colour) in ["#e5534b", "#d9a441", "#57ab5a"].iter().enumerate() {
        let x = 20 + index * 18;
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"18\" r=\"5\" fill=\"{colour}\"/>");
    }
    for (index, (is_command, line)) in lines.iter().enumerate() {
        let y = 50 + index * LINE_HEIGHT;
        let colour = match (is_command, line.starts_with('#')) {
            (true, _) => "#8ddb8c",
            (false, true) => "#768390",
            (false, false) => "#d5dbe3",
        };
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\" fill=\"{colour}\" xml:space=\"preserve\">{text}</text>"
        );
    }
    svg.push_str("</svg>\n");
    svg
}
