//! Numbers as short text, in a reused buffer.  A missing number is `-`, never 0.

use std::fmt::Write as _;

/// Appends a size in bytes: `512K`, `9.8M`, `123M`, `1.2G`; four characters.
pub(crate) fn size(out: &mut String, bytes: Option<f64>) {
    const UNITS: [char; 7] = ['B', 'K', 'M', 'G', 'T', 'P', 'E'];
    let Some(bytes) = bytes else { return out.push('-') };
    let (mut value, mut unit) = (bytes.max(0.0), 0);
    // Three digits and the unit: what would be rounded up to 1000 gets the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 9.95);
    let _ = write!(out, "{value:.digits$}");
    if unit > 0 {
        out.push(UNITS[unit]);
    }
}

/// Appends a percentage: `0.0`, `12.3`, from 1000 on without decimals.
pub(crate) fn percent(out: &mut String, value: Option<f64>) {
    let Some(value) = value else { return out.push('-') };
    let digits = usize::from(value.abs() < 999.95);
    let text_at = out.len();
    let _ = write!(out, "{value:.digits$}");
    // A difference of two clocks may be slightly negative.
    if &out[text_at..] == "-0.0" {
        out.remove(text_at);
    }
}

/// Appends a whole number.
pub(crate) fn whole(out: &mut String, value: Option<f64>) {
    match value {
        Some(value) => drop(write!(out, "{value:.0}")),
        None => out.push('-'),
    }
}

/// Appends a rate: one decimal below ten.
pub(crate) fn rate(out: &mut String, value: Option<f64>) {
    let Some(value) = value else { return out.push('-') };
    let digits = usize::from(value > 0.0 && value < 9.95);
    let _ = write!(out, "{value:.digits$}");
}

/// Appends a count as at most five characters: `0`, `9.5`, `12345`, `123k`, `1.2M`.
pub(crate) fn count(out: &mut String, value: Option<f64>) {
    const UNITS: [&str; 5] = ["k", "M", "G", "T", "P"];
    if value.is_none_or(|value| value < 99_999.5) {
        return rate(out, value);
    }
    let (mut value, mut unit) = (value.unwrap_or_default() / 1000.0, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(value < 9.95);
    let _ = write!(out, "{value:.digits$}{}", UNITS[unit]);
}

/// Appends CPU time as `m:ss.cc`, from 1000 minutes on as `h:mm` with an `h`.
pub(crate) fn time(out: &mut String, seconds: Option<f64>) {
    let Some(seconds) = seconds else { return out.push('-') };
    let hundredths = (seconds.max(0.0) * 100.0) as u64;
    let (minutes, rest) = (hundredths / 6000, hundredths % 6000);
    let _ = if minutes < 1000 {
        write!(out, "{minutes}:{:02}.{:02}", rest / 100, rest % 100)
    } else {
        write!(out, "{}h{:02}", minutes / 60, minutes % 60)
    };
}

/// Appends a duration in one or two units: `0.3s`, `12s`, `3m04`, `5h06`, `7d08`.
pub(crate) fn stretch(out: &mut String, seconds: Option<f64>) {
    let Some(seconds) = seconds else { return out.push('-') };
    let whole = seconds.max(0.0) as u64;
    let _ = match whole {
        0..10 => write!(out, "{seconds:.2}s"),
        10..60 => write!(out, "{whole}s"),
        60..3600 => write!(out, "{}m{:02}", whole / 60, whole % 60),
        3600..86_400 => write!(out, "{}h{:02}", whole / 3600, whole / 60 % 60),
        _ => write!(out, "{}d{:02}", whole / 86_400, whole / 3600 % 24),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn sizes_fit_four_characters() {
        for (bytes, wanted) in [
            (0.0, "0"),
            (999.0, "999"),
            (1023.0, "1.0K"),
            (1024.0 * 9.96, "10K"),
            (1024.0 * 512.0, "512K"),
            (1024.0 * 1023.0, "1.0M"),
            (1.25 * 1_073_741_824.0, "1.2G"),
        ] {
            let text = text(|out| size(out, Some(bytes)));
            assert_eq!(text, wanted);
            assert!(text.len() <= 4);
        }
        assert_eq!(text(|out| size(out, None)), "-");
    }

    #[test]
    fn shares_and_times() {
        assert_eq!(text(|out| percent(out, Some(99.95))), "100.0");
        assert_eq!(text(|out| percent(out, Some(-0.01))), "0.0");
        assert_eq!(text(|out| percent(out, Some(12_345.6))), "12346");
        assert_eq!(text(|out| percent(out, None)), "-");
        assert_eq!(text(|out| time(out, Some(61.239))), "1:01.23");
        assert_eq!(text(|out| time(out, Some(90_061.0))), "25h01");
        assert_eq!(text(|out| stretch(out, Some(0.5))), "0.50s");
        assert_eq!(text(|out| stretch(out, Some(90_061.0))), "1d01");
        assert_eq!(text(|out| rate(out, Some(0.04))), "0.0");
        for (value, wanted) in
            [(0.0, "0"), (99_999.4, "99999"), (123_456.0, "123k"), (1.24e6, "1.2M")]
        {
            assert_eq!(text(|out| count(out, Some(value))), wanted);
        }
    }
}
