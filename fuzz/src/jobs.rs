//! What `whit run` reads: command lines with replacement strings, small languages of options,
//! values, blocks, logins, joblogs.
//!
//! Most of it is the user's own, but values, streams, files of logins and joblogs are not; and a
//! tool that ends in a panic because of a typing error is none either.

use std::io::Read;

use run::input::{self, Columns, Packer, Trim, ValueNames};
use run::pipe::{self, BlockSize, Cutter};
use run::remote::{Connection, HostAddress, LoginEntry, login};
use run::schedule::{Delay, Halt, Jobs, Limit, Load, TermSequence, Timeout};
use run::{joblog, units};
use template::quote::Shell;
use template::{Context, Packing, Record, Syntax, Template, Values, shell};

const SHELLS: [Shell; 4] = [Shell::Bourne, Shell::Csh, Shell::Fish, Shell::Rc];

/// A byte of choices, and what follows it.
fn choice(bytes: &[u8]) -> (u8, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(&first, rest)| (first, rest))
}

/// Two bytes of choices; then lines: the command, a `--rpl`, and values.
pub fn run_template(bytes: &[u8]) {
    let (flags, rest) = choice(bytes);
    let (more, rest) = choice(rest);
    let mut lines = rest.split(|byte| *byte == b'\n');
    let command = lines.next().unwrap_or_default();
    let own = lines.next().unwrap_or_default();
    // These come from our own command line, where no word holds one.
    if command.contains(&0) || own.contains(&0) {
        return;
    }
    let values: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
    let language = SHELLS[usize::from(more >> 4) % SHELLS.len()];
    let own = own.iter().position(|byte| *byte == b' ').map(|at| own.split_at(at));
    let syntax = Syntax {
        plus: flags & 1 != 0,
        quote_command: flags & 2 != 0,
        shell_quote: u32::from(flags & 4 != 0),
        parens: (flags & 8 != 0).then(|| (b",,".to_vec(), b",,".to_vec())),
        rpl: own.map(|(name, code)| (name.to_vec(), code.to_vec())).into_iter().collect(),
        names: vec![b"name".to_vec()],
        shell: language,
        ..Syntax::default()
    };
    let words: Vec<Vec<u8>> = match flags & 16 != 0 {
        true => command.split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect(),
        false => vec![command.to_vec()],
    };
    let Ok(mut template) = Template::parse(&words, &syntax) else { return };
    if !template.has_values() {
        template.append_value();
    }
    let width = usize::from(more & 3) + 1;
    let record = |values: &[Vec<u8>]| Record { values: values.to_vec() };
    let records: Vec<Record> = values.chunks(width).map(record).collect();
    let packing = [Packing::One, Packing::Join, Packing::Repeat][usize::from(flags >> 5) % 3];
    let context = Context {
        seq: u64::from(more) + 1,
        slot: 2,
        slots: 10,
        total: Some(300),
        records: &records,
        packing,
        local_time_s: 1_700_000_000,
    };
    let values = if more & 4 != 0 { Values::Bare } else { Values::Quoted(language) };
    render(&template, &context, values);
}

/// What is rendered is as long as was said, and a template that needs no shell needs none.
fn render(template: &Template, context: &Context<'_>, values: Values) {
    let mut text = Vec::new();
    let rendered = template.render(context, values, &mut text);
    let length = template.rendered_len(context, values);
    assert_eq!(rendered.is_ok(), length.is_ok(), "{rendered:?} {length:?}");
    if let Ok(length) = length {
        assert_eq!(length, text.len(), "{}", String::from_utf8_lossy(&text));
    }
    let surroundings = shell::Surroundings::default();
    let mut words = Vec::new();
    let direct = template.render_words(context, &mut words);
    if shell::needed(template, &surroundings).is_none() && rendered.is_ok() {
        let has_nul =
            context.records.iter().flat_map(|record| &record.values).any(|v| v.contains(&0));
        assert!(direct.is_ok() || has_nul, "{direct:?}");
        assert!(has_nul || words.last().is_none_or(|last| *last == 0));
    }
}

