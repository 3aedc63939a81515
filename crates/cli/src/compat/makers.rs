//! `cfgmaker` and `indexmaker`: their command lines as those of `whit poll make` and `index`.
//!
//! One hyphen is as two, an option may be cut to what is not ambiguous, and `no` before a switch
//! turns it off.

use std::ffi::OsString;
use std::path::Path;

/// Options of cfgmaker.
const MAKE: [&str; 33] = [
    "help",
    "man",
    "version",
    "subdirs",
    "no-down",
    "show-op-down",
    "noreversedns",
    "ifref",
    "ifdesc",
    "if-filter",
    "if-template",
    "interfaces",
    "nointerfaces",
    "host-template",
    "community",
    "username",
    "authkey",
    "authpassword",
    "authprotocol",
    "contextengineid",
    "contextname",
    "privkey",
    "privpassword",
    "privprotocol",
    "snmp-options",
    "dns-domain",
    "output",
    "global",
    "nodefaultglobal",
    "enable-ipv6",
    "enablesnmpv3",
    "use-16bit",
    "zero-speed",
];

/// Options of indexmaker that have a value, which may also come from a file (`--title-file`).
const INDEX_TEXTS: [&str; 14] = [
    "output",
    "addhead",
    "title",
    "subtitle",
    "bodyopt",
    "pagetopend",
    "pagetop",
    "pageend",
    "sort",
    "show",
    "section",
    "prefix",
    "headeradd",
    "icondir",
];
/// The other options of indexmaker with a value, and switches that cannot be turned off.
const INDEX_OTHERS: [&str; 11] = [
    "rrdviewer",
    "filter",
    "columns",
    "width",
    "height",
    "headlevel",
    "enumerate",
    "nolegend",
    "help",
    "man",
    "version",
];
/// The switches of indexmaker.
const INDEX_SWITCHES: [&str; 7] =
    ["perhost", "clicktext", "compact", "picfirst", "sidebyside", "autoprefix", "sectionhost"];
/// The switches of indexmaker that are on.
const INDEX_ON: [&str; 2] = ["optlog", "bold"];

/// `cfgmaker OPTION… DEVICE…`
pub(super) fn translate_make(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut words = ["poll", "make"].map(OsString::from).to_vec();
    for argument in arguments {
        let Some((name, value)) = option(&argument) else {
            words.push(argument);
            continue;
        };
        let name = full(&name, &MAKE);
        words.push(joined(if name == "man" { "help" } else { &name }, value));
    }
    words
}

/// `indexmaker OPTION… CONFIG…`
pub(super) fn translate_index(arguments: Vec<OsString>) -> Vec<OsString> {
    let files: Vec<String> = INDEX_TEXTS.iter().map(|name| format!("{name}-file")).collect();
    let switches = INDEX_SWITCHES.iter().chain(&INDEX_ON);
    let turned: Vec<String> =
        switches.clone().flat_map(|name| [format!("no{name}"), format!("no-{name}")]).collect();
    let known = INDEX_TEXTS.iter().chain(&INDEX_OTHERS).chain(switches).copied();
    let known: Vec<&str> = known.chain(files.iter().chain(&turned).map(String::as_str)).collect();
    let mut words = ["poll", "index"].map(OsString::from).to_vec();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let Some((name, value)) = option(&argument) else {
            words.push(argument);
            continue;
        };
        let name = full(&name, &known);
        if let Some(text_option) = name.strip_suffix("-file") {
            let path = value.map(OsString::from).or_else(|| arguments.next()).unwrap_or_default();
            let text = text_of(&name, Path::new(&path)).unwrap_or_else(|error| {
                crate::stderr::message(error);
                std::process::exit(2)
            });
            words.push(joined(text_option, Some(text)));
            continue;
        }
        let positive = name.strip_prefix("no").map(|rest| rest.trim_start_matches('-'));
        match positive {
            Some(switch) if INDEX_SWITCHES.contains(&switch) => {
                let given = OsString::from(format!("--{switch}"));
                words.retain(|word| *word != given);
            }
            Some(switch) if INDEX_ON.contains(&switch) => {
                words.push(format!("--no{switch}").into());
            }
            _ if INDEX_ON.contains(&name.as_str()) => {
                let given = OsString::from(format!("--no{name}"));
                words.retain(|word| *word != given);
            }
            _ => words.push(joined(if name == "man" { "help" } else { &name }, value)),
        }
    }
    words
}

/// The text of a file that an option names.
fn text_of(option: &str, path: &Path) -> Result<String, String> {
    let wrong =
        |error: std::io::Error| format!("--{option}: cannot read {}: {error}", path.display());
    std::fs::read(path).map(text::byte_text::decode).map_err(wrong)
}

/// The name and the value of an option; `None` for other words.
fn option(argument: &OsString) -> Option<(String, Option<String>)> {
    let word = argument.to_str()?;
    let rest = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    if rest.is_empty()
        || !rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '?')
    {
        return None;
    }
    let (name, value) = match rest.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (rest, None),
    };
    let name = if name == "?" { "help".to_owned() } else { name.to_ascii_lowercase() };
    Some((name, value))
}

/// The option that begins with a name, if it is one only.
fn full(name: &str, options: &[&str]) -> String {
    if options.contains(&name) {
        return name.to_owned();
    }
    let mut matching = options.iter().filter(|option| option.starts_with(name));
    match (matching.next(), matching.next()) {
        (Some(option), None) => (*option).to_owned(),
        _ => name.to_owned(),
    }
}

fn joined(name: &str, value: Option<String>) -> OsString {
    match value {
        Some(value) => format!("--{name}={value}").into(),
        None => format!("--{name}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(translate: fn(Vec<OsString>) -> Vec<OsString>, words: &[&str]) -> String {
        let words = translate(words.iter().map(OsString::from).collect());
        let words: Vec<String> =
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn options_may_be_cut_and_turned_off() {
        assert_eq!(
            line(translate_make, &["-ifref=nr", "--comm", "x", "--no-down", "a@b"]),
            "poll make --ifref=nr --community x --no-down a@b"
        );
        assert_eq!(
            line(translate_index, &["--perhost", "--noperhost", "--nobold", "-col=3", "a.cfg"]),
            "poll index --nobold --columns=3 a.cfg"
        );
        assert_eq!(line(translate_index, &["--nooptlog", "--optlog", "x"]), "poll index x");
    }

    #[test]
    fn texts_come_from_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("top");
        std::fs::write(&path, "<hr>").expect("written");
        let word = format!("--pagetop-file={}", path.display());
        assert_eq!(line(translate_index, &[&word, "x"]), "poll index --pagetop=<hr> x");
        let missing = text_of("title-file", &folder.path().join("no"));
        assert!(missing.is_err_and(|error| error.starts_with("--title-file: cannot read ")));
    }
}
