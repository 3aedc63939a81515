//! Errors as text.

use std::error::Error;

/// An error and its causes in one line, each after a colon, as `anyhow` shows them with `{:#}`.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line.push_str(": ");
        line.push_str(&cause.to_string());
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
    }
}