/// A byte that says which; then the text of an option.
pub fn run_options(bytes: &[u8]) {
    let (which, text) = choice(bytes);
    let Ok(text) = std::str::from_utf8(text) else { return };
    match which % 11 {
        0 => drop(units::size(text)),
        1 => drop(units::amount(text).map(|number| assert!(number.is_finite()))),
        2 => drop(units::duration(text)),
        3 => drop(Delay::parse(text)),
        4 => drop(Timeout::parse(text)),
        5 => drop(Jobs::parse(text)),
        6 => drop(Load::parse(text)),
        7 => drop(Halt::parse(text)),
        8 => drop(TermSequence::parse(text).map(|sequence| sequence.length())),
        9 => drop(Limit::parse(text.as_bytes())),
        _ => drop(input::delimiter(text.as_bytes())),
    }
}

/// Three bytes of choices; then a line with the separator of columns, and values.
pub fn run_input(bytes: &[u8]) {
    let (flags, rest) = choice(bytes);
    let (more, rest) = choice(rest);
    let (count, rest) = choice(rest);
    let at = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (separator, text) = (rest[..at].to_vec(), rest.get(at + 1..).unwrap_or_default().to_vec());
    let options = input::InputOptions {
        delimiter: [b"\n".to_vec(), vec![0], b"::".to_vec()][usize::from(flags & 3) % 3].clone(),
        columns: match flags >> 2 & 3 {
            0 => Columns::None,
            1 => Columns::Csv(separator),
            2 => Columns::Csv(b",".to_vec()),
            _ => Columns::Separator(separator),
        },
        header: if flags & 16 != 0 { ValueNames::First } else { ValueNames::None },
        trim: [None, Some(Trim::Left), Some(Trim::Right), Some(Trim::Both)]
            [usize::from(flags >> 5 & 3)],
        link: flags & 128 != 0,
        shuffle: (more & 1 != 0).then_some(7),
        end_of_file: (more & 2 != 0).then(|| b"END".to_vec()),
        skip_first_line: more & 4 != 0,
        no_run_if_empty: more & 8 != 0,
        continued: more & 16 != 0,
    };
    let bytes_max = text.len();
    let stdin = Box::new(std::io::Cursor::new(text));
    let Ok(input) = input::open(Vec::new(), &options, stdin) else { return };
    let packing = input::RecordPacking {
        records_max: [1, 2, 3, u64::MAX][usize::from(count & 3)],
        spread: (count & 4 != 0).then_some(3),
        exact: count & 8 != 0,
    };
    let mut packer = Packer::new(input, packing);
    let mut jobs = 0;
    let fits = |_, records: &[Record]| {
        records.iter().flat_map(|record| &record.values).map(Vec::len).sum::<usize>() < 64
    };
    while let Ok(Some(records)) = packer.next(fits) {
        assert!(records.len() as u64 <= packing.records_max);
        jobs += 1;
        assert!(jobs <= bytes_max + 1, "more jobs than the input has bytes");
    }
}

