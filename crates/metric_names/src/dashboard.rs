//! A dashboard for Grafana, whose data source is `whit serve` or an engine that has what was sent.
//!
//! In an expression `@SOURCE.FIELD` stands for the metric that the field is, with the labels of the machine
//! that is chosen, and `@SOURCE.FIELD*` for all fields that share the metric.

use serde_json::{Value, json};
use view::FieldMetric;

use crate::names::known;
use crate::plan::JOB;

/// A panel: curves of one unit.
struct Panel {
    title: &'static str,
    /// Grafana's name of the unit.
    unit: &'static str,
    /// Whether curves are on top of each other.
    is_stacked: bool,
    /// Expression and legend.
    curves: &'static [(&'static str, &'static str)],
}

const PANELS: &[Panel] = &[
    Panel {
        title: "CPU time by mode (1 is a whole CPU)",
        unit: "short",
        is_stacked: true,
        curves: &[(
            "sum by (mode) (rate(@cpu_core.user*[$__rate_interval])) unless \
             sum by (mode) (rate(@cpu_core.idle[$__rate_interval]))",
            "{{mode}}",
        )],
    },
    Panel {
        title: "Load",
        unit: "short",
        is_stacked: false,
        curves: &[("@cpu.load_1m", "1 m"), ("@cpu.load_5m", "5 m"), ("@cpu.load_15m", "15 m")],
    },
    Panel {
        title: "Memory",
        unit: "bytes",
        is_stacked: false,
        curves: &[
            ("@memory.total", "total"),
            ("@memory.total - @memory.available", "used"),
            ("@memory.cached", "cached"),
            ("@memory.swap_total - @memory.swap_free", "swap used"),
        ],
    },
    Panel {
        title: "Page faults",
        unit: "ops",
        is_stacked: false,
        curves: &[
            ("rate(@memory.faults[$__rate_interval])", "all"),
            ("rate(@memory.major_faults[$__rate_interval])", "with I/O"),
        ],
    },
    Panel {
        title: "Disks: bytes",
        unit: "Bps",
        is_stacked: false,
        curves: &[
            ("rate(@disk.read_sectors[$__rate_interval])", "{{device}} read"),
            ("rate(@disk.write_sectors[$__rate_interval])", "{{device}} written"),
        ],
    },
    Panel {
        title: "Disks: share of time busy",
        unit: "percentunit",
        is_stacked: false,
        curves: &[("rate(@disk.busy_ms[$__rate_interval])", "{{device}}")],
    },
    Panel {
        title: "Disks: time of an operation",
        unit: "s",
        is_stacked: false,
        curves: &[
            (
                "rate(@disk.read_ms[$__rate_interval]) / rate(@disk.reads[$__rate_interval])",
                "{{device}} read",
            ),
            (
                "rate(@disk.write_ms[$__rate_interval]) / rate(@disk.writes[$__rate_interval])",
                "{{device}} write",
            ),
        ],
    },
    Panel {
        title: "File systems: share used",
        unit: "percentunit",
        is_stacked: false,
        curves: &[("1 - @filesystem.available / @filesystem.size", "{{mountpoint}}")],
    },
    Panel {
        title: "Network: bytes",
        unit: "Bps",
        is_stacked: false,
        curves: &[
            ("rate(@network.rx_bytes[$__rate_interval])", "{{device}} in"),
            ("rate(@network.tx_bytes[$__rate_interval])", "{{device}} out"),
        ],
    },
    Panel {
        title: "Network: errors and drops",
        unit: "pps",
        is_stacked: false,
        curves: &[
            ("rate(@network.rx_errors[$__rate_interval])", "{{device}} errors in"),
            ("rate(@network.tx_errors[$__rate_interval])", "{{device}} errors out"),
            ("rate(@network.rx_dropped[$__rate_interval])", "{{device}} dropped in"),
        ],
    },
    Panel {
        title: "Context switches, interrupts, forks",
        unit: "ops",
        is_stacked: false,
        curves: &[
            ("rate(@cpu.context_switches[$__rate_interval])", "context switches"),
            ("rate(@cpu.interrupts[$__rate_interval])", "interrupts"),
            ("rate(@cpu.forks[$__rate_interval])", "forks"),
        ],
    },
    Panel {
        title: "Processes that run or wait for I/O, sockets",
        unit: "short",
        is_stacked: false,
        curves: &[
            ("@cpu.running", "running"),
            ("@cpu.blocked", "blocked"),
            ("@socket.tcp_inuse", "TCP sockets"),
        ],
    },
];

