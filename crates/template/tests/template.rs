//! Templates against the installed `parallel`: what it prints with `--dry-run` is what ours must
//! render.  Each start of it takes tenths of a second, so that one command line holds hundreds of
//! replacement strings.  Where it is not installed, these tests say so and pass.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use template::quote::Shell;
use template::{Context, Packing, Record, Syntax, Template, Values};

use testkit::parallel;

/// What `parallel` prints, or `None` where there is none.
fn theirs(arguments: &[&[u8]], input: &[u8]) -> Option<Vec<u8>> {
    theirs_for("/bin/sh", arguments, input)
}

/// The same for this shell.
fn theirs_for(shell: &str, arguments: &[&[u8]], input: &[u8]) -> Option<Vec<u8>> {
    let words = [b"--dry-run".as_slice()].into_iter().chain(arguments.iter().copied());
    Some(parallel(shell, words, input)?.stdout)
}

/// The same by us: one job for each chunk of records.
fn ours(syntax: &Syntax, words: &[&[u8]], jobs: &[Vec<Record>], packing: Packing) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    let mut template = Template::parse(&words, syntax).unwrap();
    if !template.has_values() {
        template.append_value();
    }
    let mut out = Vec::new();
    for (index, records) in jobs.iter().enumerate() {
        let context = Context {
            seq: index as u64 + 1,
            slot: 1,
            slots: 1,
            total: Some(jobs.len() as u64),
            records,
            packing,
            local_time_s: 0,
        };
        let start = out.len();
        template.render(&context, Values::Quoted(Shell::Bourne), &mut out).unwrap();
        let length = template.rendered_len(&context, Values::Quoted(Shell::Bourne)).unwrap();
        assert_eq!(length, out.len() - start);
        out.push(b'\n');
    }
    out
}

/// One job for each value.
fn single(values: &[Vec<u8>]) -> Vec<Vec<Record>> {
    values.iter().map(|value| vec![Record::of(value.clone())]).collect()
}

/// Shows the first place where two outputs differ.
#[track_caller]
fn same(ours: &[u8], theirs: &[u8], what: &str) {
    if ours == theirs {
        return;
    }
    let at = ours.iter().zip(theirs).take_while(|(left, right)| left == right).count();
    let show = |text: &[u8]| {
        let from = at.saturating_sub(60);
        String::from_utf8_lossy(&text[from..text.len().min(at + 60)]).into_owned()
    };
    panic!("{what}: differs at byte {at}\nours:   {}\ntheirs: {}", show(ours), show(theirs));
}

/// Runs both over values that end in a NUL on standard input.
fn check(syntax: &Syntax, options: &[&str], words: &[&str], values: &[Vec<u8>]) {
    let mut input = Vec::new();
    for value in values {
        input.extend_from_slice(value);
        input.push(0);
    }
    let mut arguments: Vec<&[u8]> = vec![b"-0", b"-j1"];
    arguments.extend(options.iter().chain(words).map(|text| text.as_bytes()));
    let Some(theirs) = theirs(&arguments, &input) else { return };
    let words: Vec<&[u8]> = words.iter().map(|text| text.as_bytes()).collect();
    let ours = ours(syntax, &words, &single(values), Packing::One);
    same(&ours, &theirs, &format!("{options:?} {}", String::from_utf8_lossy(&words.join(&b' '))));
}

/// Every byte between others.
fn every_byte() -> Vec<Vec<u8>> {
    (1..=255_u8).map(|byte| vec![b'a', byte, b'b']).collect()
}

