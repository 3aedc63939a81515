//! From text to nodes.
//!
//! A word ends at a comma.  RRDtool tries, in this order: a number (which must be followed by a
//! comma), an operator, `PREV(name)`, a variable.  Case matters.

use text::rrdtool_number;

use crate::{NODES_MAX, Node, Operator, ProgramError, VARIABLE_NAME_BYTES_MAX};

/// Longest word that is read as a number, in bytes.
const NUMBER_BYTES_MAX: usize = 40;

/// Most bytes of the expression that an error repeats.
const QUOTED_BYTES_MAX: usize = 4000;

pub(crate) fn parse(
    text: &str,
    mut index_of: impl FnMut(&str) -> Option<usize>,
) -> Result<Vec<Node>, ProgramError> {
    if text.is_empty() {
        return Err(ProgramError::Empty);
    }
    let mut nodes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.split(',').next().unwrap_or_default();
        let is_last = word.len() == rest.len();
        nodes.push(node(word, is_last, rest, &mut index_of)?);
        if nodes.len() > NODES_MAX {
            return Err(ProgramError::TooLong { max: NODES_MAX, count: nodes.len() });
        }
        rest = rest.get(word.len() + 1..).unwrap_or_default();
    }
    Ok(nodes)
}

fn node(
    word: &str,
    is_last: bool,
    rest: &str,
    index_of: &mut impl FnMut(&str) -> Option<usize>,
) -> Result<Node, ProgramError> {
    if !is_last && let Some(number) = constant(word) {
        return Ok(Node::Number(number));
    }
    if let Some(operator) = Operator::by_name(word) {
        return Ok(Node::Operator(operator));
    }
    if let Some(inner) = word.strip_prefix("PREV(") {
        let name = &inner[..inner.len() - inner.trim_start_matches(is_name_character).len()];
        if !name.is_empty() {
            if inner.strip_prefix(name) != Some(")") {
                return Err(ProgramError::Garbage(quoted(rest)));
            }
            let index = index_of(name);
            return index
                .map(Node::PreviousOf)
                .ok_or_else(|| ProgramError::NoVariable(name.into()));
        }
    }
    if is_name(word)
        && let Some(index) = index_of(word)
    {
        return Ok(Node::Variable(index));
    }
    Err(ProgramError::Unknown(quoted(rest)))
}

fn constant(word: &str) -> Option<f64> {
    let looks = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e');
    let looks_so = word.len() <= NUMBER_BYTES_MAX && word.bytes().all(looks);
    if looks_so { rrdtool_number::parse(word.as_bytes()) } else { None }
}

fn is_name(word: &str) -> bool {
    (1..=VARIABLE_NAME_BYTES_MAX).contains(&word.len()) && word.chars().all(is_name_character)
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn quoted(rest: &str) -> String {
    let mut end = rest.len().min(QUOTED_BYTES_MAX);
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    rest[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use crate::{EvaluateError, Operator, Program, ProgramError, Stack};

    fn parse(text: &str) -> Result<Program, ProgramError> {
        Program::parse(text, |name| ["a", "b", "e"].iter().position(|known| *known == name))
    }

    fn value(text: &str) -> Result<f64, EvaluateError> {
        let program = parse(text).expect("a program");
        program.evaluate(&mut Stack::new(), &[2.0, 11.5, f64::NAN], 1e9)
    }

    #[test]
    fn texts_of_errors_are_those_of_rrdtool() {
        let cases = [
            ("", "can not parse an empty rpn expression"),
            ("1", "don't understand '1'"),
            ("a,1", "don't understand '1'"),
            ("a,,b,+", "don't understand ',b,+'"),
            ("a b,+", "don't understand 'a b,+'"),
            ("a,0x10,+", "don't understand '0x10,+'"),
            ("a,1E2,+", "don't understand '1E2,+'"),
            ("a,1.2.3,+", "don't understand '1.2.3,+'"),
            ("a,PREV(zz),+", "variable 'zz' not found"),
            ("a,PREV(b)x,+", "garbage in RPN: 'PREV(b)x,+'"),
            ("a,PREV(b", "garbage in RPN: 'PREV(b'"),
            ("a,PREV()", "don't understand 'PREV()'"),
            ("1e1025,a,POP", "don't understand '1e1025,a,POP'"),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text).expect_err(text).to_string(), error);
        }
    }

    #[test]
    fn words_that_are_numbers_and_words_that_are_not() {
        for (text, expected) in [("a,1e,+", 3.0), ("a,1e+,+", 3.0), ("a,.5,+", 2.5), ("a,", 2.0)] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        assert!(value("a,e,+").expect("a value").is_nan());
        assert_eq!(value("1e400,a,POP"), Ok(f64::INFINITY));
    }

    #[test]
    fn numbers_are_off_as_those_of_rrdtool() {
        let number = text::rrdtool_number::parse(b"1e300").expect("a number");
        assert_eq!(format!("{number:e}"), "1.0000000000000006e300");
    }

    #[test]
    fn a_program_survives_its_text_and_its_compact_form() {
        for operator in Operator::ALL.iter().filter(|operator| !operator.needs_series()) {
            let text = format!("a,-7,PREV(b),{operator}");
            let index = |name: &str| ["a", "b"].iter().position(|known| *known == name);
            let (program, compact) = Program::parse_compute(&text, index).expect("a program");
            assert_eq!(program.to_text(|index| ["a", "b"][index]), text);
            assert_eq!(Program::from_compact(&compact), Ok(program));
        }
    }

    #[test]
    fn what_has_no_place_in_a_file_is_refused() {
        let compute = |text: &str| {
            let error = Program::parse_compute(text, |name| (name == "a").then_some(0));
            error.expect_err(text).to_string()
        };
        assert_eq!(compute("zz"), "failed to parse computed data source");
        assert!(compute("a,PREV,+").starts_with("operators TIME LTIME STEPWIDTH"));
        let constant = "constants must be integers in the interval (-32768, 32767)";
        for text in ["a,1.5,+", "a,40000,+", "a,-32769,+", "a,32767.9,+"] {
            assert_eq!(compute(text), constant);
        }
        let long = "Maximum 19 RPN nodes permitted. Got 20 RPN nodes at present.";
        assert_eq!(compute(&["a"; 20].join(",")), long);
    }

    #[test]
    fn counts_that_crash_rrdtool_are_errors() {
        for text in ["a,b,-1,SORT", "a,-1,COPY", "a,b,-1,SMAX", "a,b,50,-1,PERCENT", "a,-1,INDEX"] {
            assert!(matches!(value(text), Err(EvaluateError::NegativeCount { .. })), "{text}");
        }
        assert_eq!(value("a,b,5,SORT"), Err(EvaluateError::Underflow));
        assert_eq!(value("a,b"), Err(EvaluateError::FinalSize));
        let doubled = "a".to_owned() + &",DEPTH,COPY".repeat(40);
        assert_eq!(value(&doubled), Err(EvaluateError::Overflow));
    }
}
