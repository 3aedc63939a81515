//! How a poller's devices are named in recordings: a source for each device, two fields for each target.

use crate::SourceDef;

/// Which of a target's two values a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The first value.
    In,
    /// The second value.
    Out,
}

impl Direction {
    /// Both, in the order of fields.
    pub const BOTH: [Direction; 2] = [Direction::In, Direction::Out];

    /// How fields end.
    pub fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
        }
    }
}

impl SourceDef {
    /// What the source of a device's targets is about.
    pub fn about_device(device: &str) -> String {
        format!("Targets of {device}, polled")
    }

    /// The device that the source is of, if it is one of a poller's.
    pub fn device(&self) -> Option<&str> {
        self.about.strip_prefix("Targets of ")?.strip_suffix(", polled")
    }

    /// The target that a field of such a source is of: `TARGET_in`, or `TARGET_in_2` if a field before
    /// has that name, which is of the target `TARGET_2`.
    pub fn target_of(field: &str) -> Option<(String, Direction)> {
        let digits = field.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (rest, number) = field.split_at(field.len() - digits);
        let numbered = rest.strip_suffix('_').filter(|_| digits > 0);
        let of = |text: &str, number: &str| {
            let direction = Direction::BOTH.into_iter().find_map(|direction| {
                let target = text.strip_suffix(direction.name())?.strip_suffix('_')?;
                Some((target.to_owned(), direction))
            });
            direction.map(|(target, direction)| match number {
                "" => (target, direction),
                number => (format!("{target}_{number}"), direction),
            })
        };
        numbered.and_then(|rest| of(rest, number)).or_else(|| of(field, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_tell_their_targets() {
        let of = |field| SourceDef::target_of(field).map(|(name, of)| (name, of.name()));
        for (field, target) in [
            ("eth0_in", Some(("eth0", "in"))),
            ("a_in_out", Some(("a_in", "out"))),
            ("a_b_in_2", Some(("a_b_2", "in"))),
            ("link_12_out", Some(("link_12", "out"))),
            ("in", None),
            ("a_b_2", None),
            ("", None),
        ] {
            assert_eq!(of(field), target.map(|(name, of)| (name.to_owned(), of)), "{field}");
        }
        let about = SourceDef::about_device("10.0.0.1").into();
        let def = SourceDef { about, ..SourceDef::EMPTY };
        assert_eq!((def.device(), SourceDef::EMPTY.device()), (Some("10.0.0.1"), None));
    }
}