/// Whatever is special to names and shells.
fn odd_values() -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for text in [
        "",
        "a b",
        "it's",
        "''",
        "'a",
        "a'",
        "'''a'''b''",
        "a'\"b",
        "$HOME `x` \\",
        "a\nb",
        "\n",
        "a.b",
        "a/b.c",
        "a.b/c",
        "a/",
        "/",
        "//",
        "//a",
        "a//b",
        "a//b//",
        "/a/",
        ".",
        "..",
        "./",
        ".a",
        "a.",
        "a..",
        "a.b.c.d.e",
        "x.y/a.b.c.d",
        "a.b.c.",
        "a\nb/c.d\ne/f.g\n",
        "x.y\n",
        "x/\n",
        "a.b\nc/d",
        "ü/é.ö",
        "-n",
        "--",
        "~",
        "{= 1 =}",
        "a=b",
        "#x",
        " ",
        "\t",
    ] {
        values.push(text.as_bytes().to_vec());
    }
    values
}

#[test]
fn values_are_quoted_the_same() {
    check(&Syntax::default(), &[], &["e {}|{/.}"], &every_byte());
}

#[test]
fn built_in_strings_with_odd_values() {
    let command = "e {}|{.}|{/}|{//}|{/.}|{#}|{%}|{1}|{1.}|{1/}|{1//}|{1/.}|{-1}|{-1/.}|{2}|{-2}\
                   |{01}|{0}|{1 }|{x}|{+1}|{ 1}|{1..}|{1#}|\"{}\"|'{}'|x{}y{}|{{}}|{|}";
    check(&Syntax::default(), &[], &[command], &odd_values());
}

#[test]
fn plus_strings_with_odd_values() {
    let command = "e {+/}|{+.}|{+..}|{+...}|{..}|{...}|{/..}|{/...}|{##}|{0#}|{0%}|{slot}|{host}\
                   |{sshlogin}|{hgrp}|{agrp}|{uniq}|{choose_k}|{1+/}|{1..}|{-1/...}|{1##}|{2..}";
    let syntax = Syntax { plus: true, ..Syntax::default() };
    check(&syntax, &["--plus"], &[command], &odd_values());
}

#[test]
fn plus_strings_with_parts_of_their_own() {
    let command = "e {:-str}|{:-a b}|{:-'}|{:2}|{:0}|{:1:3}|{:2:99}|{:0:1}|{:-2}|{:x}|{:}|{::}\
        |{#a}|{##a.*b}|{#a.*b}|{#[ab]+}|{###x}|{%c.*d}|{%%c.*d}|{%d}|{%[cd]+}|{%%[cd]+}|{%%%}\
        |{/a/X}|{//a/X}|{/a/}|{//a/}|{/a}|{/(.)b/$1X}|{//[ab]/$$}|{//b|c/-}|{///x}|{/./&}\
        |{^a}|{^^a}|{,A}|{,,A}|{^^.}|{^.}|{,,.}|{^^[a-c]}|{^}|{^^}|{,}|{,,}|{1^a}|{1:2}|{1:-x}\
        |{-1/b/c}|{1##a}|{1%%d+}|{#}|{%}|{##}|{/}|{//}|{.}|{..}|{2:-x}|{1:1:1}";
    let syntax = Syntax { plus: true, ..Syntax::default() };
    let values: Vec<Vec<u8>> =
        ["aabbaab.cccdddcd", "", "0", "AAab", "a/b/cd", "it's a bad cd", "ccdd", "%d#a"]
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect();
    check(&syntax, &["--plus"], &[command], &values);
}

#[test]
fn quoted_commands() {
    let syntax = Syntax { quote_command: true, ..Syntax::default() };
    let words = [
        "e", "a b {} c", "$x;{}", "it's {}", "plain", "", "{}", "{2}", "x{2}y", "{/}{//}", "a\nb",
        "~", "=x", "a=b", "{}{",
    ];
    check(&syntax, &["-q"], &words, &odd_values());
    let values = [b"a b".to_vec()];
    check(&syntax, &["-q"], &["{} x", "y"], &values);
}

