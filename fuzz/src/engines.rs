//! What comes from engines, from recorders on other hosts and from other pollers, and what a user's program
//! keeps on the disk.

use std::path::Path;

use log_protocol::StreamId;
use log_protocol::frame::{FrameKind, Head};
use log_protocol::fuzzing::{frames_of, short_frame};
use recording::fuzzing::{FILE_ID, read_through, stream_around};

use crate::DEFS;

/// An answer to what is sent, in every form.
pub fn send_answer(bytes: &[u8]) {
    send::fuzzing::answer(bytes);
}

/// An answer to questions, in JSON.
pub fn send_json(bytes: &[u8]) {
    send::fuzzing::json(bytes);
}

/// What a server of NATS says.
pub fn send_nats(bytes: &[u8]) {
    send::fuzzing::nats(bytes);
}

/// The table of the pollers that share devices.
pub fn poll_table(bytes: &[u8]) {
    poll::share::fuzz_table(bytes);
}

/// The columns that a user has chosen.
pub fn top_columns(bytes: &[u8]) {
    top::fuzz_columns(&String::from_utf8_lossy(bytes));
}

/// A stream of samples: as it is behind an even byte, frames under right checksums behind an odd one.
pub fn hosts_stream(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    match choice % 2 {
        0 => many_hosts::fuzz_stream(bytes, &DEFS),
        _ => {
            let (head, frames) = stream_around(bytes, &DEFS);
            many_hosts::fuzz_stream(&[head, frames].concat(), &DEFS)
        }
    };
}

/// Recordings that come to a central server: frames with short heads behind an even byte; behind an odd one
/// pieces of frames of samples, of two bytes for their length, the number of the first sample and how many
/// there are, and their frames as [`stream_around`] wants them.
pub fn log_recordings(bytes: &[u8]) {
    samples_taken(bytes);
}

/// The samples that the server then has, of what [`log_recordings`] gives it.
pub fn samples_taken(bytes: &[u8]) -> u64 {
    let Some((choice, rest)) = bytes.split_first() else { return 0 };
    let (head, _) = stream_around(&[], &DEFS);
    let mut frames = vec![frame(FrameKind::Recording, (0, 0), &named(&head))];
    match choice % 2 {
        0 => {
            let ours =
                |(head, body): (Head, Vec<u8>)| frame(head.kind, (head.first, head.next), &body);
            frames.extend(frames_of(rest).into_iter().map(ours));
        }
        _ => frames.extend(pieces(rest)),
    }
    let folder = crate::logs::folder();
    log_central::fuzz_recordings(folder.path(), &frames);
    recordings(folder.path()).into_iter().map(read_through).sum()
}

/// A frame of the recording of [`FILE_ID`].
fn frame(kind: FrameKind, (first, next): (u64, u64), body: &[u8]) -> (Head, Vec<u8>) {
    let mut head = Head::of(kind, StreamId::of_recording(FILE_ID), first, next, 0);
    head.body_bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
    (head, body.to_vec())
}

/// The head of a recording behind its name.
fn named(head: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    log_protocol::bytes::put_short(&mut body, b"host-20261127.whit");
    body.extend_from_slice(head);
    body
}

/// Frames of samples.
fn pieces(mut rest: &[u8]) -> Vec<(Head, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some(([low, high, first, count], after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
        let (piece, after) = after.split_at(length);
        rest = after;
        let mut packed = Vec::new();
        let (_, samples) = stream_around(piece, &DEFS);
        recording::pack_samples(&samples, &mut packed).expect("zstd works");
        let first = u64::from(*first);
        frames.push(frame(FrameKind::Samples, (first, first + u64::from(*count)), &packed));
    }
    frames
}

/// The recordings of a folder.
fn recordings(folder: &Path) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder).expect("the folder").flatten().map(|file| file.path());
    let whole = files.filter(|path| path.extension().is_some_and(|extension| extension == "whit"));
    whole.map(|path| std::fs::read(path).expect("a recording")).collect()
}

