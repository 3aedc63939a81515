//! Errors of a command line in one line; and what to use instead of a switch that collectl, strace
//! or GNU parallel has and whit has not.
//!
//! clap explains over several lines.  Scripts and logs need one, in the form of whit's other
//! errors.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The sentence for a command line that cannot be understood; `None` when the "error" is help or
/// the version, which clap prints itself.
pub(crate) fn explain(error: &clap::Error, arguments: &[String]) -> Option<String> {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if let DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand = error.kind() {
        return None;
    }
    let whit = crate::Arguments::command();
    let mut command = &whit;
    let verbs = arguments.iter().skip(1).map_while(|word| {
        command = command.find_subcommand(word)?;
        Some(command.get_name())
    });
    let verbs: Vec<&str> = verbs.collect();
    if let Some(refusal) = refusal(error, verbs.first().copied()) {
        return Some(refusal);
    }
    let help: String = verbs.iter().flat_map(|verb| [verb, " "]).collect();
    Some(format!("{}; see whit {help}--help", in_one_line(&error.to_string())))
}

/// Why whit does not have this switch, if the error is about one of another program.
fn refusal(error: &clap::Error, verb: Option<&str>) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    if verb == Some("trace") {
        let (names, why) = trace::strace_options::refusal(given)?;
        return Some(format!("{names} is not a switch of whit trace: {why}"));
    }
    if verb == Some("run") {
        let why = run::parallel_options::refusal(given)?;
        return Some(format!("{given} is not a switch of whit run: {why}"));
    }
    let verb = verb.filter(|verb| ["record", "play"].contains(verb))?;
    let why = feed::collectl_switches::refusal(given, verb == "play")?;
    Some(format!("{given} is not a switch of whit {verb}: {why}"))
}

/// An error's text on one line, without the usage and the pointer to the help that clap adds.
pub(crate) fn in_one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let parts = text.split("\n\n").filter(|part| {
        let part = part.trim_start();
        !part.starts_with("Usage:") && !part.starts_with("For more information")
    });
    let parts: Vec<String> = parts
        .map(|part| part.lines().map(str::trim).collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = crate::Arguments::command().try_get_matches_from(&words).unwrap_err();
        explain(&error, &words).unwrap()
    }

    #[test]
    fn every_refused_switch_is_refused_by_name_in_one_line() {
        for name in feed::collectl_switches::refused() {
            for (verb, plays) in [("record", false), ("play", true)] {
                if let Some(why) = feed::collectl_switches::refusal(name, plays) {
                    let text = said(&format!("whit {verb} {name}"));
                    assert_eq!(text, format!("{name} is not a switch of whit {verb}: {why}"));
                    assert!(!text.contains('\n'));
                }
            }
        }
    }

    #[test]
    fn what_strace_has_and_whit_has_not_is_refused_by_name() {
        for option in trace::strace_options::OPTIONS {
            for name in option.names().filter(|name| !["-a", "-i", "-h", "-V"].contains(name)) {
                let line = ["strace", name, "1", "ls"].map(Into::into).to_vec();
                let line = crate::compat::command_line(line);
                let words: Vec<String> = line.iter().map(|w| w.to_string_lossy().into()).collect();
                let error = crate::Arguments::command().try_get_matches_from(&words).err();
                let text = error.and_then(|error| explain(&error, &words)).unwrap_or_default();
                match trace::strace_options::refusal(name) {
                    Some((names, why)) => {
                        let wanted = format!("{names} is not a switch of whit trace: {why}");
                        assert_eq!(text, wanted, "{words:?}");
                    }
                    None => assert!(!text.contains("unexpected argument"), "{words:?}: {text}"),
                }
            }
        }
        assert!(said("whit trace -fk ls").contains("-k, --stack-traces is not a switch"));
    }

    #[test]
    fn each_option_of_parallel_is_one_of_ours_or_refused_with_the_reason() {
        use run::parallel_options::{OWN, ParallelAnswer, Takes, all, named};
        let command = crate::Arguments::command();
        let ours = command.find_subcommand("run").unwrap();
        let takes = |name: &str| {
            let is_it = |option: &&clap::Arg| match name.strip_prefix("--") {
                Some(long) => option.get_long() == Some(long),
                None => option.get_short().map(|letter| format!("-{letter}")) == Some(name.into()),
            };
            let option = ours.get_arguments().find(is_it)?;
            let is_joined = !option.get_action().takes_values() || option.is_require_equals_set();
            let may_lack = option.get_num_args().is_some_and(|range| range.min_values() == 0);
            Some(match (is_joined, may_lack) {
                (true, _) => Takes::Nothing,
                (false, true) => Takes::Perhaps,
                (false, false) => Takes::Value,
            })
        };
        for option in all() {
            match option.answer {
                ParallelAnswer::Refused(why) => {
                    for name in option.names() {
                        let text = said(&format!("whit run {name} ls"));
                        assert_eq!(text, format!("{name} is not a switch of whit run: {why}"));
                    }
                }
                ParallelAnswer::As(words) => {
                    assert!(words.iter().all(|word| takes(word).is_some()), "{words:?}");
                }
                _ if ["--help", "-W"].contains(&option.name()) => {}
                _ => assert_eq!(takes(option.name()), Some(option.takes), "{}", option.name()),
            }
        }
        for (name, wanted) in OWN {
            assert_eq!(takes(name), Some(*wanted), "{name}");
        }
        for option in ours.get_arguments() {
            let Some(long) = option.get_long() else { continue };
            let long = format!("--{long}");
            let is_known = named(&long).is_some() || OWN.iter().any(|(own, _)| *own == long);
            assert!(is_known, "{long} is neither of parallel nor in OWN");
        }
    }

    #[test]
    fn values_behind_a_refused_switch_do_not_hide_it() {
        for line in ["whit play -Lm:10", "whit play --envtest=1,5 x", "whit record --import foo"] {
            assert!(said(line).contains("is not a switch of whit"), "{line}");
        }
    }

    #[test]
    fn errors_of_several_lines_become_one() {
        let (_, option) = source::options().find(|(_, option)| option.name == "dskfilt").unwrap();
        let error = source::parse_option(option, "(").err().unwrap();
        let text = in_one_line(&format!("{:#}", anyhow::Error::from(error)));
        assert!(!text.contains('\n') && text.ends_with("unclosed group"), "{text}");
    }

    #[test]
    fn other_errors_are_one_line_and_point_to_the_help() {
        for (line, part) in [
            ("whit record --nonsense", "unexpected argument '--nonsense' found"),
            ("whit record --rawtoo", "were not provided: --filename <PATH>"),
            ("whit record -c x", "invalid value 'x' for '--count <N>'"),
            ("whit play --csv --json", "cannot be used with"),
            ("whit nonsense", "unrecognized subcommand 'nonsense'"),
            ("whit doctor -n 0", "; see whit doctor --help"),
            ("whit log query --nonsense", "; see whit log query --help"),
            ("whit poll --nonsense", "; see whit poll --help"),
        ] {
            let text = said(line);
            assert!(text.contains(part) && text.contains("; see whit"), "{text}");
            assert!(!text.contains('\n') && !text.contains("Usage"), "{text}");
        }
    }
}
