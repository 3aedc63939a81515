//! `--debug`: what is shown of a configuration and of its rounds, one line each, that begins with its
//! tag as MRTG's do.

use text::escape::file_line;

use crate::config::Config;
use crate::decimal::Decimal;
use crate::notices::QueryNames;
use crate::problem::without_communities;
use crate::reading::{QueryAnswer, Reading, time_text};
use crate::round::{Asker, RoundReport};
use crate::target::Query;

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct DebugTags {
    /// Files and targets of the configuration.
    pub cfg: bool,
    /// Folders of the configuration and of its targets.
    pub dir: bool,
    /// What is done: rounds, thresholds.
    pub base: bool,
    /// Queries.
    pub tarp: bool,
    /// Answers to queries.
    pub snpo: bool,
    /// Interfaces that are known of devices.
    pub coca: bool,
    /// What targets evaluate to.
    pub eval: bool,
    /// Readings.
    pub log: bool,
    /// How long rounds take.
    pub time: bool,
}

impl DebugTags {
    /// Reads tags with commas between.
    ///
    /// # Errors
    /// If a tag is none, or one of MRTG's that would show what whit does not do.
    pub fn parse(text: &str) -> Result<Self, String> {
        const SHOWN: &str = "cfg, dir, base, tarp, snpo, coca, eval, log and time are shown";
        let mut tags = DebugTags::default();
        for tag in text.split(',').map(str::trim).filter(|tag| !tag.is_empty()) {
            let flag = match tag {
                "cfg" => &mut tags.cfg,
                "dir" => &mut tags.dir,
                "base" => &mut tags.base,
                "tarp" => &mut tags.tarp,
                "snpo" => &mut tags.snpo,
                "coca" | "repo" => &mut tags.coca,
                "eval" => &mut tags.eval,
                "log" => &mut tags.log,
                "time" | "prof" => &mut tags.time,
                "snpo2" => return Err(format!("--debug snpo2: packets are not shown; {SHOWN}")),
                "fork" => return Err(format!("--debug fork: there are no forks; {SHOWN}")),
                _ => return Err(format!("--debug {tag}: there is no such tag; {SHOWN}")),
            };
            *flag = true;
        }
        Ok(tags)
    }

    /// What is shown of a configuration when it is read.
    #[must_use]
    pub fn of_config(&self, config: &Config) -> String {
        let mut text = String::new();
        let mut line = |tag: &str, what: &str| text.push_str(&format!("--{tag}: {what}\n"));
        let global = &config.global;
        if self.cfg {
            config.files.iter().for_each(|file| line("cfg", &file.display().to_string()));
            config.targets.iter().for_each(|one| line("cfg", &format!("target {}", one.name)));
        }
        if self.dir {
            let folders = [
                ("logs", &global.log_dir),
                ("pages", &global.html_dir),
                ("pictures", &global.image_dir),
            ];
            folders.iter().for_each(|(what, folder)| line("dir", &format!("{what} in {folder}")));
            for target in config.targets.iter().filter(|target| !target.directory.is_empty()) {
                line("dir", &format!("{} below in {}", target.name, target.directory));
            }
        }
        if self.tarp {
            let names = QueryNames::new(config);
            for (number, query) in config.queries.iter().enumerate() {
                let what = match query {
                    Query::Program { .. } => format!("a program of {}", names.of(number)),
                    query => query_text(query),
                };
                line("tarp", &format!("query {number}: {what}"));
            }
        }
        text
    }

    /// What is shown of a round after it.
    #[must_use]
    pub fn of_readings(&self, config: &Config, readings: &[Reading]) -> Vec<String> {
        let mut lines = Vec::new();
        let value = |value: &Option<Decimal>| {
            value.as_ref().map_or_else(|| "U".to_owned(), ToString::to_string)
        };
        let own = config.targets.iter().zip(readings).filter(|(_, one)| !one.is_elsewhere);
        for (target, reading) in own {
            let [input, output] = reading.values.each_ref().map(value);
            let name = &target.name;
            if self.eval {
                lines.push(format!(
                    "--eval: {name}: {} is {input} and {output}",
                    without_communities(&target.definition)
                ));
            }
            if self.log {
                lines
                    .push(format!("--log: {name} {}:{input}:{output}", time_text(reading.time_ns)));
            }
        }
        lines
    }

    /// What is shown of a round that took so long, in ns.
    #[must_use]
    pub fn of_time(&self, report: &RoundReport, took_ns: u64) -> Option<String> {
        let RoundReport { known_count, unknown_count, reset_count, .. } = report;
        let ms = took_ns / 1_000_000;
        self.time.then(|| {
            format!(
                "--time: {known_count} targets known, {unknown_count} unknown, \
                 {reset_count} with counters that began anew, {ms} ms"
            )
        })
    }
}

/// A query as it was written.
fn query_text(query: &Query) -> String {
    match query {
        Query::Snmp(query) | Query::Texts(query) => query.text.clone(),
        // A command may have passwords in it.
        Query::Program { .. } => "a program".to_owned(),
    }
}

/// A text of a device.
fn shown(text: &str) -> String {
    file_line(text, 200)
}

/// An asker that says what was answered, for the tag `snpo`.
#[derive(Debug)]
pub struct ShownAsker<'a, A>(pub &'a mut A);

impl<A: Asker> Asker for ShownAsker<'_, A> {
    fn ask(
        &mut self,
        config: &Config,
        wall_ns: &dyn Fn() -> i64,
        say: &mut dyn FnMut(String),
    ) -> Vec<QueryAnswer> {
        let answers = self.0.ask(config, wall_ns, say);
        for (query, answer) in config.queries.iter().zip(&answers) {
            if let Query::Snmp(_) = query {
                let [input, output] = answer.values.each_ref().map(|value| match value {
                    Some(value) => shown(&String::from_utf8_lossy(value)),
                    None => "U".to_owned(),
                });
                let text = query_text(query);
                let (uptime, name) = (&answer.uptime, &answer.name);
                let more = [uptime, name].into_iter().flatten();
                let more: Vec<String> = more.map(|text| shown(text)).collect();
                say(format!("--snpo: {text}: {input} {output} {}", more.join(", "))
                    .trim_end()
                    .to_owned());
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_and_wrong_ones_are_named() {
        let tags = DebugTags::parse("cfg, log,,prof").expect("tags");
        let expected = DebugTags { cfg: true, log: true, time: true, ..DebugTags::default() };
        assert_eq!(tags, expected);
        assert!(DebugTags::parse("log,nonsense").is_err_and(|why| why.contains("nonsense")));
        assert!(DebugTags::parse("fork").is_err_and(|why| why.contains("no forks")));
        assert_eq!(DebugTags::parse(""), Ok(DebugTags::default()));
    }
    #[test]
    fn the_time_of_a_round_says_what_it_read() {
        let report =
            RoundReport { known_count: 3, unknown_count: 2, reset_count: 1, ..Default::default() };
        assert_eq!(DebugTags::default().of_time(&report, 0), None);
        let tags = DebugTags { time: true, ..DebugTags::default() };
        let expected = "--time: 3 targets known, 2 unknown, 1 with counters that began anew, 12 ms";
        assert_eq!(tags.of_time(&report, 12_999_999).as_deref(), Some(expected));
    }
}
