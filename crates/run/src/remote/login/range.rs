//! `web[01-12,20].example.com`: many hosts in one word.
//!
//! Numbers are padded to the width of the first of a range.  Brackets with a colon are an address.

use super::{HOSTS_MAX, LoginError};

/// All hosts that a login stands for; the login itself if it has no range.
///
/// # Errors
/// If a bracket is not closed or contains no numbers, or there are too many hosts.
pub(super) fn expand(login: &str) -> Result<Vec<String>, LoginError> {
    let mut done = vec![String::new()];
    let mut rest = login;
    while let Some((before, after)) = rest.split_once('[') {
        let wrong = || LoginError::Range(login.to_owned());
        let (inside, after) = after.split_once(']').ok_or_else(wrong)?;
        for word in &mut done {
            word.push_str(before);
        }
        if inside.contains(':') {
            for word in &mut done {
                word.push('[');
                word.push_str(inside);
                word.push(']');
            }
        } else {
            let numbers = numbers(inside, login)?;
            if numbers.len().saturating_mul(done.len()) > HOSTS_MAX {
                return Err(LoginError::Many(login.to_owned()));
            }
            done = done
                .iter()
                .flat_map(|word| numbers.iter().map(move |number| format!("{word}{number}")))
                .collect();
        }
        rest = after;
    }
    for word in &mut done {
        word.push_str(rest);
    }
    Ok(done)
}

/// Parses `1,3,8-10`; numbers keep their width.
fn numbers(inside: &str, login: &str) -> Result<Vec<String>, LoginError> {
    let wrong = || LoginError::Range(login.to_owned());
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<usize>().ok().filter(|_| plain).ok_or_else(wrong)
    };
    let mut all = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err(wrong());
        }
        if to - from >= HOSTS_MAX || all.len() + (to - from) >= HOSTS_MAX {
            return Err(LoginError::Many(login.to_owned()));
        }
        all.extend((from..=to).map(|value| format!("{value:0width$}", width = first.len())));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_hosts() {
        let expanded = |text| expand(text).unwrap_or_else(|error| panic!("{error}")).join(" ");
        assert_eq!(expanded("a"), "a");
        assert_eq!(expanded("h[1,3,8-10]"), "h1 h3 h8 h9 h10");
        assert_eq!(
            expanded("4/r[1-2]n[08-10].x"),
            "4/r1n08.x 4/r1n09.x 4/r1n10.x 4/r2n08.x 4/r2n09.x 4/r2n10.x"
        );
        assert_eq!(expanded("me@[fe80::1]:22"), "me@[fe80::1]:22");
    }

    #[test]
    fn what_is_no_range_is_named_and_none_is_too_large() {
        for text in ["h[", "h[1", "h[]", "h[a-b]", "h[1-]", "h[3-1]", "h[1,,2]", "h[-1]"] {
            assert_eq!(expand(text), Err(LoginError::Range(text.into())), "{text}");
        }
        for text in ["h[0-99999999]", "h[1-999][1-999]", "h[1-40000,1-40000]"] {
            assert_eq!(expand(text), Err(LoginError::Many(text.into())), "{text}");
        }
    }
}
