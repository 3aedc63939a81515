//! The columns of records: their titles and widths, and which make room for the text.

/// Columns that the text is to have at least; others are left out for it.
const TEXT_WIDTH_MIN: u16 = 30;
/// Width from which on times have their day.
pub(crate) const DAY_WIDTH_MIN: u16 = 110;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Time,
    Level,
    Host,
    Process,
    Thread,
    Logger,
    Text,
}

impl Column {
    pub(crate) const ALL: [Column; 7] = [
        Column::Time,
        Column::Level,
        Column::Host,
        Column::Process,
        Column::Thread,
        Column::Logger,
        Column::Text,
    ];

    /// What is left out first where there is no room.
    pub(crate) const LEFT_OUT: [Column; 6] = [
        Column::Thread,
        Column::Host,
        Column::Process,
        Column::Logger,
        Column::Time,
        Column::Level,
    ];

    /// The title of the column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Column::Time => "TIME",
            Column::Level => "LEVEL",
            Column::Host => "HOST",
            Column::Process => "PROCESS",
            Column::Thread => "THREAD",
            Column::Logger => "LOGGER",
            Column::Text => "TEXT",
        }
    }

    /// The width of the column on a screen of `width`; the text gets what is left.
    pub(crate) fn width(self, width: u16) -> u16 {
        match self {
            Column::Time if width >= DAY_WIDTH_MIN => 23,
            Column::Time => 12,
            Column::Level => 9,
            Column::Host | Column::Thread => 12,
            Column::Process | Column::Logger => 18,
            Column::Text => TEXT_WIDTH_MIN,
        }
    }
}
