//! `mrtg`: its command line as that of `whit poll`.

use std::ffi::OsString;

/// `mrtg OPTION… CONFIG`; one hyphen is as two, and an option may be cut to what is not ambiguous.
pub(super) fn translate(arguments: Vec<OsString>) -> Vec<OsString> {
    const OPTIONS: [&str; 11] = [
        "user",
        "group",
        "lock-file",
        "confcache-file",
        "logging",
        "check",
        "fhs",
        "daemon",
        "pid-file",
        "debug",
        "log-only",
    ];
    let mut words = vec![OsString::from("poll")];
    let mut is_option = true;
    for argument in arguments {
        let word = argument.to_string_lossy();
        is_option &= word != "--";
        let name = word.trim_start_matches('-');
        let hyphens = word.len() - name.len();
        if !is_option || hyphens == 0 || hyphens > 2 || name.is_empty() {
            words.push(argument);
            continue;
        }
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        let lower = name.to_ascii_lowercase();
        let mut matching = OPTIONS.iter().filter(|option| option.starts_with(&lower));
        let full = match (matching.next(), matching.next()) {
            (Some(option), None) => option,
            _ => name,
        };
        let full = OPTIONS.iter().find(|option| **option == lower).copied().unwrap_or(full);
        words.push(match value {
            Some(value) => format!("--{full}={value}").into(),
            None => format!("--{full}").into(),
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_be_cut() {
        let line = |words: &[&str]| {
            let words = translate(words.iter().map(OsString::from).collect());
            words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(line(&["-check", "a.cfg"]), "poll --check a.cfg");
        assert_eq!(line(&["--log=x", "--pid=/p", "a.cfg"]), "poll --log=x --pid-file=/p a.cfg");
        assert_eq!(
            line(&["--Daemon", "--debug", "log", "--", "-x"]),
            "poll --daemon --debug log -- -x"
        );
    }
}
