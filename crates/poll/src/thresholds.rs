//! Thresholds of a target: bounds, and what is done when one is broken.

/// `Thresh*` or `HWThresh*` of a target.  Pairs are for in and for out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThresholdRules {
    /// Lower bounds, as written: a number, or a number with `%` of `MaxBytes`.
    pub minimum: [Option<String>; 2],
    /// Upper bounds, as written.
    pub maximum: [Option<String>; 2],
    /// A description for programs and mails.
    pub description: Option<String>,
    /// Programs that are run when a bound is broken.
    pub programs: [Option<String>; 2],
    /// Programs that are run when it is kept again.
    pub programs_ok: [Option<String>; 2],
    /// The receivers of mail: addresses with commas between.
    pub mail_address: Option<String>,
}

impl ThresholdRules {
    /// Whether there is any bound.
    pub fn has_bounds(&self) -> bool {
        self.minimum.iter().chain(&self.maximum).any(Option::is_some)
    }
}