/// Seeds of a target; `payloads` are frames of five samples, as [`stream_around`] wants them.
pub fn seeds(name: &str, payloads: &[u8]) -> Vec<Vec<u8>> {
    let text = |text: &str| text.as_bytes().to_vec();
    let with = |choice: u8, bytes: &[u8]| [&[choice], bytes].concat();
    match name {
        "send_answer" => {
            let of = |status: u16, rest: &[u8]| [&status.to_le_bytes(), rest].concat();
            let partly = b"content-type: application/x-protobuf\n\n\x0a\x06\x08\x02\x12\x02no";
            vec![
                of(204, b"x-prometheus-remote-write-samples-written: 3\n\n"),
                of(429, b"retry-after: 7\n\nslow down"),
                of(400, b"\nout of order sample \x1b[2J"),
                of(415, b"\n"),
                of(200, partly),
                of(503, partly),
                of(200, b"x-clickhouse-exception-code: 7\n\n"),
            ]
        }
        "send_json" => vec![
            text(
                r#"{"status":"success","data":{"resultType":"matrix","result":[
                {"metric":{"__name__":"node_load1","instance":"host","job":"whit"},
                "values":[[1,"0.5"],[2.5,"7"],[3,"NaN"]]},
                {"metric":{"__name__":"node_cpu_seconds_total","instance":"host","job":"whit","cpu":"0",
                "mode":"user"},"values":[[1,"5"],[9e99,"-1e300"],[-9e99,"+Inf"]]}]}}"#,
            ),
            text(
                r#"{"data":{"result":[{"stream":{"a":"b"},"values":[["17","line"],["18",""]]}]}}"#,
            ),
            text(r#"["name",{"device":"sda"},1700000000000,"0.5"]"#),
        ],
        "send_nats" => {
            let said =
                |subject: &str, body: &str| format!("MSG {subject} 1 {}\r\n{body}\r\n", body.len());
            let ours = |body: &str| said("_INBOX.f.0", body);
            let last = |body: &str| said("_INBOX.f.1", body);
            vec![
                text(
                    &(ours(r#"{"streams":["s"]}"#)
                        + &last(r#"{"message":{"hdrs":"TmF0cy1Nc2ctSWQ6IGEtMS43DQo=","seq":3}}"#)),
                ),
                text(&ours(r#"{"name":"c","num_pending":18446744073709551615}"#)),
                text("PING\r\nHMSG _INBOX.f.0 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"),
                text("MSG whit.logs.a 2 $JS.ACK.S.C.1.2.3.17.0 2\r\n{}\r\n-ERR 'no'\r\n"),
                text(&ours(r#"{"error":{"code":400,"err_code":10071,"description":"no"}}"#)),
                text(&ours(r#"{"stream":"s","seq":9}"#)),
            ]
        }
        "poll_table" => {
            let owners: String = (0..1024).map(|slot| ["a", "b", "."][slot % 3]).collect();
            vec![text(&format!(
                r#"{{"version":1,"silent":["north"],"owners":"{owners}","pollers":[{{"name":"east","session":"17f0","beat":7,"lease_ms":150000,"targets":"9a"}},{{"name":"west","session":"1","beat":0,"lease_ms":1,"targets":"9a"}}]}}"#
            ))]
        }
        "top_columns" => vec![text("# Columns of whit top, in order.\ncolumns = pid user cpu\n")],
        "hosts_stream" => {
            let (head, frames) = stream_around(payloads, &DEFS);
            vec![with(1, payloads), with(0, &[head, frames].concat())]
        }
        "log_recordings" => {
            let length = (payloads.len() as u16).to_le_bytes();
            let piece = [&length[..], &[0, 5], payloads].concat();
            let (_, frames) = stream_around(payloads, &DEFS);
            let mut packed = Vec::new();
            recording::pack_samples(&frames, &mut packed).expect("zstd works");
            let samples = short_frame(FrameKind::Samples, [0, 0, 0, 2, 7], &packed);
            let end = short_frame(FrameKind::RecordingEnd, [0; 5], &[]);
            vec![
                with(1, &piece),
                with(1, &[piece.clone(), piece].concat()),
                with(0, &[samples, end].concat()),
            ]
        }
        other => panic!("{other}"),
    }
}
