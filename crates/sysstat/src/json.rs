//! The frame of `-o JSON`, as `iostat`, `mpstat` and `sadf` write it: facts of the machine, then a list
//! with an object for each interval.

use std::fmt::Write as _;

use sample::Meta;

/// The beginning, up to the list of intervals; `times` are when the report is of, by name.
pub(crate) fn begin(meta: &Meta, times: &[(&str, &str)], out: &mut String) {
    let fact = |key| quoted(meta.get(key).unwrap_or_default());
    let _ = write!(
        out,
        "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{\n\t\t\t\"nodename\": {},\n\t\t\t\"sysname\": \
         \"Linux\",\n\t\t\t\"release\": {},\n\t\t\t\"machine\": {},\n\t\t\t\"number-of-cpus\": {},\n",
        quoted(meta.host()),
        fact("kernel"),
        fact("architecture"),
        meta.cpus(),
    );
    for (name, time) in times {
        let _ = writeln!(out, "\t\t\t{},", text(name, time));
    }
    out.push_str("\t\t\t\"statistics\": [\n");
}

/// An interval: the members of its object.
pub(crate) fn interval(is_first: bool, members: &[String], out: &mut String) {
    if !is_first {
        out.push_str(",\n");
    }
    let _ = write!(out, "\t\t\t\t{{\n\t\t\t\t\t{}\n\t\t\t\t}}", members.join(",\n\t\t\t\t\t"));
}

/// The end of all.
pub(crate) fn end(out: &mut String) {
    out.push_str("\n\t\t\t]");
    end_of_host(out);
}

/// What stands after the last list.
pub(crate) fn end_of_host(out: &mut String) {
    out.push_str("\n\t\t}\n\t]\n}}\n");
}

/// A member whose value is a list, an element a line.
pub(crate) fn list(name: &str, elements: &[String]) -> String {
    let lines: Vec<String> = elements.iter().map(|one| format!("\t\t\t\t\t\t{one}")).collect();
    format!("\"{name}\": [\n{}\n\t\t\t\t\t]", lines.join(",\n"))
}

/// A member with a number; `null` if it is missing.
pub(crate) fn number(name: &str, value: Option<f64>, decimals: usize) -> String {
    match value {
        Some(value) => format!("\"{name}\": {value:.decimals$}"),
        None => format!("\"{name}\": null"),
    }
}

/// A member with a text.
pub(crate) fn text(name: &str, value: &str) -> String {
    format!("\"{name}\": {}", quoted(value))
}

/// A text as JSON.
pub(crate) fn quoted(value: &str) -> String {
    let mut out = Vec::new();
    text::escape::push_json_string(&mut out, value.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
