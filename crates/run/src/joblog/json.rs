//! `--joblog-json`: everything that is known of a job, one JSON object a line.
//!
//! Unknown values are left out: the resource usage of a job on another host, the signal of a job
//! that exited, a memory peak that the kernel cannot separate from ours.  JSON strings are not
//! bytes: in a command or value that is not UTF-8, U+FFFD replaces invalid bytes, and a separate
//! field has all bytes in hexadecimal.

use serde_json::{Map, Value};

use crate::job::{JobResult, Outcome};
use spawn::ShellTime;
use text::encoding::hex;

/// Adds the line of a job.
pub(super) fn push(finished: &JobResult, line: &mut Vec<u8>) {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.into(), value);
    };
    put("seq", finished.seq.into());
    put("slot", finished.slot.into());
    put("host", finished.host.as_str().into());
    put("start_ns", finished.start_ns.into());
    put("wall_ns", finished.wall_ns.into());
    put("send_bytes", finished.send_bytes.into());
    put("receive_bytes", finished.receive_bytes.into());
    match finished.outcome {
        Outcome::Exited(code) => {
            put("outcome", "exited".into());
            put("exit", code.into());
        }
        Outcome::Signalled(signal) => {
            put("outcome", "signalled".into());
            put("signal", signal.into());
        }
        Outcome::Killed(signal) => {
            put("outcome", "killed".into());
            put("signal", signal.into());
        }
        Outcome::Skipped => put("outcome", "skipped".into()),
    }
    put("attempt", finished.attempt.into());
    put("command", text(&finished.command));
    if std::str::from_utf8(&finished.command).is_err() {
        put("command_hex", hex(&finished.command).to_string().into());
    }
    let each = |write: fn(&[u8]) -> Value| -> Value {
        let records = finished.records.iter();
        records
            .map(|record| record.values.iter().map(|value| write(value)).collect::<Value>())
            .collect()
    };
    put("values", each(text));
    let mut values = finished.records.iter().flat_map(|record| &record.values);
    if values.any(|value| std::str::from_utf8(value).is_err()) {
        put("values_hex", each(|value| hex(value).to_string().into()));
    }
    if let Some(usage) = &finished.usage {
        put("user_us", usage.user_us.into());
        put("system_us", usage.system_us.into());
        if let (Some(shell_ns), Some(command_us)) = (usage.shell.ns(), usage.command_us()) {
            put("shell_us", (shell_ns / 1000).into());
            put("command_us", command_us.into());
        }
        if usage.shell == ShellTime::Became {
            put("shell_became_command", true.into());
        }
        if let Some(resident_kib) = usage.resident_kib {
            put("resident_kib", resident_kib.into());
        }
        put("voluntary_switches", usage.voluntary_switches.into());
        put("involuntary_switches", usage.involuntary_switches.into());
        put("minor_faults", usage.minor_faults.into());
        put("major_faults", usage.major_faults.into());
        put("spawn_ns", usage.spawn_ns.into());
    }
    line.extend_from_slice(Value::Object(object).to_string().as_bytes());
    line.push(b'\n');
}

fn text(bytes: &[u8]) -> Value {
    String::from_utf8_lossy(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;
    use spawn::ResourceUsage;
    use template::Record;

    #[test]
    fn a_line_holds_everything() {
        let usage = ResourceUsage {
            user_us: 1500,
            resident_kib: Some(3000),
            shell: ShellTime::Own(400_900),
            ..ResourceUsage::default()
        };
        let finished = JobResult {
            records: vec![Record { values: vec![b"a\"b\n".to_vec(), vec![0xff]] }],
            usage: Some(usage),
            ..job(7, Outcome::Exited(3), b"echo \"x\"")
        };
        let mut line = Vec::new();
        push(&finished, &mut line);
        assert!(line.ends_with(b"}\n"));
        let value: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!(value["seq"], 7);
        assert_eq!((&value["outcome"], &value["exit"]), (&"exited".into(), &3.into()));
        assert_eq!(value["command"], "echo \"x\"");
        assert_eq!(value["values"], serde_json::json!([["a\"b\n", "\u{fffd}"]]));
        assert_eq!(value["values_hex"], serde_json::json!([["6122620a", "ff"]]));
        assert_eq!((&value["user_us"], &value["resident_kib"]), (&1500.into(), &3000.into()));
        assert_eq!((&value["shell_us"], &value["command_us"]), (&400.into(), &1100.into()));
        for name in ["signal", "command_hex"] {
            assert!(value.get(name).is_none(), "{name}");
        }
        let finished = JobResult { usage: Some(ResourceUsage::default()), ..finished };
        let mut line = Vec::new();
        push(&finished, &mut line);
        let value: Value = serde_json::from_slice(&line).expect("JSON");
        for name in ["resident_kib", "shell_us", "command_us", "shell_became_command"] {
            assert!(value.get(name).is_none(), "{name}");
        }
    }
}
