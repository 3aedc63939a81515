//! Rows of a new file from those of others.

use crate::create::Options;
use crate::error::{Result, refuse};
use crate::image::Image;
use crate::specification::MappedSource;

pub(crate) fn prefill(
    _image: &mut Image,
    _options: &Options,
    _mapped: &[(String, Option<MappedSource>)],
) -> Result<()> {
    Err(refuse!("sources are not supported yet"))
}
