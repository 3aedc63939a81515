//! The Node client (`clients/node`): the conformance list, and programs that are killed as it says; what values
//! of JavaScript become; lines of pino.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Folders, Running};
use crate::common::{central, drain, folders, proxy, pump_to_end};
use crate::conformance::{ScopeIs, clients, conform, held};

/// The folder of the client, built once for all tests of this program; `None` without node, its headers or a
/// compiler.
fn built() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let what = "the Node client";
    if !testkit::is_installed(what, "node") || !testkit::is_installed(what, "cc") {
        return None;
    }
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("node-{}", std::process::id()));
    std::fs::create_dir_all(&to).unwrap();
    for name in ["index.js", "pino.js", "package.json", "build.sh", "whit_log_node.c"] {
        std::fs::copy(clients().join("node").join(name), to.join(name)).unwrap();
    }
    let mut build = Command::new("sh");
    build.arg(to.join("build.sh")).env("CC", "cc -Werror").env("WHIT_LOG_C", clients().join("c"));
    let said = build.output().unwrap();
    let text = String::from_utf8_lossy(&said.stderr);
    if text.contains("no node_api.h") {
        testkit::skip("the Node client", "not installed: Node's headers (libnode-dev)");
        return None;
    }
    assert!(said.status.success(), "{text}");
    Some(to)
}

fn node(client: &Path, folders: &Folders) -> Command {
    let mut command = Command::new("node");
    command.env("WHIT_LOG_NODE", client).env("WHIT_LOG_DIRECTORY", &folders.rings);
    command
}

#[test]
fn the_store_has_the_list_as_node_writes_it() {
    let Some(client) = built() else { return };
    let program = clients().join("conformance/program.js");
    conform("Node", ScopeIs::Context, &|list, first, folders| {
        let mut command = node(&client, folders);
        command.arg(&program).arg(list).arg(first.to_string());
        command
    });
}

/// The records of a program in JavaScript, as JSON, in the order of time.
fn records(client: &Path, script: &str) -> Vec<String> {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut command = node(client, &folders);
    command.args(["-e", script]);
    let mut writer = Running::start(&mut command);
    pump_to_end(&mut proxy, &mut writer);
    assert!(writer.wait().unwrap().success());
    drain(&mut proxy, &folders.rings);
    central.stop();
    held(&folders.store)
}

#[test]
fn values_of_javascript_keep_what_they_are() {
    let Some(client) = built() else { return };
    let script = r"
        const whit = require(process.env.WHIT_LOG_NODE);
        const log = new whit.Logger('A', { Antenna: 'DV01' });
        const own = { get bad() { throw new Error('no'); } };
        log.info('numbers', { a: 3, b: -0, c: 0.5, d: whit.float(2), e: 2n ** 64n - 1n, f: 2n ** 70n, g: NaN });
        log.warning('others', { a: null, b: undefined, c: [1, 'x'], d: new Date(0), e: { f: true, g: { h: 1 } } });
        log.error('lone \ud800', {}, new TypeError('wrong'));
        log.info('throws', own);
        log.info({ toJSON() { throw new Error('never'); } });
        log.trace('below the level');
        const many = Object.fromEntries([...Array(70).keys()].map((at) => [`n${at}`, at]));
        log.info('many', many);
        whit.withScope({ Task: 7 }, () => {
            log.info('outer');
            whit.withScope({ Task: 8, Step: 1 }, () => log.info('inner'));
            setTimeout(() => log.info('later'), 1);
        });
        log.info('outside');
    ";
    let found = records(&client, script);
    let line = |text: &str| {
        let is_it = |line: &&String| line.contains(&format!("\"message\":\"{text}"));
        found.iter().find(is_it).cloned().unwrap_or_default()
    };
    let ends =
        |text: &str, end: &str| assert!(line(text).ends_with(end), "{} not {end}", line(text));
    let of = ",\"context\":{\"Antenna\":\"DV01\"}";
    ends(
        "numbers",
        &format!(
            "{of},\"data\":{{\"a\":3,\"b\":-0.0,\"c\":0.5,\"d\":2.0,\"e\":18446744073709551615,\
             \"f\":\"1180591620717411303424\",\"g\":\"NaN\"}}}}"
        ),
    );
    ends(
        "others",
        r#""data":{"a":"null","b":"undefined","c":"[1,\"x\"]","d":"1970-01-01T00:00:00.000Z","e.f":true,"e.g.h":1}}"#,
    );
    let error = line("lone \u{fffd}");
    assert!(
        error.contains(r#""exception.type":"TypeError","exception.message":"wrong""#),
        "{error}"
    );
    assert!(error.contains(r#""exception.stacktrace":"TypeError: wrong\n    at "#), "{error}");
    ends("throws", r#""data":{"DataLeftOut":"{}"}}"#);
    ends("[its text cannot be made: never]", &format!("{of}}}"));
    ends("many", r#""n60":60,"DataLeftOut":9}}"#);
    ends("outer", r#""context":{"Task":"7","Antenna":"DV01"}}"#);
    ends("inner", r#""context":{"Task":"8","Step":"1","Task":"7","Antenna":"DV01"}}"#);
    ends("later", r#""context":{"Task":"7","Antenna":"DV01"}}"#);
    ends("outside", &format!("{of}}}"));
    assert_eq!(line("below"), "");
}

/// Lines as pino writes them, by the destination and by the stream of the transport.
#[test]
fn lines_of_pino_are_records() {
    let Some(client) = built() else { return };
    let script = r#"
        const { destination, default: transport } = require(process.env.WHIT_LOG_NODE + '/pino.js');
        const head = '"time":1,"pid":2,"hostname":"h"';
        // pino takes what is not writable for its options.
        if (!destination('none').writable) process.exit(1);
        destination('direct', { Antenna: 'DV01' }).write(`{"level":40,${head},"unit":{"id":7},"msg":"disk"}\n`);
        destination('other', {}, { messageKey: 'message' }).write('{"level":60,"message":"end"}\nno json\n');
        const stream = transport({ logger: 'worker' });
        for (const part of [`{"level":10,${head},"msg":"be`, `low"}\n{"level":50,"msg":"ü","err":{"type":"E"`,
            ',"message":"m"}}\n', '{"level":20,"msg":"low"}\n{"level":30,"x":1}\n[1]\n{"level":30,"msg":"last"}']) {
            stream.write(part);
        }
        stream.end();
    "#;
    let found = records(&client, script).concat();
    for wanted in [
        r#""level":"WARNING","logger":"direct","message":"disk","context":{"Antenna":"DV01"},"data":{"unit.id":7}}"#,
        r#""level":"CRITICAL","logger":"other","message":"end"}"#,
        r#""level":"INFO","logger":"other","message":"no json"}"#,
        r#""level":"ERROR","logger":"worker","message":"ü","data":{"err.type":"E","err.message":"m"}}"#,
        r#""level":"DEBUG","logger":"worker","message":"low"}"#,
        r#""level":"INFO","logger":"worker","message":"","data":{"x":1}}"#,
        r#""level":"INFO","logger":"worker","message":"[1]"}"#,
        r#""level":"INFO","logger":"worker","message":"last"}"#,
    ] {
        assert!(found.contains(wanted), "{wanted} in {found}");
    }
    assert!(!found.contains("below"), "{found}");
}