#[test]
fn commands_that_begin_with_a_value() {
    let values = [b"a b".to_vec(), b"it's".to_vec(), Vec::new()];
    for command in
        ["", "{}", "x{} {}", "x={} {}", "{#} {}", " {} {}", "x\n{}", "\"{}\" {}", "x={#}{} {}"]
    {
        let words: &[&str] = if command.is_empty() { &[] } else { &[command] };
        check(&Syntax::default(), &[], words, &values);
    }
}

#[test]
fn other_names() {
    let some = |text: &str| Some(text.as_bytes().to_vec());
    let mut syntax = Syntax::default();
    syntax.renames.value = some(",,");
    let command = ["e ,, {} {.} {1} {1.} ,,1 {,,}"];
    check(&syntax, &["-I", ",,"], &command, &odd_values());
    syntax.renames.value = some("{x}");
    check(&syntax, &["-I", "{x}"], &["e {x} {} {1x} {1} {.}"], &odd_values());
    let mut syntax = Syntax::default();
    syntax.renames.without_extension = some("{e}");
    syntax.renames.base_name = some("B");
    syntax.renames.directory = some("D");
    syntax.renames.base_name_without_extension = some("{be");
    syntax.renames.seq = some("S");
    syntax.renames.slot = some("L");
    let options = [
        "--er",
        "{e}",
        "--bnr",
        "B",
        "--dnr",
        "D",
        "--bner",
        "{be",
        "--seqreplace",
        "S",
        "--slotreplace",
        "L",
    ];
    let command = "e {} {e} {1e} {.} B {/} {1/} D {//} {be {/.} S {#} L {%} {1B} {1#} {1be";
    check(&syntax, &options, &[command], &odd_values());
}

/// Values as arguments (`:::`), several sources if there are empty texts between them.
fn check_packed(
    options: &[&str],
    words: &[&str],
    sources: &[&[&str]],
    jobs: &[&[&str]],
    syntax: &Syntax,
    packing: Packing,
) {
    let mut arguments: Vec<&str> = vec!["-j1"];
    arguments.extend(options.iter().chain(words));
    for source in sources {
        arguments.push(":::");
        arguments.extend(*source);
    }
    let arguments: Vec<&[u8]> = arguments.iter().map(|text| text.as_bytes()).collect();
    let Some(theirs) = theirs(&arguments, b"") else { return };
    // A record for each source's worth of values.
    let jobs: Vec<Vec<Record>> = jobs
        .iter()
        .map(|values| {
            (values.chunks(sources.len()))
                .map(|chunk| Record {
                    values: chunk.iter().map(|text| text.as_bytes().to_vec()).collect(),
                })
                .collect()
        })
        .collect();
    let words: Vec<&[u8]> = words.iter().map(|text| text.as_bytes()).collect();
    let ours = ours(syntax, &words, &jobs, packing);
    same(&ours, &theirs, &format!("{options:?} {}", String::from_utf8_lossy(&words.join(&b' '))));
}

#[test]
fn packed_values() {
    let command = &[
        "e x{}y {.}-{/} {#} {#}{} {1} {2} {1}{2} x{}{1}y {-1} {-2}{} {-4} {-5} {3} \"x {} y\" a;{}&b>{}|(z) \
         {}{}  end {//} {1}{} {0}",
        "q'{}' {} w",
    ][..];
    let source: &[&str] = &["a.1", "x/b c", "it's"];
    let default = Syntax::default();
    let quoted = Syntax { quote_command: true, ..Syntax::default() };
    let one = &[&["a.1", "x/b c", "it's"][..]][..];
    let two = &[&["a.1", "x/b c"][..], &["it's"]][..];
    check_packed(&["-m"], command, &[source], one, &default, Packing::Join);
    check_packed(&["-X"], command, &[source], one, &default, Packing::Repeat);
    check_packed(&["-N2"], command, &[source], two, &default, Packing::Repeat);
    check_packed(&["-n2"], command, &[source], two, &default, Packing::Join);
    check_packed(&["-N2", "-m"], command, &[source], two, &default, Packing::Repeat);
    check_packed(&["-X", "-q"], command, &[source], one, &quoted, Packing::Repeat);
    check_packed(&["-m", "-q"], command, &[source], one, &quoted, Packing::Join);
}