/// Four bytes of choices; then a line with what records begin with, one with what they end with,
/// and the stream.
pub fn run_pipe(bytes: &[u8]) {
    let (flags, rest) = choice(bytes);
    let (block, rest) = choice(rest);
    let (counts, rest) = choice(rest);
    let (step, rest) = choice(rest);
    let mut lines = rest.splitn(3, |byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (start, end, stream) = (line().to_vec(), line().to_vec(), line());
    let options = pipe::PipeOptions {
        block: Some(BlockSize::Bytes(u64::from(block))),
        record_start: (flags & 1 != 0).then_some(start),
        record_end: (flags & 2 != 0).then_some(end),
        regexp: flags & 4 != 0,
        remove_separators: flags & 8 != 0,
        records_max: (counts & 3 != 0).then_some(u64::from(counts & 3)),
        record_lines: (flags & 16 != 0).then_some(u64::from(counts >> 2 & 3)),
        header: match counts >> 4 & 3 {
            0 | 1 => pipe::PipeHeader::None,
            2 => pipe::PipeHeader::Lines(u64::from(counts >> 6)),
            _ => pipe::PipeHeader::Pattern("(?:#.*\n)*".to_owned()),
        },
        skips_first_line: false,
        csv: flags & 32 != 0,
        drop_blank_lines: flags & 64 != 0,
        group_by: (flags & 128 != 0).then(|| pipe::LineKey {
            option: "--group-by",
            text: b"1 s/.$//".to_vec(),
            separator: None,
            takes_lines: true,
            perl: None,
        }),
    };
    let Some(whole) = cut(&options, stream, usize::MAX) else { return };
    if !options.remove_separators && !options.drop_blank_lines {
        let (header, blocks) = &whole;
        assert_eq!([header.clone(), blocks.concat()].concat(), stream, "bytes are lost or added");
        for (at, block) in blocks.iter().enumerate().take(blocks.len().saturating_sub(1)) {
            assert!(ends_record(&options, block, &blocks[at + 1]), "{block:?} is no whole record");
        }
    }
    // A line of which nobody knows yet whether it is blank may be given to a job, and a pattern
    // that matches up to the end of a full block might have matched more.
    if options.drop_blank_lines || options.regexp {
        return;
    }
    // How much each read(2) gives changes nothing.
    let step = usize::from(step) + 1;
    assert_eq!(cut(&options, stream, step), Some(whole), "other blocks by {step} bytes a time");
}

/// The header and the blocks of a stream that comes by so many bytes a time.
fn cut(options: &pipe::PipeOptions, stream: &[u8], step: usize) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    /// Gives a few bytes at each call.
    struct Slow<'a>(&'a [u8], usize);
    impl Read for Slow<'_> {
        fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(space.len());
            self.0.read(&mut space[..count])
        }
    }
    let mut cutter = Cutter::new(options).ok()?;
    let mut stream = Slow(stream, step);
    let mut blocks = Vec::new();
    while let Some(block) = cutter.read_block(&mut stream).ok()? {
        assert!(!block.bytes.is_empty(), "an empty block");
        blocks.push(block.bytes);
    }
    Some((cutter.header().to_vec(), blocks))
}

/// Whether a record ends between the two, as far as can be said by looking at the border alone.
fn ends_record(options: &pipe::PipeOptions, block: &[u8], next: &[u8]) -> bool {
    if options.group_by.is_some() {
        return block.ends_with(b"\n");
    }
    if options.record_lines.is_some_and(|lines| lines > 0) || options.csv {
        return block.ends_with(b"\n");
    }
    if options.regexp {
        return true;
    }
    let (start, end) = (&options.record_start, &options.record_end);
    if start.is_none() && end.is_none() {
        return block.ends_with(b"\n");
    }
    // The last block may be the rest of what stands at the border.
    let start = start.as_deref().unwrap_or_default();
    block.ends_with(end.as_deref().unwrap_or_default())
        && (next.starts_with(start) || start.starts_with(next))
}

/// The value of `-S`, and a file of logins.
pub fn run_logins(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for entries in [login::split(text), login::read_lines(text)].into_iter().flatten() {
        for entry in &entries {
            let LoginEntry::Login(login) = entry else { continue };
            assert!(!login.host().is_empty());
            if let HostAddress::Remote(ssh) = &login.address {
                assert!(!ssh.host.starts_with('-'), "an option for ssh: {}", ssh.host);
                assert!(Connection::default().words(ssh).contains(&ssh.host.clone().into_bytes()));
            }
        }
        login::choose(entries);
    }
}

/// A joblog of an earlier run.
pub fn run_joblog(bytes: &[u8]) {
    let path = std::path::Path::new("joblog");
    let Ok(done) = joblog::read_from(bytes, path) else { return };
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    let failed = done.clone().into_failed();
    assert!(failed.len() <= lines);
    for (seq, command) in failed {
        assert!(done.was_run(seq) && !done.succeeded(seq));
        assert!(!command.contains(&0), "no shell can be given a NUL");
    }
}