/// The dashboard as Grafana imports it.
#[must_use]
pub fn grafana_dashboard() -> String {
    let source = json!({ "type": "prometheus", "uid": "${source}" });
    let panels = PANELS.iter().enumerate().map(|(at, panel)| {
        let targets = panel.curves.iter().zip('A'..).map(|((expression, legend), letter)| {
            json!({
                "refId": letter.to_string(),
                "datasource": source,
                "expr": expanded(expression),
                "legendFormat": legend,
            })
        });
        let stacking = if panel.is_stacked { "normal" } else { "none" };
        let fill = if panel.is_stacked { 40 } else { 0 };
        json!({
            "id": at + 1,
            "type": "timeseries",
            "title": panel.title,
            "datasource": source,
            "gridPos": { "x": 12 * (at % 2), "y": 8 * (at / 2), "w": 12, "h": 8 },
            "fieldConfig": {
                "defaults": {
                    "unit": panel.unit,
                    "min": 0,
                    "custom": {
                        "showPoints": "never",
                        "fillOpacity": fill,
                        "stacking": { "mode": stacking, "group": "A" },
                    },
                },
                "overrides": [],
            },
            "options": {
                "tooltip": { "mode": "multi", "sort": "desc" },
                "legend": { "displayMode": "list", "placement": "bottom" },
            },
            "targets": targets.collect::<Vec<Value>>(),
        })
    });
    let hosts = format!("label_values(node_uname_info{{job=\"{JOB}\"}}, instance)");
    let dashboard = json!({
        "uid": "whit",
        "title": "whit",
        "tags": ["whit"],
        "schemaVersion": 36,
        "editable": true,
        "time": { "from": "now-1h", "to": "now" },
        "refresh": "10s",
        "templating": { "list": [
            { "name": "source", "label": "Source", "type": "datasource", "query": "prometheus" },
            {
                "name": "host",
                "label": "Host",
                "type": "query",
                "datasource": source,
                "query": { "query": hosts, "refId": "host" },
                "refresh": 2,
                "sort": 1,
            },
        ] },
        "panels": panels.collect::<Vec<Value>>(),
    });
    format!("{dashboard:#}\n")
}

/// An expression with the metrics of its fields.
fn expanded(expression: &str) -> String {
    let mut parts = expression.split('@');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let (rest, is_whole) = rest.strip_prefix('*').map_or((rest, false), |rest| (rest, true));
        let (source, field) = name.split_once('.').unwrap_or((name, ""));
        text += &selector(source, field, is_whole);
        text += rest;
    }
    text
}

fn selector(source: &str, field: &str, is_whole: bool) -> String {
    let of_machine = format!("instance=\"$host\",job=\"{JOB}\"");
    if let Some((known, name, value)) = known(source, field) {
        let label = match value.is_empty() || is_whole {
            true => String::new(),
            false => format!(",{}=\"{value}\"", known.label),
        };
        return format!("{name}{{{of_machine}{label}}}");
    }
    let defs = source::definitions();
    let def = defs.iter().find(|def| def.name == source);
    let field = def.and_then(|def| Some(&def.fields[def.field(field)?]));
    let name = def.zip(field).map(|(def, field)| FieldMetric::of(def, field).name);
    format!("{}{{{of_machine}}}", name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_the_metrics_that_they_are() {
        assert_eq!(
            expanded("rate(@cpu_core.idle[1m]) + @cpu_core.user* - @process.threads"),
            "rate(node_cpu_seconds_total{instance=\"$host\",job=\"whit\",mode=\"idle\"}[1m]) + \
             node_cpu_seconds_total{instance=\"$host\",job=\"whit\"} - \
             whit_process_threads{instance=\"$host\",job=\"whit\"}"
        );
        for (expression, _) in PANELS.iter().flat_map(|panel| panel.curves) {
            let text = expanded(expression);
            assert!(!text.contains(['@', '*']) && !text.contains(" {"), "{text}");
        }
    }
}