#[test]
fn several_sources() {
    let command = &["e {} x{}y {1} {2/} {-1.} {-2} {-3} {-4} {3} {0}"][..];
    let sources: &[&[&str]] = &[&["a b", "c"], &["x/y.z", ""]];
    let jobs: &[&[&str]] = &[&["a b", "x/y.z"], &["a b", ""], &["c", "x/y.z"], &["c", ""]];
    check_packed(&[], command, sources, jobs, &Syntax::default(), Packing::One);
    let quoted = Syntax { quote_command: true, ..Syntax::default() };
    check_packed(&["-q"], command, sources, jobs, &quoted, Packing::One);
    let pairs: &[&[&str]] = &[&["a b", "x/y.z", "a b", "", "c", "x/y.z", "c", ""]];
    check_packed(&["-X"], command, sources, pairs, &Syntax::default(), Packing::Repeat);
    let names = vec![b"n".to_vec(), b"two words".to_vec()];
    let syntax = Syntax { names, ..Syntax::default() };
    let sources: &[&[&str]] = &[&["n", "a b", "c"], &["two words", "x/y.z", ""]];
    let command = &["e {n} {n.} {n/} {two words} {two words//} {1} {2} {nn} {1n} {}"][..];
    check_packed(&["--header", ":"], command, sources, jobs, &syntax, Packing::One);
}

/// Expressions, each with the value it ends with: put together to one command.
fn check_expressions(expressions: &[&str], values: &[&str]) {
    let mut command = "e".to_owned();
    for expression in expressions {
        command += &format!(" {{={expression}=}}|");
    }
    let values: Vec<Vec<u8>> = values.iter().map(|text| text.as_bytes().to_vec()).collect();
    check(&Syntax::default(), &[], &[&command], &values);
}

#[test]
fn expressions_of_numbers() {
    let expressions = [
        " $_++ ",
        " ++$_ ",
        " $_-- ",
        " $_=$_*2 ",
        " $_/=3 ",
        " $_=1e20 ",
        "$_=10**20",
        "$_=1/3",
        "$_=0.1+0.2",
        "$_=-7%3",
        "$_=7.5%3",
        "$_=7%-3",
        "$_=2**0.5",
        "$_=2**-1",
        "$_=\"abc\"+1",
        "$_=\"3abc\"+1",
        "$_=1<2",
        "$_=2<1",
        "$_=5<=>3",
        "$_ = $_ == 5 ? 1 : 0",
        "$_=int(-3.7)",
        "$_=int($_)",
        "$_=abs(-2)",
        "$_=hex(\"ff\").oct(\"017\")",
        "$_=sqrt(9)",
        "$_=0x1f",
        "$_=1+2*3-4/2",
        "$_=(1+2)*3",
        "$_=-2**2",
        "$_=2**3**2",
        "$_=1.0",
        "$_=1.50",
        "$_=1000000*1000000",
        "$_=1e15",
        "$_=1e15+0.3",
        "$_=123456789012345678",
        "$_=0.0001",
        "$_=0.00001",
        "$_=!0",
        "$_=!1",
        "$_=not 1",
        "$_+=5;$_*=2",
        "$_.=1+1",
        "$_=3 . 4",
        "$_=\"1_000\"*1",
        "$_=exp(0).log(1)",
        "$_=$_ % 2 ? \"odd\":\"even\"",
        "$_=1<=>\"a\"",
        "$_=10 == 10.0",
        "$_=\"10\" eq \"10.0\"",
        "$_=1 - -1",
        "$_=2 x 3",
        "$_=7/2",
        "$_=6/2",
        "$_=1 <= 1 && 2 >= 3 || 5",
        "$_=0 || \"x\"",
        "$_=seq()",
        "$_=slot()*10",
        "$_=$job->seq()+1.5",
        "$_=seq()-1",
        "$_=sprintf(\"%03d\",seq())",
    ];
    check_expressions(&expressions, &["5", "aZ", "Zz", "zz9", "1.50", "0x10", " 7 ", "", "-3"]);
}

