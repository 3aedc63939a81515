//! Files of sysstat 9.1.6 to 11.6, which do not say how their structures are laid out.
//!
//! ```text
//! magic numbers (8 bytes; since 10.3.1 76) │ header │ 20 bytes for each activity
//! record header │ items of each activity, their numbers fixed │ record header │ …
//! ```
//!
//! Two formats of files: `0x2171` up to 10.2, and `0x2173`, in which records of restarts say how many
//! items activities have from there on.  C structures are as the compiler laid them out, so each
//! one is told here as a [`Structure`].  A number goes to the place that it has in files of today, of
//! which [`super::activities`] says what it is; fields that an older version did not have are missing.
//! Machines of 32 bits have the same places: sysstat aligned its words to 8 bytes.

use super::SadcError;
use super::activities;
use super::description::{Description, STRUCTURE_BYTES_MAX};
use super::input::{Input, Layout};
use super::structure::{Run, Structure, long, of, short, words};

/// The formats of files.
pub(super) const FORMATS: [u16; 2] = [0x2171, 0x2173];

/// The bytes of a description, and of the header of a record.
const DESCRIPTION_BYTES: usize = 20;
pub(super) const RECORD_BYTES: u32 = 48;

const TO_7: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const TO_9: [usize; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const TO_10: [usize; 11] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const TO_16: [usize; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// The header of a record: the time of all CPUs, that of the machine, and that since the epoch.
pub(super) static RECORD: Structure =
    of(&[long(&[9, 0]), Run { align: 16, stride: 8, bytes: 0, kind: 0, places: &[1] }], 8);

/// The header of a file: the time and, of `0x2171`, the number of activities; of `0x2173` before it the
/// number of CPUs and behind it that of activities whose items may change in number.
static HEAD_2171: Structure = of(&[words(8, 1, &[0]), short(8, 2, &[1])], 1);
static HEAD_2173: Structure = of(&[words(8, 1, &[0]), short(8, 2, &[0, 1, 2])], 1);

/// An activity in an old format: its number, the step of its format, the step in files of today, and
/// its structure.
type Old = (u32, u32, u32, Structure);

static OLD: &[Old] = &[
    (1, 0, 1, of(&[long(&TO_9)], 1)),
    (2, 0, 1, of(&[long(&[0]), words(16, 1, &[0])], 1)),
    (3, 0, 1, of(&[long(&[0])], 1)),
    (6, 0, 1, of(&[short(4, 0, &[0, 1, 2, 3, 4])], 1)),
    (6, 1, 1, of(&[Run { align: 8, stride: 8, bytes: 8, kind: 0, places: &[0, 1, 2, 3, 4] }], 1)),
    (7, 0, 1, of(&[words(8, 0, &TO_16)], 1)),
    (8, 0, 1, of(&[short(4, 0, &[0, 1, 2, 3])], 1)),
    (9, 0, 2, of(&[words(8, 0, &[0]), short(8, 2, &[0, 1, 2]), short(4, 0, &[2])], 1)),
    (9, 1, 2, of(&[words(8, 0, &[0, 1]), short(8, 2, &[0, 1, 2]), short(4, 0, &[2])], 1)),
    (
        11,
        0,
        1,
        of(
            &[
                Run { align: 16, stride: 16, bytes: 8, kind: 1, places: &[0, 1] },
                words(16, 2, &[0]),
                words(8, 2, &[1, 2, 3]),
                words(8, 0, &[0]),
                short(8, 2, &[4, 5]),
            ],
            1,
        ),
    ),
    (11, 1, 1, of(&[long(&[0]), words(16, 1, &[0, 1]), short(8, 2, &[0, 1, 2, 3, 4, 5])], 1)),
    (12, 0, 3, of(&[words(8, 0, TO_7.split_at(7).0)], 8)),
    (12, 1, 3, of(&[long(TO_7.split_at(7).0)], 16)),
    (12, 2, 3, of(&[long(TO_7.split_at(7).0), short(16, 2, &[0])], 4)),
    (13, 0, 2, of(&[words(8, 0, TO_9.split_at(9).0)], 8)),
    (13, 1, 2, of(&[long(TO_9.split_at(9).0)], 16)),
    (17, 0, 2, of(&[words(8, 0, &TO_7)], 1)),
    (17, 1, 2, of(&[long(&TO_7)], 1)),
    (18, 0, 2, of(&[words(8, 0, &TO_7)], 1)),
    (18, 1, 2, of(&[long(&TO_7)], 1)),
    (25, 0, 2, of(&[words(8, 0, &TO_9)], 1)),
    (25, 1, 2, of(&[long(&TO_9)], 1)),
    (26, 0, 2, of(&[words(8, 0, &TO_10)], 1)),
    (26, 1, 2, of(&[long(&TO_10)], 1)),
    (34, 0, 1, of(&[words(8, 0, &[0, 1])], 1)),
    (37, 0, 1, of(&[long(&[0, 1, 2, 3, 4])], 16)),
];

/// The header of an old file: its layout, where the size of a word stands, and how many bytes it has.
pub(super) fn head(format: u16) -> (&'static Structure, usize, usize) {
    // Four names of the machine follow.
    match format {
        0x2171 => (&HEAD_2171, 15, 280),
        _ => (&HEAD_2173, 23, 288),
    }
}

/// The numbers of a description: activity, format, items, parts of an item, bytes of it.
fn described(input: &mut Input) -> Result<[u64; 5], SadcError> {
    let mut bytes = Vec::new();
    input.bytes(&mut bytes, DESCRIPTION_BYTES)?;
    let layout = Layout::new(input, [0, 0, 5], DESCRIPTION_BYTES as u32);
    let number = |place| layout.and_then(|layout| layout.number(&bytes, 2, place)).unwrap_or(0);
    Ok([0, 1, 2, 3, 4].map(number))
}

/// Reads the description of an activity.
pub(super) fn describe(input: &mut Input) -> Result<(u32, Description), SadcError> {
    let [id, format, items, parts, size] = described(input)?;
    let (id, format) = (id as u32, format as u32);
    let own = format
        .checked_sub(activities::BASE)
        .and_then(|step| OLD.iter().find(|(own, own_step, _, _)| (*own, *own_step) == (id, step)));
    let (activity, item) = match own {
        Some((_, _, step, structure)) => {
            let layout = Layout::old(input, structure, size as u32);
            (activities::find(id, activities::BASE + step), Some(layout))
        }
        None => {
            // Those whose format never changed, or which are not known.
            let activity = activities::find(id, format);
            let counts = activity.map_or([0; 3], activities::Activity::counts);
            (activity, Layout::new(input, counts, size as u32))
        }
    };
    let known = item.filter(|_| (1..=STRUCTURE_BYTES_MAX).contains(&size));
    let damaged = || input.damaged(format!("items of {size} bytes in activity {id}"));
    let description = Description {
        activity,
        items: input.checked(items, "items of an activity")?,
        parts: input.checked(parts, "parts of an item")?.max(1),
        has_count: false,
        layout: known.ok_or_else(damaged)?,
    };
    Ok((id, description))
}

/// Reads what a record of a restart says: how many items activities have from there on.
pub(super) fn restart(
    input: &mut Input,
    count: u32,
    ids: &[u32],
    descriptions: &mut [Description],
) -> Result<(), SadcError> {
    for _ in 0..count {
        let [activity, _, items, ..] = described(input)?;
        let items = input.checked(items, "items of an activity")?;
        for (id, description) in ids.iter().zip(&mut *descriptions) {
            if u64::from(*id) == activity {
                description.items = items;
            }
        }
    }
    Ok(())
}
