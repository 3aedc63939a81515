//! How rows become columns: layouts as data ([`Layout`]), the values that layouts read from a
//! history ([`Frame`], [`Row`]), number formats, and the display options.
//!
//! Uses `sample`, `text` and `calendar`, does no I/O and parses no command line.  Sources hold layouts as data, views
//! interpret them, and neither knows the other.
//!
//! Begin with [`Layout`], then [`Row`].
#![forbid(unsafe_code)]

mod account;
mod frame;
mod layout;
pub mod number;
mod options;
mod selection;
mod source_option;

pub use ::text::escape as text;

pub use account::{
    Account, Balance, By, Digest, DigestColumn, Fold, Folded, Grouping, Measure, Order, Rank, Role,
    Top,
};
pub use frame::{ChosenValues, Frame, Row, SourceStep, StepCell, StepOrigin};
pub use layout::{
    Block, Cell, DisplayOrder, Exceptions, Form, Layout, Numbers, Of, Part, Plot, PlotColumn,
    Shape, Show, Stat,
};
pub use options::{LayoutLookup, List, Options};
pub use selection::Selection;
pub use source_option::{
    GivenValue, Idle, LetterRule, Lists, NameFilter, OptionKind, OptionValue, ParseOption,
    SourceOption, SourceValues,
};