#[test]
fn expressions_of_texts() {
    let expressions = [
        "s/(\\d+)/$1+1/e",
        "s/(\\w)(\\w)/$2$1/g",
        "s{a}{b}",
        "s(a)(b)g",
        "s,/,_,g",
        "tr/a-z/A-Z/",
        "y/a-c/x/d",
        "$_=tr/a//",
        "tr/a-z//cd",
        "tr/a-z/_/cs",
        "s/^\\s+|\\s+$//g",
        "$_ =~ s/a/b/i",
        "$_ = s/a/b/r",
        " if(/a/) { $_=\"has\" } else { $_=\"no\" } ",
        " $_=\"has\" if /a/ ",
        " $_=\"no\" unless m/a/ ",
        " /(\\d)(\\d)/ and $_=\"$2$1\" ",
        " $_=join(\"-\",@arg) ",
        "$_=substr($_,1,2)",
        "substr($_,0,1)=\"Q\"",
        "$_=index($_,\"a\")",
        "$_=rindex($_,\"a\")",
        "$_=sprintf(\"%03d %5.2f %s %x %%\",$_,$_,$_,$_)",
        "$_=Q($_)",
        "s/\\.[^.]*$//; s/a/A/",
        "$x=$_; $x=~s/a/c/; $_=$x",
        "my $y=\"q\"; $_.=$y",
        "$_=\"$_-$arg[1]-$arg[2]-@arg\"",
        "$_=@arg",
        "$_=$#arg",
        "$_=length",
        "$_=length($_)",
        "$_=length $_ > 3",
        "$_=uc",
        "$_=ucfirst lc $_",
        "$_=lcfirst(uc($_))",
        "$_=\"a\" lt \"b\"",
        "$_=\"b\" cmp \"a\"",
        "$_=\"a\" x 3",
        "$_=\"a\".\"b\" x 2",
        "s:\\.[^/.]+$::",
        "s:.*/::",
        "s:.*/::; s:\\.[^/.]+$::;",
        "$_=\"\\$x \\@arg \\\\ \\t|\"",
        "$_='$_ @arg'",
        "$_=q(a(b)c)",
        "$_=qq{a{$_}c}",
        "$_ ||= \"empty\"",
        "$_ = $_ eq \"\" ? \"e\" : $_",
        "s/(?<n>a)/<$1>/",
        "s/a+?/x/",
        "s/[[:alpha:]]/L/g",
        "s/\\//:/g",
        "s/b*/x/g",
        "s/$/end/",
        "s/^/start/",
        "$_=reverse(\"abc\").\"\"",
        "$_=ord(\"a\").chr(66)",
        "$_=substr($_,-2)",
        "$_=substr($_,1,-1)",
        "$_=sprintf(\"%-5s|%5s|%05d|%+d|%e|%g|%o|%X|%c|%.2s\", \"ab\",\"cd\",42,7,12345.678,0.0001234,8,255,65,\"xyz\")",
        "$_=sprintf(\"%s\", 1e3)",
        "$_=sprintf(\"%5.1f|%-8.3f|%08.3f\",3.14159,2.5,-1.5)",
        "$a=\"b\"; s/$a/<$a>/",
        "s/\\Q.\\E/x/ if 0",
        "if ($_ eq \"abc12\") { $_=1 } elsif (/b/) { $_=2 } else { $_=3 }",
        "unless (/a/) { $_ = \"none\" }",
        "$_=\"${_}x\"",
        "$_=lc($_).uc($_)",
        "$_ = ($_ =~ /a/) ? \"y\" : \"n\"",
        "$_=\"no\" if $_ !~ /a/",
        "1",
        "",
        " ",
        "tr/a-c/A-C/;tr/0-9/#/",
    ];
    let expressions: Vec<&str> =
        expressions.into_iter().filter(|text| !text.contains("\\Q")).collect();
    check_expressions(&expressions, &["abc12", "  a b ", "3.7", "aa/bb.c.d", "it's", "", "AbA"]);
}

