//! Numbers of pages, as MRTG writes them: `12.5 kB/s (1.2%)`.

use crate::PollTarget;

/// A value of a target with its unit, and as per cent of `MaxBytes`.
pub(super) fn with_unit(target: &PollTarget, value: i64, max_bytes: f64) -> String {
    let options = &target.options;
    let units = units(target);
    // A legend of the target's own says the unit, so without kMG the factor of bits stays.
    let is_bits = options.bits && !(target.kmg.is_some() && target.short_legend.is_some());
    let mut shown = value as f64 * if is_bits { 8.0 } else { 1.0 } * target.factor;
    let kilo = target.kilo as f64;
    let mut power = 0;
    while power + 1 < units.len() && (shown >= 10.0 * kilo || units[power].starts_with('-')) {
        power += 1;
        shown /= kilo;
    }
    let unit = &units[power];
    let digits = if options.integer { 0 } else { 1 };
    if options.nopercent {
        return format!("{shown:.digits$} {unit}");
    }
    let percent = match value == 0 || max_bytes == 0.0 {
        true => 0.0,
        false => 100.0 / max_bytes * value as f64,
    };
    format!("{shown:.digits$} {unit} ({percent:.1}%)")
}

/// The unit with each prefix.
fn units(target: &PollTarget) -> Vec<String> {
    let options = &target.options;
    let what = if options.bits { "b" } else { "B" };
    let per = match (options.perminute, options.perhour) {
        (true, _) => "min",
        (_, true) => "h",
        _ => "s",
    };
    let usual = format!("{what}/{per}");
    match &target.kmg {
        Some(prefixes) => {
            let unit = target.short_legend.as_deref().unwrap_or(&usual);
            // Perl's split drops empty ends.
            let prefixes = prefixes.trim_end_matches(',').split(',');
            prefixes.map(|prefix| format!("{prefix}{unit}")).collect()
        }
        None => {
            let own = target.short_legend.as_deref().filter(|unit| !unit.is_empty());
            let unit = own.unwrap_or(&usual);
            ["", "k", "M", "G"].iter().map(|prefix| format!("{prefix}{unit}")).collect()
        }
    }
}
