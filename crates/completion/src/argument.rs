//! Which argument the end of a command line is a value of.

use clap::{Arg, Command};

use crate::line::Word;

/// An argument whose value is completed.
#[derive(Debug)]
pub(crate) struct CompletedArgument<'a> {
    /// The verb, with those below it: `log query`.
    pub(crate) verb: String,
    /// The name of the argument in the definition of the command line.
    pub(crate) id: &'a str,
    /// What of the value is typed.
    pub(crate) value: &'a str,
    /// The words of the line that are no options.
    pub(crate) positionals: Vec<&'a str>,
}

/// The argument, from the words before the last one and that one; `None` if it is no value of an
/// option, or belongs to a command that whit starts.
pub(crate) fn at_the_end<'a>(
    root: &'a Command,
    before: &'a [Word],
    last: &'a str,
) -> Option<CompletedArgument<'a>> {
    let (mut command, mut verb) = (root, Vec::new());
    let (mut open, mut positionals) = (None, Vec::new());
    for Word { text, .. } in before.get(1..)? {
        if open.take().is_some() {
            continue;
        }
        if text.starts_with('-') && text.len() > 1 {
            if text == "--" {
                return None;
            }
            open = option(command, text).and_then(|(arg, value)| value.is_none().then_some(arg));
        } else if let Some(below) = command.find_subcommand(text) {
            (command, verb) = (below, [verb, vec![below.get_name()]].concat());
        } else if command.get_positionals().any(Arg::is_trailing_var_arg_set) {
            return None;
        } else {
            positionals.push(text.as_str());
        }
    }
    let (argument, value) = match open {
        Some(argument) => (argument, last),
        None => {
            let (argument, value) = option(command, last)?;
            (argument, value?)
        }
    };
    Some(CompletedArgument {
        verb: verb.join(" "),
        id: argument.get_id().as_str(),
        value,
        positionals,
    })
}

/// The last option of a word, if it takes a value, and the value if the word has it.
fn option<'a, 'w>(command: &'a Command, word: &'w str) -> Option<(&'a Arg, Option<&'w str>)> {
    let takes = |argument: &&'a Arg| argument.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) =
            long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let is_it = |argument: &&Arg| {
            argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name))
        };
        let argument = command.get_arguments().find(is_it).filter(takes)?;
        return (value.is_some() || !argument.is_require_equals_set()).then_some((argument, value));
    }
    let letters = word.strip_prefix('-')?;
    for (at, letter) in letters.char_indices() {
        let is_it = |argument: &&Arg| {
            argument.get_short_and_visible_aliases().is_some_and(|names| names.contains(&letter))
        };
        let argument = command.get_arguments().find(is_it)?;
        if takes(&argument) {
            let value = &letters[at + letter.len_utf8()..];
            return Some((argument, (!value.is_empty()).then_some(value)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    fn root() -> Command {
        let flag = |name, letter| Arg::new(name).short(letter).action(ArgAction::SetTrue);
        let file = Arg::new("file").num_args(0..);
        let play = Command::new("play")
            .args([flag("plot", 'P'), Arg::new("fields").long("fields"), file.clone()])
            .arg(Arg::new("subsystems").short('s').long("subsys"));
        let words = Arg::new("words").num_args(0..).trailing_var_arg(true);
        let trace = Command::new("trace").args([Arg::new("e").short('e'), words]);
        let log =
            Command::new("log").subcommand(Command::new("query").arg(Arg::new("g").short('g')));
        Command::new("whit").subcommands([play, trace, log])
    }

    fn asked(line: &str) -> Option<(String, String, String)> {
        let (root, words) = (root(), crate::line::words(line));
        let (last, before) = words.split_last().unwrap();
        let asked = at_the_end(&root, before, &last.text)?;
        Some((asked.verb, asked.id.to_owned(), asked.value.to_owned()))
    }

    #[test]
    fn options_are_found_in_every_spelling() {
        let is = |line: &str, verb: &str, id: &str, value: &str| {
            assert_eq!(asked(line), Some((verb.into(), id.into(), value.into())), "{line}");
        };
        is("whit play --fields ", "play", "fields", "");
        is("whit play --fields cpu.u", "play", "fields", "cpu.u");
        is("whit play --fields=cpu", "play", "fields", "cpu");
        is("whit play x.whit -Ps di", "play", "subsystems", "di");
        is("whit play -Psdi", "play", "subsystems", "di");
        is("whit log query -g ", "log query", "g", "");
        is("whit trace -e op", "trace", "e", "op");
    }

    #[test]
    fn words_that_are_no_values_are_left_to_the_shell() {
        for line in [
            "whit ",
            "whit play ",
            "whit play --fi",
            "whit play -P ",
            "whit play -s",
            "whit play --plot ",
            "whit trace ls -e ",
            "whit trace -- -e ",
            "whit play -Z ",
            "",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
    }
}