#[test]
fn expressions_with_positions_and_other_parentheses() {
    let sources: &[&[&str]] = &[&["x/a.b", "c"], &["y/a.c"]];
    let jobs: &[&[&str]] = &[&["x/a.b", "y/a.c"], &["c", "y/a.c"]];
    let command = &[
        "e {=2 s/a/b/ =}|{=2s/a/b/=}|{=-1 s/a/b/ =}|{= s/a/b/=}|{=2+3=}|{=2=}|{= 2 =}|{==}|{=3 $_=1 =} \
        {= $_=\"$arg[2] $arg[1] $arg[-1]\" =}{=1 uq() =}x {= uq; =} {= $_=\"q$_\"; uq =}{} {=1 s/x/ y /; $_.=seq() =}",
    ][..];
    check_packed(&[], command, sources, jobs, &Syntax::default(), Packing::One);
    let parens = |left: &[u8], right: &[u8]| Syntax {
        parens: Some((left.to_vec(), right.to_vec())),
        ..Syntax::default()
    };
    let command = &["e {} {= 1 =} ,,s/a/b/,, ,,1 s/a/c/,, ,,"][..];
    check_packed(
        &["--parens", ",,,,"],
        command,
        sources,
        jobs,
        &parens(b",,", b",,"),
        Packing::One,
    );
    let command = &["e x{}{= $_.=\"a b\" =}{#} {= s/a/ b /; $_.=seq() =}/{2} {= $_=seq() =}"][..];
    let all: &[&[&str]] = &[&["x/a.b", "y/a.c", "c", "y/a.c"]];
    check_packed(&["-X"], command, sources, all, &Syntax::default(), Packing::Repeat);
    let quoted = Syntax { quote_command: true, ..Syntax::default() };
    check_packed(
        &["-q"],
        &["e", "{= uq() =}x y", "{= $_.=\" z\" =}", "{=1 s/x/'/ =}"],
        sources,
        jobs,
        &quoted,
        Packing::One,
    );
}

#[test]
fn strings_of_ones_own() {
    let own: &[(&str, &str)] = &[
        ("{odd}", "$_ = seq() % 2 ? \"odd\" : \"even\""),
        ("{odd1}", "1 $_ = seq() % 2 ? \"odd\" : \"even\""),
        ("FOO", "$_.=\"f\""),
        ("FO", "$_.=\"g\""),
        ("{..}", "s:\\.[^/.]*$::;s:\\.[^/.]*$::"),
        ("{.}", "$_.=\"X\""),
        ("{same}", ""),
        ("{-(.*?)}", "s/$$1//"),
        ("{:%(.+?)}", "s:$$1(\\.[^/]+)*$::"),
    ];
    let mut options = Vec::new();
    let mut syntax = Syntax::default();
    for (tag, expression) in own {
        let joined = format!("{tag} {expression}");
        options.extend(["--rpl".to_owned(), joined]);
        syntax.rpl.push((tag.as_bytes().to_vec(), expression.as_bytes().to_vec()));
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let sources: &[&[&str]] = &[&["a.tar.gz", "b c.d.e"], &["x/f_1.h.i"]];
    let jobs: &[&[&str]] = &[&["a.tar.gz", "x/f_1.h.i"], &["b c.d.e", "x/f_1.h.i"]];
    let command =
        &["e {odd} {1odd} {odd1} FOO {FOO} FO {..} {2..} {-1odd} {odd } {.} {1.} {same} {2same} \
        {-.gz} {2-.h} {:%_1} {2:%_1} {}"][..];
    check_packed(&options, command, sources, jobs, &syntax, Packing::One);
    let all: &[&[&str]] = &[&["a.tar.gz", "x/f_1.h.i", "b c.d.e", "x/f_1.h.i"]];
    check_packed(
        &[&options[..], &["-X"]].concat(),
        command,
        sources,
        all,
        &syntax,
        Packing::Repeat,
    );
}

/// Which rule is used depends on the shell's name alone, so that any program will do.
#[test]
fn other_shells_quote_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    for (name, shell) in [("tcsh", Shell::Csh), ("rc", Shell::Rc), ("fish", Shell::Fish)] {
        let path = folder.path().join(name);
        std::os::unix::fs::symlink("/bin/sh", &path).unwrap();
        let mut values = every_byte();
        let more = ["", "''", "a'b", "\n\n", " a b ", "~x", "$$"];
        values.extend(more.map(|text| text.as_bytes().to_vec()));
        // Between single quotes fish takes a backslash for one: there ours must differ.
        values.retain(|value| shell != Shell::Fish || !value.contains(&b'\\'));
        let mut input = values.join(&0);
        input.push(0);
        let path = path.to_str().unwrap();
        let Some(theirs) = theirs_for(path, &[b"-0", b"-j1", b"e {}"], &input) else { return };
        let mut ours = Vec::new();
        for value in &values {
            ours.extend_from_slice(b"e ");
            template::quote::quote(shell, value, &mut ours);
            ours.push(b'\n');
        }
        same(&ours, &theirs, name);
    }
}

