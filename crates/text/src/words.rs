//! Words of a line, as its writer meant them.

/// The words of a line; blanks separate them, but for those in quotes, `"` or `'`.
#[must_use]
pub fn quoted_words(line: &str, is_blank: impl Fn(char) -> bool) -> Vec<String> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match open {
            Some(quote) if letter == quote => open = None,
            None if letter == '"' || letter == '\'' => {
                open = Some(letter);
                word.get_or_insert_default();
            }
            None if is_blank(letter) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_blanks_and_nothing_is_a_word_too() {
        let words = quoted_words(" a  \"b c\"d '' 'e\"", char::is_whitespace);
        assert_eq!(words, ["a", "b cd", "", "e\""]);
        assert_eq!(quoted_words(" \t", char::is_whitespace), [""; 0]);
    }
}
