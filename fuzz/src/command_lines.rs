//! Command lines up to a cursor, and collectl's configuration.

use clap::{Arg, Command};
use completion::NameSources;
use feed::collectl_configuration::CollectlConfiguration;

/// Nothing that is offered to a shell means anything to it, whatever was typed.
pub fn completion_line(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let fields = Arg::new("fields").long("fields").short('f');
    let play = Command::new("record").args([fields, Arg::new("subsystems").short('s')]);
    let trace = Command::new("trace").arg(Arg::new("expressions").short('e'));
    let whit = Command::new("whit").subcommands([play, trace]);
    for breaks in ["", "=:"] {
        for candidate in completion::candidates(&whit, &line, breaks, &NameSources::default()) {
            // What was typed before a name of a list is the person's own.
            let name = candidate.trim_end().rsplit([',', '=']).next().unwrap_or_default();
            assert!(name.is_empty() || completion::is_harmless(name), "{candidate:?}");
        }
    }
}

/// A configuration is read or refused, and its parts fill up whatever is given.
pub fn collectl_configuration(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(read) = CollectlConfiguration::parse(&text) {
        let line = text.lines().next().unwrap_or_default();
        std::hint::black_box((read.interval(None), read.interval(Some(line)), read.address(line)));
    }
}
