//! Lists of names that cost nothing at the start of a program.
//!
//! In a position-independent program each `&str` of a static list is an address that the loader has
//! to relocate, in a page that it has to copy: 2 µs for 170 names, of which most programs use none.
//! Here all names of a list are one text, and numbers say where each ends.

/// Names by their index.
#[derive(Clone, Copy, Debug)]
pub struct NameList {
    text: &'static str,
    ends: &'static [u16],
}

impl NameList {
    /// A list; [`name_list!`](crate::name_list!) makes one of names.
    #[must_use]
    pub const fn new(text: &'static str, ends: &'static [u16]) -> Self {
        NameList { text, ends }
    }

    /// The name of an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&'static str> {
        let end = usize::from(*self.ends.get(index)?);
        let start = index.checked_sub(1).map_or(0, |before| usize::from(self.ends[before]));
        self.text.get(start..end)
    }

    /// The number of names.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.ends.len()
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> {
        let list = *self;
        (0..self.count()).filter_map(move |index| list.get(index))
    }
}

/// Where each name ends in the text of all; evaluated by the compiler.
#[must_use]
pub const fn ends<const COUNT: usize>(names: &[&str; COUNT]) -> [u16; COUNT] {
    let mut ends = [0; COUNT];
    let (mut end, mut index) = (0, 0);
    while index < COUNT {
        end += names[index].len();
        assert!(end <= u16::MAX as usize, "a list has 64 KiB of names at most");
        ends[index] = end as u16;
        index += 1;
    }
    ends
}

/// A [`NameList`] of literals.
#[macro_export]
macro_rules! name_list {
    [$($name:literal),* $(,)?] => {
        $crate::NameList::new(concat!($($name),*), const { &$crate::ends(&[$($name),*]) })
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_index() {
        static LIST: NameList = name_list!["read", "", "größe", "x"];
        assert_eq!(LIST.count(), 4);
        assert_eq!(LIST.iter().collect::<Vec<_>>(), ["read", "", "größe", "x"]);
        assert_eq!(LIST.get(2), Some("größe"));
        assert_eq!(LIST.get(4), None);
        static NONE: NameList = name_list![];
        assert_eq!(NONE.get(0), None);
    }
}
