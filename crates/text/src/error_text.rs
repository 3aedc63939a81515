//! Errors as text.

use std::error::Error;

/// An error and its causes in one line, each after a colon, without those that the text before them
/// tells already.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.contains(&text) {
            line += ": ";
            line += &text;
        }
        source = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Failed(&'static str, Option<Box<Failed>>);

    impl std::fmt::Display for Failed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn each_cause_follows_its_effect() {
        let inner = Failed("no such file", None);
        assert_eq!(with_causes(&inner), "no such file");
        let outer =
            Failed("cannot start", Some(Box::new(Failed("cannot read", Some(inner.into())))));
        assert_eq!(with_causes(&outer), "cannot start: cannot read: no such file");
        let twice = Failed("a: no such file", Some(Failed("no such file", None).into()));
        assert_eq!(with_causes(&twice), "a: no such file");
    }
}
