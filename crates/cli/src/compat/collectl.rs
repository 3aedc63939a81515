//! `collectl`: one program for recording and playing; `-p` decides which.

use std::ffi::OsString;
use std::path::Path;

/// What collectl's daemon reads.
const CONFIGURATION: &str = "/etc/collectl.conf";

/// collectl's arguments as whit's: `-p` makes it `whit play`, anything else `whit record`.
///
/// collectl's option parser takes `-pFILE`, `-p FILE`, `--playback FILE` and any abbreviation of
/// the long name that is not ambiguous.
pub(super) fn translate(arguments: Vec<OsString>) -> Vec<OsString> {
    let first = arguments.first().map(|argument| argument.to_string_lossy().into_owned());
    if let Some("-v" | "--version") = first.as_deref() {
        return vec!["--version".into()];
    }
    let plays = arguments.iter().any(|argument| {
        let text = argument.to_string_lossy();
        text.starts_with("-p") && !text.starts_with("--") || is_playback(&text)
    });
    let mut line: Vec<OsString> = vec![if plays { "play" } else { "record" }.into()];
    let is_any = |names: &[&str]| {
        arguments.iter().any(|one| names.iter().any(|name| one.to_string_lossy().starts_with(name)))
    };
    let is_daemon = arguments.iter().any(|one| one == "-D" || one == "--daemon");
    if is_daemon && !plays && !is_any(&["-C", "--conf"]) && Path::new(CONFIGURATION).exists() {
        line.extend(["-C".into(), CONFIGURATION.into()]);
    }
    let arguments = match plays {
        true => feed::collectl_switches::without_idle(arguments),
        false => arguments,
    };
    for argument in arguments {
        let text = argument.to_string_lossy();
        match text.split_once('=') {
            Some((name, value)) if is_playback(name) => line.push(format!("-p{value}").into()),
            None if is_playback(&text) => line.push("-p".into()),
            _ => line.push(argument),
        }
    }
    line
}

/// `--playback`, or an abbreviation of it that cannot mean `--plot`.
fn is_playback(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() >= "--pla".len() && "--playback".starts_with(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn playing_and_recording() {
        let check = |given: &[&str], expected: &[&str]| {
            let given = given.iter().map(Into::into).collect();
            let expected: Vec<OsString> = expected.iter().map(Into::into).collect();
            assert_eq!(translate(given), expected);
        };
        check(&["-scdn", "-i1"], &["record", "-scdn", "-i1"]);
        check(&["-p", "x.raw.gz", "-P"], &["play", "-p", "x.raw.gz", "-P"]);
        check(&["-px.raw.gz"], &["play", "-px.raw.gz"]);
        check(&["--playback=x", "-sc"], &["play", "-px", "-sc"]);
        check(&["--plot"], &["record", "--plot"]);
        check(&["-p", "x", "-c", "5", "--nohup"], &["play", "-p", "x"]);
        check(&["-c", "5", "--nohup"], &["record", "-c", "5", "--nohup"]);
        check(&[], &["record"]);
        check(&["--version"], &["--version"]);
    }
}
