//! The addresses of the kernel's variables, from `/proc/kallsyms`.
//!
//! Read once, when a program is loaded: 30 to 60 ms for 5 MB.  Data is listed only by a kernel with
//! `CONFIG_KALLSYMS_ALL`, which distributions set, and addresses are shown only to a process with
//! `CAP_SYSLOG`.

use std::io::{BufRead, BufReader};

/// The addresses of these symbols of the kernel itself, not of its modules; `None` for a symbol
/// that is not listed or whose address is hidden.
pub(crate) fn addresses<const N: usize>(names: &[&str; N]) -> [Option<u64>; N] {
    match std::fs::File::open("/proc/kallsyms") {
        Ok(file) => find_addresses(BufReader::with_capacity(1 << 16, file), names),
        Err(_) => [None; N],
    }
}

/// As [`addresses`], in this text: `ffffffff81000000 T _stext`.
fn find_addresses<const N: usize>(mut text: impl BufRead, names: &[&str; N]) -> [Option<u64>; N] {
    let (mut found, mut left) = ([None; N], N);
    let mut line = Vec::new();
    while left > 0 && text.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let mut words = line.trim_ascii_end().splitn(3, |&byte| byte == b' ');
        if let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
            && let Some(at) = names.iter().position(|wanted| wanted.as_bytes() == name)
            && found[at].is_none()
        {
            let address = std::str::from_utf8(address).unwrap_or_default();
            // A hidden address is printed as 0.
            found[at] = u64::from_str_radix(address, 16).ok().filter(|&address| address != 0);
            left -= 1;
        }
        line.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_kernel_itself() {
        let text = b"0000000000014c40 A kstat\nffffffff81000000 T _stext\n0000000000000000 D x\n\
            ffffffffc0000000 d kstat\t[module]\nffffffff82000008 D total_forks\n";
        let found = find_addresses(&text[..], &["total_forks", "kstat", "x", "absent"]);
        assert_eq!(found, [Some(0xFFFF_FFFF_8200_0008), Some(0x14C40), None, None]);
    }
}