/// Inputs that get far.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let with = |choices: &[u8], texts: &[&str]| -> Vec<Vec<u8>> {
        let texts = texts.iter().map(|text| text.as_bytes());
        texts.map(|text| [choices, text].concat()).collect()
    };
    match target {
        "run_template" => [
            with(&[0, 0], &TEMPLATES),
            with(&[1 | 16, 1], &TEMPLATES),
            with(&[2 | 64, 2 | 16], &TEMPLATES),
            with(&[1 | 4 | 32, 4 | 32], &TEMPLATES),
            with(&[8 | 32, 0], &[",,s/a/b/,, ,,1 uc($_),,\n\na\nb"]),
        ]
        .concat(),
        "run_options" => (0..11).flat_map(|which| with(&[which], &OPTIONS)).collect(),
        "run_input" => (0..=255)
            .step_by(5)
            .flat_map(|flags| with(&[flags, flags / 3, flags / 7], &INPUTS))
            .collect(),
        "run_pipe" => (0..128)
            .step_by(3)
            .flat_map(|flags| with(&[flags, flags / 3, flags.wrapping_mul(37), flags / 5], &PIPES))
            .collect(),
        "run_logins" => with(&[], &LOGINS),
        "run_joblog" => with(&[], &JOBLOGS),
        _ => Vec::new(),
    }
}

const TEMPLATES: [&str; 8] = [
    "echo {} {.} {/} {//} {/.} {#} {%} {1} {-1} {2/.}\n\na/b.c\nd e\nit's",
    "echo {+/} {..} {...} {##} {0#} {:-x} {:1:2} {#a} {%%b} {/a/Z} {^a} {,,A} {name}\n\nab.c.d\nb",
    "{= s/(.)(.)/$2$1/g; $_ = sprintf('%05.1f|%-5s|%x', seq(), $_, 255) =}\n\nabc\n12",
    "{= tr/a-z/A-Z/; if($_ eq 'B') { skip() } elsif(/^c(.*)$/) { $_ = \"<$1>\" } =}\n\na\nb\ncd",
    "{x} y\n{x} 1 $_ = uc(substr($_, 1, 2)) . lc('Q') x 3\nabc\ndef",
    "{= $_ = total_jobs() * 2 ** 3 % 7 - length($_) / 2; uq() =}\n\n1\n22",
    "printf '%s|' \"{}\" 'a' $(x) `y` <z >w; (q)\n\n$HOME\n*",
    "{= my $a = join('-', reverse(split(/,/, $_))); $_ = $a =}\n\na,b,c",
];

const OPTIONS: [&str; 12] = [
    "10K",
    "1M-12*2.024*2k",
    "(1+2)/(3-3)",
    "1d3.5h16.6m4s",
    "1.5m",
    "200%",
    "+3",
    "-100%",
    "now,fail=30%",
    "TERM,200,KILL,25",
    "load 50%",
    "a\\t\\054\\x2c",
];

const INPUTS: [&str; 4] = [
    ",\nh1,h2\na,\"b \"\"q\"\" c\"\nd,e\\\n \nEND\nf",
    "[ \\t]+\na b\tc\n\n  d  e \nf g",
    "\nx::y\0z\n\0\0w ::\n",
    "(\nx",
];

const PIPES: [&str; 5] = [
    "a\n;\nab;cd;aef;;a;g",
    "\n\nline 1\nline 2\n\n \n\"quoted\nnew line\",x\nlast",
    "[0-9]+ \n\\n\n1 a\n2 b\n33 c\n# 4 d\n",
    "BEGIN\nEND\nBEGIN 1 ENDBEGIN 2 END\nBEGIN 3 EN",
    "#\n\n#one\n#two\nthree\n#four\nfive\n",
];

const LOGINS: [&str; 5] = [
    "8/web[01-12,20],2/user@host:22,:,@group+other/4/ssh -p 3 me@[::1]:99",
    "1/db\\,x,,y\n# comment\n..\n-\n.\n@group\n",
    "//usr/bin/ssh -i key host,fe80::1p22,10.0.0.[1-3]#22",
    "a[1-3][4-6]b,c[]d,e[9-1]",
    "user:secret@host",
];

const JOBLOGS: [&str; 2] = [
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
     1\t:\t1\t1\t0\t0\t1\t0\techo old1\n2\t:\t1\t1\t0\t0\t0\t0\techo old2\n\
     3\t:\t1\t1\t0\t0\t0\t9\techo 3\n1\t:\t1\t1\t0\t0\t0\t0\techo again1\n",
    "6\t:\t1\t1\t0\t0\t-1\t15\techo\0x\tz\n18446744073709551616\t\n7 x\n8",
];