/// Words put together at random: 300 for each way of packing, four starts in all.
#[test]
fn random_words() {
    const STRINGS: &[&str] = &[
        "{}",
        "{.}",
        "{/}",
        "{//}",
        "{/.}",
        "{#}",
        "{%}",
        "{1}",
        "{2}",
        "{3}",
        "{-1}",
        "{-2}",
        "{1.}",
        "{2/}",
        "{-1//}",
        "{2/.}",
        "{5}",
        "{0}",
        "{x}",
        "{",
        "}",
        "{{",
        "{= s/a/b/ =}",
        "{=2 $_=uc =}",
    ];
    const TEXTS: &[&str] = &[
        "a", "-", ".", "a=", "'", "\"", "\\", ";", "|", ">", "$(", ")", "`", "/", "é", ",", "#",
        "%", "&",
    ];
    const VALUES: &[&str] =
        &["a", "b c", "it's", "x/y.z", "/", "a.b.c", "", "$x", "-n", "é", "a/.b", "..", "''"];
    let seed = 20_221_122;
    println!("seed {seed}");
    let mut random = testkit::Random::from_seed(seed);
    let quoted = Syntax { quote_command: true, ..Syntax::default() };
    for (options, packing, syntax) in [
        (&[][..], Packing::One, Syntax::default()),
        (&["-m"], Packing::Join, Syntax::default()),
        (&["-X"], Packing::Repeat, Syntax::default()),
        (&["-X", "-q"], Packing::Repeat, quoted),
    ] {
        let mut words = vec!["e".to_owned()];
        for _ in 0..300 {
            let mut word = String::new();
            for _ in 0..=random.below(4) {
                let is_string = random.below(2) == 0;
                word += random.one_of(if is_string { STRINGS } else { TEXTS });
            }
            words.push(word);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let values: Vec<&str> = (0..8).map(|_| random.one_of(VALUES)).collect();
        if packing == Packing::One {
            let (first, second) = values.split_at(4);
            let jobs: Vec<Vec<&str>> =
                first.iter().flat_map(|a| second.iter().map(|b| vec![*a, *b])).collect();
            let jobs: Vec<&[&str]> = jobs.iter().map(Vec::as_slice).collect();
            check_packed(options, &words, &[first, second], &jobs, &syntax, packing);
        } else {
            check_packed(options, &words, &[&values], &[&values], &syntax, packing);
        }
    }
}
