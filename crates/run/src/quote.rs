//! Quoting: values written so that a shell reads them as one word each.
