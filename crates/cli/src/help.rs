//! What stands below the switches in each verb's help: the subsystems, from the sources' own
//! definitions, and examples.  The man pages and the reference are made from the same text.

use std::fmt::Write as _;

/// The columns of help where the terminal has more, or is none.
const COLUMNS_MAX: usize = 100;

/// Lays out what stands below the switches for the width of the terminal.
pub(crate) fn fitted(mut command: clap::Command) -> clap::Command {
    let columns = terminal_size::terminal_size().map_or(COLUMNS_MAX, |(width, _)| width.0.into());
    if let Some(text) = command.get_after_help() {
        let text = terminal::fitted_help(&text.to_string(), columns.min(COLUMNS_MAX));
        command = command.after_help(text);
    }
    command.mut_subcommands(fitted)
}

/// Below the help of `whit`.
pub(crate) const WHIT: &str = "\
Examples:
  whit watch                     the service: records, and serves http://127.0.0.1:9797
  whit record                    CPU, disks and network, a line a second
  whit record -f /var/log/whit/  the same, to a recording
  whit play /var/log/whit/       show it
  whit doctor                    what reading costs here, and what is missing

Exit codes: 0 done; 1 nothing found, or a verdict that is not fine; 2 an error, in one line on stderr.";

/// Below the help of `whit watch`.
pub(crate) const WATCH: &str = "\
Examples:
  whit watch                     record this machine, and serve it at http://127.0.0.1:9797
  whit watch --status            what the parts do
  whit config --installed        a file to begin with: docs/watch.md
  whit config                    what is in force, and where it came from
  whit config --unit             a drop-in for whit.service with what the parts need

Signals: TERM and INT end all parts; HUP reads the configuration again.";

/// Below the help of `whit run`.
pub(crate) const RUN: &str = "\
Examples:
  whit run gzip ::: *.log                a job for each file, as many as there are CPU threads
  find . -name '*.png' | whit run -j8 convert {} {.}.jpg
                                         from standard input, eight at once
  whit run -k --tag 'curl -s {1}/{2}' ::: a.example b.example ::: x y
                                         all pairs, output in order, each line with its values
  whit run --joblog log --resume --timeout 10m --retries 3 ./job {} :::: list
                                         continues where it was interrupted
  whit run -S 8/web1,4/web2,: --trc {.}.mp3 lame {} {.}.mp3 ::: *.wav
                                         on other hosts and here; files are sent and fetched
  whit run --bar --results out/ ./job ::: {1..100}
                                         a bar, and the output of each job in files
  whit run --record runs/ -j8 make -C {} ::: */
                                         records the machine meanwhile, for whit play runs/

Exit codes: 0: all jobs succeeded; 1 to 100: the number of jobs that failed; 101: more than 100
failed; 255: another error.
Signals: TERM and INT end the running jobs, and then whit; after HUP no more jobs start, and whit
waits for the running ones; USR1 lists the running jobs; USR2 shows the progress.";

const RECORD: &str = "\
Examples:
  whit record -s cdnm -oT            four subsystems with the time, a line a second
  whit record -s D -i 5 -c 12        each disk for a minute
  whit record -s v                   how full the volumes are
  whit record --all --verbose -c 1   every summary once
  whit record -f /var/log/whit/ -D -r 00:00,7
                                     in the background; a new file each midnight, a week kept
  whit record -f ./ --keep 500M      at most so much on the disk
  whit record --csv --fields cpu.user,disk.reads
                                     numbers for another program
  whit record --openmetrics -i 10    a page of metrics every ten seconds, ended by # EOF
  whit record --export rrd,/var/lib/whit/rrd
                                     a history that never grows, for whit rrd graph
  whit record -A server              lines for each client on port 2655

Signals: TERM and INT end the recording, HUP begins new files, USR1 writes out what is buffered.";

