//! What a reader decodes of a source: everything, some fields, or nothing.

/// What is decoded of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    /// Every field.
    #[default]
    Whole,
    /// These fields, by their index in the recording, in rising order.
    Fields(Vec<usize>),
    /// Not even its rows.
    Nothing,
}

impl Focus {
    /// Whether a column of a slot is decoded: all of its presence words, and the fields wanted.
    #[inline]
    pub(crate) fn has_column(&self, column: usize, words: usize) -> bool {
        match self {
            Focus::Whole => true,
            Focus::Fields(fields) => {
                column < words || fields.binary_search(&(column - words)).is_ok()
            }
            Focus::Nothing => false,
        }
    }
}
