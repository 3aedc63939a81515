//! A command line up to the cursor, as words.

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without quotes and backslashes.
    pub(crate) text: String,
    /// Whether a quote is open at its end: the shell then breaks it nowhere.
    pub(crate) is_quoted: bool,
}

/// The words of a line; the last one is that at the cursor, which may be empty.  Quotes and backslashes
/// are POSIX's; nothing is expanded.
pub(crate) fn words(line: &str) -> Vec<Word> {
    let (mut words, mut word, mut is_begun) = (Vec::new(), Word::default(), false);
    let mut letters = line.chars();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t' | '\n') => {
                words.extend(is_begun.then(|| std::mem::take(&mut word)));
                is_begun = false;
                continue;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '\\') => word.text.extend(letters.next()),
            _ => word.text.push(letter),
        }
        is_begun = true;
    }
    word.is_quoted = quote.is_some();
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_words_as_a_shell_reads_them() {
        let texts = |line| words(line).into_iter().map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(texts("whit play "), ["whit", "play", ""]);
        assert_eq!(texts("whit  play -s c"), ["whit", "play", "-s", "c"]);
        assert_eq!(texts(r"a 'b c' d\ e "), ["a", "b c", "d e", ""]);
        assert_eq!(texts(r#"disk\[sda "x\"y"#), ["disk[sda", "x\"y"]);
        assert_eq!(texts("a ''"), ["a", ""]);
        assert_eq!(texts(""), [""]);
        assert!(words("a 'b").last().unwrap().is_quoted);
        assert!(!words("a 'b'").last().unwrap().is_quoted);
        assert_eq!(texts("a \\"), ["a", ""]);
    }
}