const PLAY: &str = "\
Examples:
  whit play --from 10:00-10:15           what the service, whit watch, has recorded
  whit play /var/log/whit/               all recordings of a folder
  whit play host-20261121.raw.gz -s cm   two subsystems of one of collectl's recordings
  whit play -p '/var/log/whit/*TODAY*' --from 10:00-11:30 -oT
                                         an hour and a half of today, with the time
  whit play x.whit -s D --dskfilt sda    one disk
  whit play x.whit -P -f plots/          plot files
  whit play x.whit --json --fields cpu   one object a line
  whit play x.whit --export rrd,db/      round-robin databases, for whit rrd graph
  whit play x.whit --stats               totals at the end
  whit play x.whit --diff 10:00-11:00 14:00-15:00
                                         what is different in the afternoon
  whit play /var/log/whit/ -scdnm --step 1h -oD
                                         means of each hour
  whit play x.whit --heaviest cpu,10 --from 10:00-10:15
                                         the commands that used most CPU time
  whit play x.whit --extract y.whit --from 10:00-11:00
                                         an hour in a file of its own
  whit play /var/log/whit/ --follow      and what is being recorded, as it comes";

/// Below the help of `whit top`.
pub(crate) const TOP: &str = "\
Examples:
  whit top                          this machine, a sample a second
  whit top -d 5 -u www-data         one user's processes, every five seconds
  whit top --sort res               by memory in use
  whit top --by cgroup              one line for each control group
  whit top --tree -H                parents, children and threads
  whit top --at 10:15               how it was then, by what whit watch has recorded
  whit top x.whit --at 10:15        by a recording; Left and Right move in time
  whit top --hosts web[1-12],db     a line for each host; Enter shows the processes of one
  whit top --hosts a,b -d 5 --host-sort wait

Keys: ? lists them all; q ends, g groups, t makes a tree, k sends a signal after a question.
NO_COLOR in the environment does without colours.";

/// Below the help of `whit trace`.
pub(crate) const TRACE: &str = "\
Examples:
  whit trace ls /                       a line for each call
  whit trace -f -e trace=%file make     names of files, children too
  whit trace -Z -y cat /nowhere         what fails, and with which file
  whit trace -tt -T -p 1234             a process that runs, until Ctrl-C
  whit trace -ff -o t make              a file t.PID for each task
  whit trace -f --slower-than 0.1 make  only what took its time
  whit trace --json -o - true           for another program
  whit trace -c ls /                    how many and how long: a table
  whit trace -cf --by command make      and split by program
  whit trace -ca -i 1                   the whole machine, a table a second
  whit trace -c --hosts web[1-3] ls /   on three hosts by ssh, added up

Output goes to stderr, as strace's does; -o FILE sends it elsewhere, -o - to
stdout, -o '|COMMAND' to a command. See docs/trace.md for what it means.
Exit code: the command's own, with --hosts the highest; 2 on an error of whit's.";

/// Below the help of `whit doctor`.
pub(crate) const DOCTOR: &str = "\
Examples:
  whit doctor                   this machine, at a sample a second
  whit doctor -i 0.1            would ten a second be too much?
  whit doctor --root /snapshot  the /proc and /sys of another machine, copied
  whit doctor --json            for another program

Exit codes: 0 the verdict is fine; 1 it is not; 2 an error.";

/// Below the help of `whit link`.
pub(crate) const LINK: &str = "\
Examples:
  whit link ~/bin        # ~/bin/collectl and ~/bin/strace now run whit";

/// Below the help of `whit serve`.
pub(crate) const SERVE: &str = "\
Examples:
  whit serve /var/log/whit
  curl 'http://127.0.0.1:9797/api/v1/query?query=rate(node_intr_total[1m])'
  whit serve --databases /var/lib/rrd --device-pages /var/www/mrtg /var/log/whit

A browser shows the recordings as a page at http://127.0.0.1:9797/; docs/page-interface.md has its
interface.  In Grafana the address is that of a data source of the type Prometheus.  Names of
metrics: docs/reference/prometheus.md.

/metrics is a page with the newest sample of each host, for scrapers.  For other machines:
  whit serve --hash-password  reads a password; its hash is for a line NAME:HASH of the file users
  whit serve --listen tls:0.0.0.0:9797 --tls-cert cert.pem --tls-key key.pem --users users /var/log/whit";

/// Below the help of `whit alert`.
pub(crate) const ALERT: &str = "\
Examples:
  whit alert --check                    when the rules of the configuration would have fired
  whit alert --check --from 2026-11-22 --json /var/log/whit

