//! What a round-robin database of a target has: kind and limits of its sources, and, for a new one,
//! its archives, as MRTG makes them.

use rrd::header::SourceKind;

use crate::config::Global;
use crate::target::PollTarget;

/// The names of both data sources.
pub(super) const SOURCES: [&str; 2] = ["ds0", "ds1"];

/// What the database of a target has.
pub(super) struct Design {
    pub(super) step_s: u64,
    /// Upper limits, no number for none.
    pub(super) limits: [f64; 2],
    pub(super) kind: SourceKind,
}

impl Design {
    /// The design that MRTG gives a target.
    pub(super) fn of(global: &Global, target: &PollTarget) -> Self {
        let step_s = u64::from(global.interval_s);
        let limits = target.max_bytes.map(|most| match target.abs_max.unwrap_or(most) {
            0.0 => f64::NAN,
            most => most,
        });
        Design { step_s, limits, kind: kind(target) }
    }

    /// The limits as RRDtool's arguments have them.
    pub(super) fn limit_texts(&self) -> [String; 2] {
        self.limits.map(|most| if most.is_nan() { "U".to_owned() } else { format!("{most}") })
    }

    /// What a new database is made from.
    pub(super) fn definitions(&self, target: &PollTarget) -> Vec<String> {
        let minutes = self.step_s as f64 / 60.0;
        let heartbeat = (2 * self.step_s).max(600);
        let kind = self.kind;
        let limits = self.limit_texts();
        let mut definitions: Vec<String> = SOURCES
            .iter()
            .zip(&limits)
            .map(|(name, limit)| format!("DS:{name}:{}:{heartbeat}:0:{limit}", kind.name()))
            .collect();
        let rows = |given: &Option<String>, usual: f64| {
            given.clone().unwrap_or_else(|| format!("{}", usual.trunc()))
        };
        let counts = &target.row_counts;
        for function in ["AVERAGE", "MAX"] {
            let mut add = |steps: f64, rows: String| {
                definitions.push(format!("RRA:{function}:0.5:{}:{rows}", steps.trunc()));
            };
            add(1.0, rows(&counts.of_step, 4000.0 / minutes));
            if minutes < 30.0 {
                add(30.0 / minutes, rows(&counts.of_30_minutes, 800.0));
            }
            add(120.0 / minutes, rows(&counts.of_2_hours, 800.0));
            add(1440.0 / minutes, rows(&counts.of_1_day, 800.0));
        }
        definitions.extend(target.hw_archives.iter().cloned());
        definitions
    }
}

fn kind(target: &PollTarget) -> SourceKind {
    let options = &target.options;
    match options {
        _ if options.gauge => SourceKind::Gauge,
        _ if options.absolute => SourceKind::Absolute,
        _ if options.derive => SourceKind::Derive,
        _ => SourceKind::Counter,
    }
}
