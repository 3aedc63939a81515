//! The vertical axis: its largest value, the numbers at its marks, and axes that are not linear.

/// The axis of a picture.
#[derive(Debug, PartialEq)]
pub(super) struct Scale {
    /// The value at the upper edge.
    pub(super) top: f64,
    /// What the label of a mark is a multiple of.
    pub(super) label_step: f64,
    /// `k`, `M`, …
    pub(super) prefix: String,
}

/// What decides the axis.
#[derive(Debug, Clone)]
pub(super) struct ScaleRules<'a> {
    /// Marks above 0.
    pub(super) marks: u32,
    /// Factor of the labels.
    pub(super) label_factor: f64,
    pub(super) kilo: f64,
    /// Prefixes with commas between; a `-` is passed over.
    pub(super) prefixes: Option<&'a str>,
}

impl Scale {
    /// An axis for values up to `largest`: the value of the first mark gets one or two digits.
    pub(super) fn new(largest: i64, rules: &ScaleRules<'_>) -> Self {
        let largest = largest.max(1);
        let marks = f64::from(rules.marks.max(1));
        let prefixes: Vec<&str> = rules.prefixes.unwrap_or(",k,M,G,T").split(',').collect();
        let per_mark = (largest as f64 / marks).ceil();
        let labelled = per_mark * rules.label_factor;
        let mut power = 0;
        let mut rest = labelled;
        while power + 1 < prefixes.len() && (rest >= 1000.0 || prefixes[power].starts_with('-')) {
            rest /= 1000.0;
            power += 1;
        }
        let label_step = rounded_up(labelled) / 10_f64.powi(3 * power as i32);
        let top = label_step / rules.label_factor * marks * rules.kilo.powi(power as i32);
        Scale { top: top.max(1.0), label_step, prefix: prefixes[power].to_owned() }
    }
}

/// The next number of two digits, and of one digit if that is at most a tenth more.
fn rounded_up(value: f64) -> f64 {
    let digits = if value >= 1.0 { value.log10().trunc() } else { 0.0 };
    let (ten, hundred) = (10_f64.powf(digits), 10_f64.powf(digits - 1.0));
    let next_one = ((value / ten).trunc() + 1.0) * ten;
    let this_two = (value / hundred).trunc() * hundred;
    if next_one <= 1.1 * value {
        next_one
    } else if value == this_two {
        this_two
    } else {
        ((value / hundred).trunc() + 1.0) * hundred
    }
}

/// `logscale`: height `y` of an axis of height `top` with small values drawn larger.
pub(super) fn logarithmic(y: f64, top: f64) -> f64 {
    let y = y * (top - 1.0) / top + 1.0;
    (y.ln() / top.ln() * top).clamp(0.0, top)
}

/// `expscale`: with large values drawn larger.
pub(super) fn exponential(y: f64, top: f64) -> f64 {
    let y = (y / top * top.ln()).exp();
    (y - 1.0) * top / (top - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(largest: i64) -> (f64, String) {
        let rules = ScaleRules { marks: 4, label_factor: 1.0, kilo: 1000.0, prefixes: None };
        let scale = Scale::new(largest, &rules);
        (scale.top, format!("{:.1} {}", scale.label_step, scale.prefix))
    }

    #[test]
    fn the_first_mark_has_one_or_two_digits() {
        assert_eq!(scale(0), (4.0, "1.0 ".to_owned()));
        assert_eq!(scale(1_250_000), (1_280_000.0, "320.0 k".to_owned()));
        assert_eq!(scale(3_900_000_000), (4_000_000_000.0, "1000.0 M".to_owned()));
        assert_eq!(scale(40_000), (40_000.0, "10.0 k".to_owned()));
    }
}
