//! Daily files of sysstat: what stands before the records, and the records.

use std::io::Cursor;
use std::path::Path;

use recording::sadc::SadcReader;

/// Records taken of one input.
const RECORDS_MAX: usize = 64;

/// The bytes are a file of `sadc`.
pub fn sadc(bytes: &[u8]) {
    let Ok(mut reader) = SadcReader::from_reader(Cursor::new(bytes.to_vec()), Path::new("sa26"))
    else {
        return;
    };
    let _ = reader.sources();
    for _ in 0..RECORDS_MAX {
        match reader.next_record() {
            // A row comes from bytes of the file.
            Ok(Some(_)) => assert!(reader.rows().len() <= bytes.len()),
            _ => break,
        }
    }
    let _ = reader.ending();
}
