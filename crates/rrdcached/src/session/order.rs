//! The order in which a client names files.
//!
//! A poller names the same files in the same order at every step.  So a session expects the name
//! that followed last time: to compare it with the line costs neither a hash nor a lock, and nobody
//! looks for the name's end.

use crate::cache::Alias;

/// Names that are kept: twice the files of a large poller, 768 KiB of a session at most.
const NAMES_MAX: usize = 32 << 10;

/// Names in the order in which a client used them.
#[derive(Debug, Default)]
pub(super) struct NameOrder {
    names: Vec<Alias>,
    /// The place of the name that is expected.
    next: usize,
}

impl NameOrder {
    /// The name that a text begins with, if it is one that is expected: the next, the one after it,
    /// or the first.  A blank follows it.
    pub(super) fn expected(&mut self, text: &[u8]) -> Option<&Alias> {
        let is_at = |place: &usize| {
            let rest = self.names.get(*place).and_then(|own| text.strip_prefix(&*own.name));
            rest.is_some_and(|rest| rest.first() == Some(&b' '))
        };
        let place = [self.next, self.next + 1, 0].into_iter().find(is_at)?;
        self.next = place + 1;
        self.names.get(place)
    }

    /// Remembers a name that was not expected, in place of the one that was.
    pub(super) fn remember(&mut self, name: Alias) {
        // One that is written with a backslash would be found in other lines.
        if memchr::memchr3(b' ', 0, b'\\', &name.name).is_some() {
            return;
        }
        let is_full = self.names.len() >= NAMES_MAX;
        match self.names.get_mut(self.next) {
            Some(own) => *own = name,
            None if is_full => return,
            None => self.names.push(name),
        }
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cache::Cache;

    /// Names of lines that were expected; the others are remembered.
    fn expected<'a>(order: &mut NameOrder, cache: &Cache, names: &[&'a str]) -> Vec<&'a str> {
        let is_expected = |name: &&str| {
            let found = order.expected(format!("{name} 1:2").as_bytes());
            if let Some(found) = found {
                assert_eq!(*found.name, *name.as_bytes());
                return true;
            }
            let entry = cache.file(Path::new(name), 0);
            order.remember(cache.remember(name.as_bytes(), &entry));
            false
        };
        names.iter().copied().filter(is_expected).collect()
    }

    #[test]
    fn names_are_expected_in_the_order_of_the_last_time() {
        let (cache, mut order) = (Cache::new(), NameOrder::default());
        let all = ["a", "ab", "abc", "b"];
        assert!(expected(&mut order, &cache, &all).is_empty());
        assert_eq!(expected(&mut order, &cache, &all), all);
        // One is missing, and then it is there again.
        assert_eq!(expected(&mut order, &cache, &["a", "abc", "b"]), ["a", "abc", "b"]);
        assert_eq!(expected(&mut order, &cache, &all), all);
        // A new one.
        let more = ["a", "aa", "ab", "abc", "b"];
        expected(&mut order, &cache, &more);
        assert_eq!(expected(&mut order, &cache, &more), more);
        assert_eq!(order.names.len(), more.len());
    }

    #[test]
    fn a_name_ends_with_a_blank() {
        let (cache, mut order) = (Cache::new(), NameOrder::default());
        expected(&mut order, &cache, &["a b"]);
        assert!(order.names.is_empty());
        expected(&mut order, &cache, &["ab"]);
        for text in ["ab", "abc 1:2", "ab\\ 1:2", "ab\0", "a"] {
            assert!(order.expected(text.as_bytes()).is_none(), "{text}");
        }
        assert!(order.expected(b"ab ").is_some());
    }
}
