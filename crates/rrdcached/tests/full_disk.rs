//! A disk that is full when the daemon starts: it answers, refuses readings with the reason, and
//! takes them once there is room.

use testkit::{SmallDisk, wait_until};

use crate::common::{Client, GAUGE, LocalMachine, folder, make, rows, settings, start, start_with};
use rrdcached::Acknowledge;

const REFUSED: &str = "-1 the journal cannot be written: No space left on device: readings are \
                       refused until there is room\n";

#[test]
fn a_daemon_starts_on_a_full_disk_and_takes_readings_once_there_is_room() {
    for (acknowledge, begins) in
        [(Acknowledge::Os, true), (Acknowledge::Disk, true), (Acknowledge::Os, false)]
    {
        let Some(disk) = SmallDisk::mount(4096) else { return };
        let (_held, path) = folder();
        let file = path.join("base/a.rrd");
        make(&file, GAUGE);
        let settings = || {
            let mut settings = settings(&path);
            settings.journal = Some(disk.path().join("journal"));
            settings
        };
        if begins {
            // Its journal has a reading when the disk becomes full.
            let server = start(&path, settings(), acknowledge);
            let mut client = Client::connect(&path);
            assert_eq!(client.ask("UPDATE a.rrd 1600000001:1"), "0 errors, enqueued 1 value(s).\n");
            server.stop(false);
        }
        disk.fill();
        let world = LocalMachine::default();
        let server = start_with(&path, settings(), acknowledge, world.clone());
        let logged = |text: &str| {
            let lines = world.0.lock().expect("log");
            lines.iter().any(|line| line.contains(text))
        };
        let mut client = Client::connect(&path);
        assert_eq!(client.ask("UPDATE a.rrd 1600000002:2"), REFUSED, "{acknowledge:?} {begins}");
        assert!(client.ask("STATS EXT").contains("\nReadOnly: 1\n"));
        assert!(logged(REFUSED.trim_start_matches("-1 ").trim_end()));
        // The connection stays, and old readings are seen.
        let pending = match begins {
            true => "1 updates pending\n1600000001:1\n",
            false => "0 updates pending\n",
        };
        assert_eq!(client.ask("PENDING a.rrd"), pending);
        assert!(client.ask("FETCH a.rrd LAST 1600000000 1600000003").contains("Success"));
        client.ask("BATCH");
        client.ask("UPDATE a.rrd 1600000002:2");
        assert!(client.ask(".").contains("1 the journal cannot be written: No space left"));
        if begins {
            assert_eq!(client.ask("FORGET a.rrd"), REFUSED);
        }
        disk.free();
        wait_until("readings are taken", || {
            client.ask("UPDATE a.rrd 1600000002:2") == "0 errors, enqueued 1 value(s).\n"
        });
        assert!(client.ask("STATS EXT").contains("\nReadOnly: 0\n"));
        assert!(logged("the journal is written again"));
        server.stop(false);
        // Both came through the journal.
        let server = start(&path, settings(), acknowledge);
        assert!(Client::connect(&path).ask("FLUSH a.rrd").starts_with("0 Successfully"));
        let expected: &[(i64, f64)] = &[(1_600_000_001, 1.0), (1_600_000_002, 2.0)];
        let written = rows(&file);
        assert_eq!(written.last(), expected.last());
        assert_eq!(written.contains(&expected[0]), begins);
        server.stop(true);
    }
}
