//! Rows of usage inferred from the child times of parents.

use sample::Table;

use super::*;
use crate::instance::RowName;
use crate::process_counters::inferred::Inference;

/// Writes a row for each parent whose children used more CPU time than is known of them.
pub(crate) fn write_rows(inference: &mut Inference, table: &mut Table) {
    for found in inference.take_found() {
        let command = until_zero(&found.command);
        let mut name = RowName::<64>::default();
        name.put(b"children of ");
        name.put_number(found.pid.unsigned_abs().into());
        name.next_label();
        name.put_number(found.start);
        let mut row = table.row(name.bytes());
        let mut text = RowName::<32>::default();
        text.put(b"children of ");
        text.put(command);
        row.set_text(COMMAND, text.bytes());
        row.set_text(ORIGIN, INFERRED);
        row.set_signed(PARENT, found.pid.into());
        row.set(USER_TIME, found.used.user_ns);
        row.set(SYSTEM_TIME, found.used.system_ns);
        row.set(MINOR_FAULTS, found.used.minor_faults);
        row.set(MAJOR_FAULTS, found.used.major_faults);
    }
}
