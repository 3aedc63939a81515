//! Examples of verbs that have none of their own: those that the texts below other verbs' options have of
//! them, so that each example stands once.
//!
//! `whit log` shows how its verbs work together, and `whit watch` how the configuration is looked at; the
//! help and the page of `whit log query` have the lines that begin with that name.

use clap::Command;

/// The line above examples.
const HEADING: &str = "Examples:";

/// A command line with examples below each verb that others have examples of.
#[must_use]
pub fn with_examples(command: Command) -> Command {
    let mut all = Vec::new();
    collect(&command, &mut all);
    let name = command.get_name().to_owned();
    below(command, &name, &all)
}

/// The examples of a command and of all below it, each with the lines that continue it.
fn collect(command: &Command, all: &mut Vec<String>) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples = text.lines().skip_while(|line| *line != HEADING).skip(1);
    for line in examples.take_while(|line| line.starts_with(' ')) {
        match all.last_mut().filter(|_| line.starts_with("   ")) {
            Some(example) => *example = format!("{example}\n{line}"),
            None => all.push(line.to_owned()),
        }
    }
    for verb in command.get_subcommands() {
        collect(verb, all);
    }
}

/// Adds them to the verbs below a command, which is called `name` with all verbs above it.
fn below(command: Command, name: &str, all: &[String]) -> Command {
    command.mut_subcommands(|verb| {
        let name = format!("{name} {}", verb.get_name());
        let verb = below(verb, &name, all);
        if verb.get_after_help().is_some() {
            return verb;
        }
        let is_of = |example: &&str| {
            let rest = example.trim_start().strip_prefix(&name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n']))
        };
        let own: Vec<&str> = all.iter().map(String::as_str).filter(is_of).collect();
        match own.is_empty() {
            true => verb,
            false => verb.after_help(format!("{HEADING}\n{}", own.join("\n"))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_has_the_examples_that_begin_with_its_name() {
        let log = Command::new("log").after_help(
            "About.\n\nExamples:\n  x log query -a  # all\n  x log queryall\n  x log tail \\\n    \
             --more\n  x look\n\nExit codes: 0.\n  x log query no example",
        );
        let log = log.subcommand(Command::new("query")).subcommand(Command::new("verify"));
        let log = log.subcommand(Command::new("tail"));
        let own = Command::new("own").after_help("Mine.");
        let command = Command::new("x").subcommand(log).subcommand(Command::new("look"));
        let command = with_examples(command.subcommand(own));
        let text = |path: &[&str]| {
            let verb = path.iter().try_fold(&command, |verb, name| verb.find_subcommand(name));
            verb.unwrap().get_after_help().map(ToString::to_string)
        };
        assert_eq!(text(&["log", "query"]).unwrap(), "Examples:\n  x log query -a  # all");
        assert_eq!(text(&["log", "tail"]).unwrap(), "Examples:\n  x log tail \\\n    --more");
        assert_eq!(text(&["look"]).unwrap(), "Examples:\n  x look");
        assert_eq!(text(&["log", "verify"]), None);
        assert_eq!(text(&["own"]).unwrap(), "Mine.");
    }
}