Rules are [[alert]] tables of the configuration, and whit watch runs them: docs/alerts.md.";

/// Below the help of `whit sysstat`.
pub(crate) const SYSSTAT: &str = "\
Examples:
  whit sysstat iostat -xz 5
  whit sysstat sar -u -n DEV 1 10
  whit sysstat sar -r -f /var/log/whit -s 10:00 -e 11:00 -i 60
  whit sysstat vmstat --recording /var/log/whit

Options and columns are those of sysstat 12.6 and procps 4.0; what is left out is refused with a
reason.  whit link makes links under the names of the programs.  Times are written as in the C locale,
with S_TIME_FORMAT=ISO the date as ISO 8601.  A number that the machine does not give is -, not 0.";

/// Below the help of `whit send`.
pub(crate) const SEND: &str = "\
Examples:
  whit send --to remote-write=http://127.0.0.1:9090 /var/log/whit
  whit send --follow --to remote-write=http://a:9090 --to remote-write=http://b:8428 /var/log/whit
  whit send --follow --to otlp=http://collector:4318 --name collector /var/log/whit
  whit send --to 'influx=http://127.0.0.1:8086/?db=whit' /var/log/whit
  whit send --to graphite=carbon.example /var/log/whit
  whit send --follow --to jetstream=nats://127.0.0.1:4222 /var/log/whit
  whit send --follow --to loki=http://127.0.0.1:3100 /var/lib/whit-log
  whit send --create-tables --to clickhouse=http://127.0.0.1:8123 /var/log/whit
  whit send --status /var/log/whit
  whit send --verify --to remote-write=http://127.0.0.1:9090 /var/log/whit

The recordings are what is kept until an engine has it: for each engine the folder has a cursor
(.send-NAME.json), which moves when the engine acknowledges.  An outage of the engine, an end of whit
and a boot cost time only.  What an engine refuses for good is listed in .send-NAME.refused.

A path in the address is used as it is; without one it is /api/v1/write, /v1/metrics, /v1/logs, /write,
/loki/api/v1/push or /upload.
Prometheus takes remote write with --web.enable-remote-write-receiver, and samples of the past only in
the order of their times.  JetStream needs a stream for whit.samples.> or whit.logs.>.
Names of metrics: docs/reference/prometheus.md.
For Kafka: through a collector of OpenTelemetry, or JetStream.";

