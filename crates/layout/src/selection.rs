//! What `-s` selects: sources by letters, as in collectl, and by names.
//!
//! The text form, which recordings also contain, has the letters, and each name after a comma
//! (`cdn,softnet,CGROUP`).  Lower case selects the source as a whole, upper case its instances.

use std::collections::HashMap;
use std::fmt;

use sample::{Level, SourceDef};

/// The selected sources and levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    letters: String,
    names: Vec<String>,
    /// The names of each source, by its own: a recording may name thousands, and each is looked for
    /// at every tick.
    of_source: HashMap<String, Vec<usize>>,
}

impl Selection {
    /// The letters, in the order they were given.
    pub fn letters(&self) -> &str {
        &self.letters
    }

    /// The names, in the order they were given; upper case for instances.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.names.is_empty()
    }

    /// The number of letters and names.
    pub fn len(&self) -> usize {
        self.letters.chars().count() + self.names.len()
    }

    /// Whether it contains the letter.
    pub fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }

    /// Whether it contains any of the letters.
    pub fn has_any(&self, letters: &[char]) -> bool {
        self.letters.contains(letters)
    }

    /// Whether a source is selected at a level.  If a source has instances only, its name selects
    /// them in upper and lower case.
    pub fn asks(&self, def: &SourceDef, level: Level) -> bool {
        if def.letter(level).is_some_and(|letter| self.has(letter)) {
            return true;
        }
        self.names_of(def).any(|name| Self::level_of(name, def) == Some(level))
    }

    /// Whether a source is selected at any level.
    pub fn asks_for(&self, def: &SourceDef) -> bool {
        def.letters.chars().any(|letter| self.has(letter)) || self.names_of(def).next().is_some()
    }

    /// The names that are a source's, in small letters or capitals.
    fn names_of(&self, def: &SourceDef) -> impl Iterator<Item = &str> {
        let places = match def.name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            false => self.of_source.get(&*def.name),
            true => self.of_source.get(&def.name.to_ascii_lowercase()),
        };
        places.into_iter().flatten().map(|&place| self.names[place].as_str())
    }

    /// Finds the places of names anew.
    fn index(&mut self) {
        self.of_source.clear();
        for (place, name) in self.names.iter().enumerate() {
            self.of_source.entry(name.to_ascii_lowercase()).or_default().push(place);
        }
    }

    /// The level at which a name selects a source; `None` if it is the name of another source.
    fn level_of(name: &str, def: &SourceDef) -> Option<Level> {
        if !name.eq_ignore_ascii_case(&def.name) {
            return None;
        }
        let is_capital = name.bytes().any(|byte| byte.is_ascii_uppercase());
        let wanted = if is_capital { Level::Detail } else { Level::Summary };
        def.levels().find(|&level| level == wanted).or_else(|| def.levels().next())
    }

    /// Adds letters and names that it does not contain yet.
    pub fn add(&mut self, other: &Selection) {
        for letter in other.letters.chars() {
            if !self.letters.contains(letter) {
                self.letters.push(letter);
            }
        }
        other.names().for_each(|name| self.push_name(name));
    }

    /// Removes letters and names.
    pub fn remove(&mut self, other: &Selection) {
        self.letters.retain(|letter| !other.has(letter));
        self.names.retain(|name| !other.has_name(name));
        self.index();
    }

    /// Removes everything that selects a source; true if there was anything.
    pub fn remove_source(&mut self, def: &SourceDef) -> bool {
        let before = self.len();
        self.letters.retain(|letter| !def.letters.contains(letter));
        self.names.retain(|name| !name.eq_ignore_ascii_case(&def.name));
        self.index();
        self.len() < before
    }

    /// Keeps the letters for which `keep` is true, and all names.
    pub fn retain_letters(&mut self, keep: impl FnMut(char) -> bool) {
        self.letters.retain(keep);
    }

    /// Adds a letter at the end, even if it is there already.
    pub fn push_letter(&mut self, letter: char) {
        self.letters.push(letter);
    }

    /// Adds a name, unless it is there; upper case for instances.
    pub fn push_name(&mut self, name: &str) {
        if !self.has_name(name) {
            self.of_source.entry(name.to_ascii_lowercase()).or_default().push(self.names.len());
            self.names.push(name.to_owned());
        }
    }

    fn has_name(&self, name: &str) -> bool {
        let places = self.of_source.get(&name.to_ascii_lowercase());
        places.into_iter().flatten().any(|&place| self.names[place] == name)
    }
}

/// Reads the text form.
impl From<&str> for Selection {
    fn from(text: &str) -> Self {
        let mut parts = text.split(',');
        let letters = parts.next().unwrap_or_default().to_owned();
        let mut selection = Selection { letters, ..Selection::default() };
        parts.filter(|name| !name.is_empty()).for_each(|name| selection.push_name(name));
        selection
    }
}

/// Writes the text form.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.letters)?;
        self.names.iter().try_for_each(|name| write!(f, ",{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn def(name: &'static str, letters: &'static str, instances: bool) -> SourceDef {
        let instance = if instances { vec!["cpu".into()] } else { Vec::new() };
        SourceDef {
            name: name.into(),
            letters: letters.into(),
            instance: instance.into(),
            ..SourceDef::EMPTY
        }
    }

    #[test]
    fn letters_and_names_ask_for_levels() {
        let (disk, softnet, core) =
            (def("disk", "dD", true), def("softnet", "", true), def("cpu_core", "C", true));
        let asked = |text: &str, def: &SourceDef| {
            let selection = Selection::from(text);
            [Level::Summary, Level::Detail].map(|level| selection.asks(def, level))
        };
        assert_eq!(asked("cd", &disk), [true, false]);
        assert_eq!(asked("D", &disk), [false, true]);
        assert_eq!(asked(",disk", &disk), [true, false]);
        assert_eq!(asked("c,DISK", &disk), [false, true]);
        assert_eq!(asked("dsoftnet", &softnet), [false, false]);
        assert_eq!(asked("d,softnet,SOFTNET", &softnet), [true, true]);
        assert_eq!(asked(",cpu_core", &core), [false, true]);
        assert!(Selection::from(",SOFTNET").asks_for(&softnet));
        assert_eq!(asked(",SOFTNET", &def("softnet", "", false)), [true, false]);
    }

    #[test]
    fn the_text_form_returns() {
        for text in ["", "cdn", "cdn,softnet", ",softnet,DISK"] {
            assert_eq!(Selection::from(text).to_string(), text);
        }
        let mut selection = Selection::from("cd,softnet");
        selection.add(&"dn,softnet,disk".into());
        assert_eq!(selection.to_string(), "cdn,softnet,disk");
        selection.remove(&"c,softnet".into());
        assert_eq!(selection.to_string(), "dn,disk");
        assert!(selection.remove_source(&def("disk", "dD", true)));
        assert_eq!(selection.to_string(), "n");
        selection.push_name("b");
        selection.push_name("B");
        selection.push_name("b");
        selection.remove(&",b".into());
        assert_eq!(selection.to_string(), "n,B");
        assert!(
            selection.asks_for(&def("b", "", true)) && !selection.asks_for(&def("c", "", true))
        );
    }
}
