//! Raw logs of atop: the header, and the records.

use std::io::Cursor;
use std::path::Path;

use recording::atop::AtopReader;

/// Records taken of one input; each may be a megabyte when unpacked.
const RECORDS_MAX: usize = 2;

/// The bytes are a raw log.
pub fn atop(bytes: &[u8]) {
    let Ok(mut reader) = AtopReader::from_reader(Cursor::new(bytes.to_vec()), Path::new("atop"))
    else {
        return;
    };
    let _ = reader.sources();
    for _ in 0..RECORDS_MAX {
        if !matches!(reader.next_record(), Ok(Some(_))) {
            break;
        }
    }
    let _ = (reader.rows(), reader.ending());
}
