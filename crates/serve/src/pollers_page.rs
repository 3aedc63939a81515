//! Pollers that share devices, as metrics behind those of the newest samples: `whit_poll_share_*`.
//!
//! What they are made of is in files beside the pollers' recordings; with several pollers in one folder
//! `seen_by` says which one says it.  A series for each device, some 150 bytes.

use std::fmt::Write as _;

use service_account::SharedPollers;
use view::push_label;

/// The families, each with its points.
pub(crate) fn pollers_text(pollers: &[SharedPollers]) -> String {
    if pollers.is_empty() {
        return String::new();
    }
    let mut page = Families(String::new());
    page.family("up", "Whether the bucket of a poller can be used.");
    for one in pollers {
        page.point("up", &[("poller", &one.poller)], i64::from(one.unusable.is_none()));
    }
    page.family("used_timestamp_seconds", "When a poller used the bucket last.");
    for one in pollers {
        page.point("used_timestamp_seconds", &[("poller", &one.poller)], one.at_s);
    }
    page.family("devices", "How many devices a poller has.");
    for one in pollers {
        for (poller, count) in one.counts() {
            let labels = [("poller", poller), ("seen_by", &one.poller)];
            page.point("devices", &labels, i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
    for (name, about) in [
        ("poller_since_timestamp_seconds", "Since when a poller is there."),
        (
            "silent_since_timestamp_seconds",
            "Since when a poller is silent whose devices others have.",
        ),
    ] {
        page.family(name, about);
        for one in pollers {
            let times = if name.starts_with("silent") { &one.silent } else { &one.there };
            for (poller, since_s) in times {
                page.point(name, &[("poller", poller), ("seen_by", &one.poller)], *since_s);
            }
        }
    }
    let name = "device_since_timestamp_seconds";
    page.family(name, "Since when a poller has a device, and from which other one.");
    for one in pollers {
        for (device, owner) in &one.devices {
            let mut labels = vec![("device", device.as_str()), ("poller", &owner.poller)];
            labels.extend(owner.from.as_deref().map(|from| ("from", from)));
            labels.push(("seen_by", &one.poller));
            page.point(name, &labels, owner.since_s);
        }
    }
    page.0
}

/// Families of gauges.
struct Families(String);

impl Families {
    fn family(&mut self, name: &str, about: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP whit_poll_share_{name} {about}");
        let _ = writeln!(self.0, "# TYPE whit_poll_share_{name} gauge");
    }

    fn point(&mut self, name: &str, labels: &[(&str, &str)], value: i64) {
        let mut text = String::from("{");
        for (label, value) in labels {
            push_label(&mut text, 0, label, &text::escape::escape(value.as_bytes()));
        }
        let _ = writeln!(self.0, "whit_poll_share_{name}{text}}} {value}");
    }
}
