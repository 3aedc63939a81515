//! Rules: a condition, how long it must hold, when it ends, and who is told.

use crate::receiver::AlertReceiver;
use crate::silence::SilenceTime;

/// When an alert ends, if not as soon as its condition does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum AlertUntil {
    /// When its condition does not hold with this limit.
    Limit(f64),
    /// When this condition holds for the same labels.
    Condition(String),
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertRule {
    /// The name of the rule; no two rules have the same.
    pub name: String,
    /// The condition, in PromQL.
    pub when: String,
    /// How often it is looked at, if that is not each step: a long period costs more to read.
    pub every_ms: i64,
    /// How long it must hold.
    pub for_ms: i64,
    /// When an alert ends.
    pub until: Option<AlertUntil>,
    /// When no message is sent.
    pub silence: Vec<SilenceTime>,
    /// Who is told.
    pub to: Vec<AlertReceiver>,
    /// After how long a message is sent again.
    pub repeat_ms: Option<i64>,
    /// A sentence of its messages; nothing for none.
    pub message: String,
    /// What the processes of its messages are ranked by.
    pub heaviest: &'static str,
}

/// What processes can be ranked by, as the archive names it.
pub(crate) const AMOUNTS: &[&str] = &["cpu", "mem", "io", "read", "write"];

impl AlertRule {
    /// A rule without anything but its name and its condition.
    ///
    /// # Errors
    /// If the condition is none.
    pub fn new(name: &str, when: &str) -> Result<Self, String> {
        promql::check_condition(when).map_err(|error| error.to_string())?;
        Ok(AlertRule {
            name: name.to_owned(),
            when: when.to_owned(),
            every_ms: 0,
            for_ms: 0,
            until: None,
            silence: Vec::new(),
            to: Vec::new(),
            repeat_ms: None,
            message: String::new(),
            heaviest: amount_of(when),
        })
    }

    /// Sets when alerts end: a number, or a condition.
    ///
    /// # Errors
    /// If the text is neither, or a number and the condition of the rule compares with none.
    pub fn set_until(&mut self, text: &str) -> Result<(), String> {
        let failed = |error: promql::QueryError| error.to_string();
        self.until = Some(match text.trim().parse::<f64>() {
            Ok(limit) if promql::check_condition(&self.when).map_err(failed)? => {
                AlertUntil::Limit(limit)
            }
            Ok(_) => {
                return Err(
                    "a number needs a condition that compares with a number, such as x > 5: \
                            give a condition here"
                        .to_owned(),
                );
            }
            Err(_) => {
                promql::check_condition(text).map_err(failed)?;
                AlertUntil::Condition(text.to_owned())
            }
        });
        Ok(())
    }

    /// Sets what processes are ranked by.
    ///
    /// # Errors
    /// If processes are not ranked by that.
    pub fn set_heaviest(&mut self, what: &str) -> Result<(), String> {
        let known = AMOUNTS.iter().find(|known| **known == what);
        let unknown = || format!("\"{what}\" is none of {}", AMOUNTS.join(", "));
        self.heaviest = known.ok_or_else(unknown)?;
        Ok(())
    }
}

/// What processes are ranked by for a condition: by what its metrics are of.
fn amount_of(when: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| when.contains(word));
    match () {
        () if has(&["memory", "swap", "oom"]) => "mem",
        () if has(&["filesystem"]) => "write",
        () if has(&["disk", "pressure_io"]) => "io",
        () => "cpu",
    }
}

/// How often the disks are looked at: six hours of samples are read each time.
const DISKS_EVERY_MS: i64 = 120_000;

/// The rules that are on without a configuration.
#[must_use]
pub fn default_rules() -> Vec<AlertRule> {
    let free = "node_filesystem_avail_bytes";
    let full = format!(
        "predict_linear({free}[6h], 86400) < 0 and {free} / node_filesystem_size_bytes < 0.5 and \
         count_over_time({free}[6h]) >= 30"
    );
    let stalled = "whit_pressure_some_avg300_percent{resource=\"memory\"} > 10";
    let failed = "max_over_time(whit_part_failures_total[10m]) - \
                  min_over_time(whit_part_failures_total[10m]) > 0 or \
                  max_over_time(whit_part_unwritten[1m]) > 0";
    let rules = [
        (
            "disk full in 24 h",
            full.as_str(),
            DISKS_EVERY_MS,
            600_000,
            None,
            "At the pace of the last six hours the file system is full within a day.",
        ),
        (
            "memory pressure",
            stalled,
            0,
            120_000,
            Some(AlertUntil::Limit(5.0)),
            "More than a tenth of the last five minutes some program waited for memory.",
        ),
        (
            "a part of whit failed",
            failed,
            0,
            0,
            None,
            "whit watch --status says which part, and why.",
        ),
    ];
    let rules = rules.into_iter().filter_map(|(name, when, every_ms, for_ms, until, message)| {
        let rule = AlertRule::new(name, when).ok()?;
        Some(AlertRule { every_ms, for_ms, until, message: message.to_owned(), ..rule })
    });
    rules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_rules() {
        let heaviest: Vec<_> = default_rules().iter().map(|rule| rule.heaviest).collect();
        assert_eq!(heaviest, ["write", "mem", "cpu"]);
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for wrong in ["", "1", "x[5m]", "x >", "mad_over_time(x[5m])"] {
            assert!(AlertRule::new("a", wrong).is_err(), "{wrong}");
        }
        let mut rule = AlertRule::new("a", "x > 5").unwrap();
        rule.set_until("3").unwrap();
        assert_eq!(rule.until, Some(AlertUntil::Limit(3.0)));
        rule.set_until("x < 2").unwrap();
        assert!(rule.set_until("x <").is_err() && rule.set_heaviest("luck").is_err());
        let mut plain = AlertRule::new("a", "absent(x)").unwrap();
        assert!(plain.set_until("3").is_err());
    }
}