/// Below the help of `whit rrd`.
pub(crate) const RRD: &str = "\
Commands:
  create FILE [--start TIME] [--step SECONDS] [--template FILE] [--source FILE]...
         [--no-overwrite] DS:NAME:TYPE:HEARTBEAT:MIN:MAX... RRA:CF:XFF:STEPS:ROWS...
                                 make a file
  update FILE [--template DS:DS...] [--skip-past-updates] [--locking try|block|none]
         TIME|N:VALUE[:VALUE...]...
                                 add readings; updatev also shows the rows that are written
  fetch FILE CF [--resolution SECONDS] [--start TIME] [--end TIME] [--align-start]
                                 rows of a period
  info, first, last, lastupdate FILE
                                 what a file keeps, and until when
  graph FILE [OPTION...] DEF:... LINE:... AREA:... GPRINT:...
                                 a picture as PNG, SVG, EPS or PDF; graphv also says what is where.
                                 --utc: times of UTC, not of the local zone
  xport [OPTION...] DEF:... XPORT:...
                                 series as XML or JSON; --add-jsontime: a time in each row of JSON,
                                 also of graph
  dump FILE [XML]                a file as XML; restore XML FILE makes a file from it
  tune FILE [OPTION...] [DEL:DS] [DS:...] [DELRRA:N] [RRA:...] [RRA#N:+ROWS]
                                 change what a file keeps
  resize FILE N GROW|SHRINK ROWS write resize.rrd, with more or fewer rows
  list [--recursive] FOLDER      the files of a folder
  check FILE...                  whether files are sound
  repair FILE NEW                mend a damaged file; each change and each loss is a line.
                                 --in-place replaces FILE; --step SECONDS, if the step is lost
  convert FILE NEW [--step SECONDS] [DEL:DS] [DS:...] [DELRRA:N] [RRA:...] [RRA#N:+ROWS]
                                 write a file of another machine in this one's layout, with
                                 another step, other sources and archives; --in-place replaces
                                 FILE.  With another step rows are resampled as by
                                 `create --source`: weighed by time, unknown below the xff
  top FOLDER                     the files that cost most
  -                              commands from standard input, a line each; each is answered by a
                                 line `OK ...` or `ERROR: ...`

Times are words (`now-1d`, `noon yesterday`, `20261122`) or seconds since 1970.
RRD_LOCKING is `try` (the default), `block` or `none`: what to do about a file that is locked;
`--locking` of update, updatev and tune goes before it.

Examples:
  whit rrd create net.rrd --step 60 DS:in:COUNTER:120:0:U RRA:AVERAGE:0.5:1:1440
  whit rrd update net.rrd N:8452
  whit rrd fetch net.rrd AVERAGE --start -1h
  whit link ~/bin                # ~/bin/rrdtool now runs whit rrd";

/// Below the help of `whit log`.
pub(crate) const LOG: &str = "\
Programs write their records into rings in shared memory (Rust: crate logger; C and C++: clients/c).
A record that was written survives the end of its program; what is lost on the way is named.

Examples:
  whit log central --keep 100G               # for the programs of this machine
  whit log central -l /run/whit-log.sock -l 0.0.0.0:4515 --secret-file /etc/whit/log.secret
  whit log proxy -c central.example.org:4515 --secret-file /etc/whit/log.secret
  whit log proxy --central none -o json:/var/log/whit.json --rotate 100M   # on this host alone
  whit log proxy -c tls:central.example.org:4516 --tls-ca /etc/whit/ca.pem \\
    --secret-file /etc/whit/log.secret
  whit log tail -l WARNING                   # what comes now, from WARNING on
  whit log tail -c central.example.org:4515 --secret-file /etc/whit/log.secret
  whit log query --from 2026-11-22T20:00 -g 'CONTROL/*' -f acs
  whit log query --from -1h -l WARNING loki=http://127.0.0.1:3100
  whit log export --from -1d -o day.xml -f acs
  whit log stats --from -1h                  # by level, host, process and logger
  whit log recover                           # what dead processes left in their rings
  whit log view                              # on a terminal; also a FILE.xml of ACS, or -c ADDRESS
  whit log level 'CONTROL/*' DEBUG           # while the processes run
  whit log verify                            # sent = received, nothing twice

Exit codes: 0 done, found, or all is there; 1 nothing found, no logger set, or records lost, twice or
damaged (verify); 2 an error; 3 nothing lost, but writers dropped records, as their policy says (verify).";

/// Below the help of `whit rrdcached`.
pub(crate) const RRDCACHED: &str = "\
Clients speak rrdcached's protocol: rrdtool --daemon, collectd, RRDs, HELP in a terminal.
INT and TERM end the daemon: files are written with -F or without a journal, otherwise the journal
keeps what waits.  USR1 writes all files and ends, USR2 ends at once.

Examples:
  whit rrdcached -g -l unix:/run/rrdcached.sock -j /var/lib/rrdcached/journal -b /var/lib/rrd -B
  whit rrdcached -w 30m -z 5m -P FLUSH,FETCH -l 10.0.0.1 -P UPDATE,BATCH --ack disk -l /run/up.sock
  whit rrdcached -l tls:10.0.0.1 --tls-cert my.pem --tls-key my.key --tls-client-ca ca.pem
  whit link ~/bin                # ~/bin/rrdcached now runs whit rrdcached";

/// Below the help of `whit poll make`.
pub(crate) const POLL_MAKE: &str = "\
Examples:
  whit poll make public@router:::::2 > mrtg.cfg
                                   a target for each interface, by version 2c
  whit poll make --global 'WorkDir: /var/www/mrtg' --ifref=name --output mrtg.cfg a b
                                   two devices, interfaces by their names
  whit poll make --if-filter '$if_is_ethernet && $if_speed > 1e6' router
                                   only some interfaces

Options hold for the devices after them.
Exit codes: 0 done; 2 an error.";

/// Below the help of `whit poll index`.
pub(crate) const POLL_INDEX: &str = "\
Examples:
  whit poll index --output /var/www/mrtg/index.html mrtg.cfg
  whit poll index --columns 3 --section descr --show week --filter 'name=~router' mrtg.cfg

Exit codes: 0 done; 2 an error.";

/// Below the help of `whit poll pages`.
pub(crate) const POLL_PAGES: &str = "\
Examples:
  whit poll pages mrtg.cfg                  pages of all targets, also of databases
  whit poll pages --target router_1 mrtg.cfg

Exit codes: 0 done; 1 some pages were not written; 2 an error.";

/// Below the help of `whit poll`.
pub(crate) const POLL: &str = "\
Without --daemon, RunAsDaemon and -c one round is made: run it every interval, or let whit stay.
A daemon reads its files again when one of them changes, or at HUP; TERM and INT end it, USR1 has it
write out what waits for a recording.
Exit codes: 0 done, 2 a wrong configuration, 17 already running, 91 some targets are unknown, 92 all.

Examples:
  whit poll --check /etc/mrtg/mrtg.cfg    # every problem with file and line
  whit poll /etc/mrtg/mrtg.cfg            # one round
  whit poll --daemon --logging /var/log/mrtg.log /etc/mrtg/*.cfg
  whit poll --daemon -f /var/log/whit/poll/ -r 00:00,30 /etc/mrtg/mrtg.cfg
                                          # recordings, too, for whit play
  whit poll --daemon --share nats://nats.example.org/whit /etc/mrtg/mrtg.cfg
                                          # with the pollers of other machines
  whit poll -c 5 --json /etc/mrtg/mrtg.cfg
                                          # five rounds, an object a round
  whit link ~/bin                         # ~/bin/mrtg now runs whit poll";

/// Below the help of `whit record`.
pub(crate) fn record() -> String {
    format!(
        "{}\nWithout -s: {} on the screen, {} with -D, cdmnCDN with --export rrd.\n\n{RECORD}",
        subsystems(),
        crate::display::LIVE_SUBSYSTEMS,
        crate::display::RECORDED_SUBSYSTEMS
    )
}

/// Below the help of `whit play`.
pub(crate) fn play() -> String {
    format!(
        "{}\nWithout -s: all that was recorded, cdmnCDN with --export rrd.\n\n{PLAY}",
        subsystems()
    )
}

/// Every letter of `-s` with what it shows.
fn subsystems() -> String {
    let mut text =
        String::from("Subsystems for -s (small: a summary; capital: each one of them):\n");
    let mut sources: Vec<_> = source::ALL.to_vec();
    sources.sort_by_key(|def| def.letters.to_ascii_lowercase());
    for def in sources {
        let _ = writeln!(text, "  {:<4}{}", def.letters, def.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    /// Every example line of the help is a command line that whit takes.
    #[test]
    fn examples_are_understood() {
        let texts = [super::WHIT.to_owned(), super::record(), super::play()];
        let others = [
            super::TOP,
            super::TRACE,
            super::DOCTOR,
            bench::arguments::HELP,
            super::LINK,
            super::SERVE,
            super::WATCH,
            super::ALERT,
        ]
        .map(str::to_owned);
        let mut count = 0;
        for line in texts.iter().chain(&others).flat_map(|text| text.lines()) {
            let Some(rest) = line.strip_prefix("  whit ") else { continue };
            // What the example is for stands after two blanks, if not on the next line.
            let example = rest.split("  ").next().unwrap_or(rest);
            let words = example.split_whitespace().map(|word| word.trim_matches('\''));
            let words: Vec<&str> = std::iter::once("whit").chain(words).collect();
            let matches = crate::Arguments::command().try_get_matches_from(&words);
            let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
            crate::Arguments::from_arg_matches(&matches).unwrap();
            count += 1;
        }
        assert!(count > 20, "{count} examples");
    }

    #[test]
    fn every_letter_is_explained() {
        let text = super::subsystems();
        for letter in crate::display::known_letters().chars() {
            let listed = text.lines().skip(1).any(|line| line[..6].contains(letter));
            assert!(listed, "{letter}: {text}");
        }
    }
}
