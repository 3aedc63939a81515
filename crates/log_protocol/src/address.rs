//! How the addresses of central servers are written.

use connection::{Address, AddressError, AddressRules};

/// The path of a socket, `HOST:PORT` or `tls:HOST:PORT`.
const RULES: AddressRules =
    AddressRules { default_port: None, is_path: |text| text.contains('/'), is_host: |_| true };

/// Reads an address: `unix:PATH`, a path with a `/`, `HOST:PORT`, or `tls:HOST:PORT`.
///
/// # Errors
/// If it is none; the text says what is wrong.
pub fn parse_address(text: &str) -> Result<Address, String> {
    Address::parse(text, &RULES).map_err(|error| match error {
        AddressError::EncryptedFile => format!("{text}: {error}: leave tls: out"),
        _ => format!("{text}: give HOST:PORT, tls:HOST:PORT, or the path of a socket"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("unix:socket", Ok("socket")),
            ("/run/a:1", Ok("/run/a:1")),
            ("central:4515", Ok("central:4515")),
            ("tls:central:4515", Ok("tls:central:4515")),
            ("tls:[::1]:4515", Ok("tls:[::1]:4515")),
            ("tls:/run/a", Err("leave tls: out")),
            ("central", Err("give HOST:PORT")),
            ("central:70000", Err("give HOST:PORT")),
            ("tls::4515", Err("give HOST:PORT")),
        ] {
            match (parse_address(text), shown) {
                (Ok(address), Ok(shown)) => assert_eq!(address.to_string(), shown),
                (Err(said), Err(part)) => assert!(said.contains(part), "{text}: {said}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }
}
