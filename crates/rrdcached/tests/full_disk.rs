//! A disk that is full when the daemon starts, or becomes full later: it answers, refuses readings
//! with the reason, and takes them once there is room.

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
        assert!(logged("written again: the journal"));
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

#[test]
fn a_daemon_whose_disk_becomes_full_answers_and_takes_readings_once_there_is_room() {
    for acknowledge in [Acknowledge::Os, Acknowledge::Disk] {
        let Some(disk) = SmallDisk::mount(4096) else { return };
        let (_held, path) = folder();
        let file = path.join("base/a.rrd");
        make(&file, GAUGE);
        let settings = || {
            let mut settings = settings(&path);
            settings.journal = Some(disk.path().join("journal"));
            settings
        };
        let world = LocalMachine::default();
        let server = start_with(&path, settings(), acknowledge, world.clone());
        let mut client = Client::connect(&path);
        let mut time = 1_600_000_000;
        // Of many readings, so that what the journal has reserved is full soon.
        let mut update = |client: &mut Client| {
            let readings = (time + 1..=time + 100).map(|time| format!(" {time}:1"));
            let readings: String = readings.collect();
            time += 100;
            (client.ask(&format!("UPDATE a.rrd{readings}")), time)
        };
        let (answer, mut taken) = update(&mut client);
        assert_eq!(answer, "0 errors, enqueued 100 value(s).\n");
        disk.fill();
        loop {
            let (answer, until) = update(&mut client);
            if answer == REFUSED {
                break;
            }
            assert_eq!(answer, "0 errors, enqueued 100 value(s).\n", "{acknowledge:?}");
            taken = until;
        }
        // The connection stays, and so does the daemon.
        assert_eq!(update(&mut client).0, REFUSED);
        assert!(client.ask("STATS EXT").contains("\nReadOnly: 1\n"));
        client.send(b"BATCH\nUPDATE a.rrd 1700000001:1\n.\n");
        assert!(client.answer().starts_with(b"0 Go ahead"));
        assert!(client.answer().starts_with(b"1 errors\n1 the journal cannot be written"));
        disk.free();
        wait_until("readings are taken", || {
            let (answer, until) = update(&mut client);
            taken = taken.max(if answer.starts_with("0 ") { until } else { 0 });
            answer.starts_with("0 ")
        });
        assert!(client.ask("STATS EXT").contains("\nReadOnly: 0\n"));
        let lines = world.0.lock().expect("log").join("\n");
        assert_eq!(lines.matches("written again: the journal").count(), 1, "{lines}");
        server.stop(false);
        let server = start(&path, settings(), acknowledge);
        assert!(Client::connect(&path).ask("FLUSH a.rrd").starts_with("0 Successfully"));
        assert_eq!(rows(&file).last(), Some(&(taken, 1.0)), "{acknowledge:?}");
        server.stop(true);
    }
}
