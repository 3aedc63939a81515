//! `rrdtool`, `rrdupdate`, `rrdcreate`, `rrdinfo`, `rrdcached`: their command lines as those of `whit rrd`.

use std::ffi::OsString;

/// `rrdtool COMMAND …`.
pub(super) fn translate(arguments: Vec<OsString>) -> Vec<OsString> {
    with(&["rrd"], arguments)
}

/// `rrdupdate FILE …`.
pub(super) fn translate_update(arguments: Vec<OsString>) -> Vec<OsString> {
    with(&["rrd", "update"], arguments)
}

/// `rrdcreate FILE …`.
pub(super) fn translate_create(arguments: Vec<OsString>) -> Vec<OsString> {
    with(&["rrd", "create"], arguments)
}

/// `rrdinfo FILE`.
pub(super) fn translate_info(arguments: Vec<OsString>) -> Vec<OsString> {
    with(&["rrd", "info"], arguments)
}

/// `rrdcached OPTION…`.
pub(super) fn translate_cached(arguments: Vec<OsString>) -> Vec<OsString> {
    with(&["rrdcached"], arguments)
}

fn with(verb: &[&str], arguments: Vec<OsString>) -> Vec<OsString> {
    verb.iter().map(OsString::from).chain(arguments).collect()
}
