//! Which view the switches ask for.

use anyhow::Context;
use jiff::tz::TimeZone;
use sample::Options;
use view::View;
use view::export::Setting;

use crate::display::DisplayArguments;

/// Opens the view for text on the screen, in a pipe or over a socket.  `None` when an export was
/// asked for its help, which has been printed.
///
/// # Errors
/// One line about a format or an option of an export that does not exist.
pub(crate) fn open_view(
    display: &DisplayArguments,
    options: &Options,
    zone: &TimeZone,
    setting: &Setting,
) -> anyhow::Result<Option<Box<dyn View>>> {
    let export = display.export().filter(|(name, _)| *name != "vmstat");
    if let Some((name, settings)) = export {
        return crate::export::open(name, &settings, setting);
    }
    let name = name_of(display, options);
    let entry = view::find(name)
        .with_context(|| format!("the format '{name}' is not part of this version"))?;
    Ok(Some((entry.open)(&view::Setup { zone: zone.clone() })))
}

/// The name under which the view is registered.
fn name_of(display: &DisplayArguments, options: &Options) -> &'static str {
    match display {
        display if display.export().is_some() => "vmstat",
        display if display.csv => "csv",
        display if display.json => "json",
        display if display.openmetrics => "openmetrics",
        display if display.plot => "plot",
        _ if options.verbose => "verbose",
        _ => "brief",
    }
}
