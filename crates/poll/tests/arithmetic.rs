//! The arithmetic of targets: equal to Perl's Math::BigFloat, digit by digit, on random expressions.

use std::fmt::Write as _;
use std::process::Command;

use poll::Decimal;
use poll::target::Arithmetic;
use testkit::{Random, share, skip};

const SEED: u64 = 40;
/// In a long run; a short one has a tenth of them.
const CASES: usize = 3_000;

/// An expression in Perl over BigFloats, and in a target's language.
struct Pair {
    theirs: String,
    ours: String,
}

fn number(random: &mut Random) -> Pair {
    let most = match random.below(8) {
        0 => 50,
        1..=3 => 19,
        _ => 4,
    };
    let digits = 1 + random.below(most);
    let mut text: String = (0..digits).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    let without = text.trim_start_matches('0');
    text = if without.is_empty() { "0".to_owned() } else { without.to_owned() };
    if random.below(3) == 0 {
        write!(text, ".{}", random.below(100_000)).expect("a string");
    }
    if random.below(10) == 0 {
        write!(text, "e{}", random.below(30)).expect("a string");
    }
    Pair { theirs: format!("N('{text}')"), ours: text }
}

fn expression(random: &mut Random, depth: u64) -> Pair {
    if depth == 0 || random.below(5) == 0 {
        return number(random);
    }
    let one = expression(random, depth - 1);
    match random.below(14) {
        0 => Pair { theirs: format!("(-{})", one.theirs), ours: format!("(-{})", one.ours) },
        1 => Pair { theirs: format!("abs({})", one.theirs), ours: format!("abs({})", one.ours) },
        2 => Pair { theirs: format!("int({})", one.theirs), ours: format!("int({})", one.ours) },
        3 => Pair {
            theirs: format!("sqrt(abs({}))", one.theirs),
            ours: format!("sqrt(abs({}))", one.ours),
        },
        4 => {
            let power = random.below(12) as i64 - 4;
            let theirs = format!("(({}) ** N('{power}'))", one.theirs);
            Pair { theirs, ours: format!("(({}) ** {power})", one.ours) }
        }
        5 => {
            let (other, last) = (number(random), number(random));
            let theirs = format!("({} ? {} : {})", one.theirs, other.theirs, last.theirs);
            Pair { theirs, ours: format!("({} ? {} : {})", one.ours, other.ours, last.ours) }
        }
        choice => {
            let other = expression(random, depth - 1);
            let operators = ["+", "-", "*", "/", "/", "%", "<=>", "+"];
            let operator = operators[choice as usize - 6];
            let wrap = if operator == "<=>" { "N" } else { "" };
            Pair {
                theirs: format!("{wrap}({} {operator} {})", one.theirs, other.theirs),
                ours: format!("({} {operator} {})", one.ours, other.ours),
            }
        }
    }
}

#[test]
fn results_are_those_of_bigfloat() {
    let usable = Command::new("perl").args(["-MMath::BigFloat", "-e", "1"]).output();
    if !usable.is_ok_and(|output| output.status.success()) {
        skip("perl", "Math::BigFloat is not installed");
        return;
    }
    let mut random = Random::from_seed(SEED);
    let pairs: Vec<Pair> = (0..share(CASES)).map(|_| expression(&mut random, 3)).collect();
    let mut program = String::from(
        "use Math::BigFloat; sub N { Math::BigFloat->new($_[0]) }\n\
         sub show { my ($exact, $whole) = ($_[0], N($_[0])); $whole->ffround(0); \
         print length($exact) > 1000 ? qq{long\\n} : qq{$exact $whole\\n} }\n",
    );
    for pair in &pairs {
        writeln!(program, "show(eval {{ {} }});", pair.theirs).expect("a string");
    }
    let output = testkit::run_on(&mut Command::new("perl"), program.as_bytes());
    let theirs = String::from_utf8_lossy(&output.stdout);
    assert_eq!(theirs.lines().count(), pairs.len());
    let mut finite = 0;
    for (pair, theirs) in pairs.iter().zip(theirs.lines()) {
        let parsed = Arithmetic::parse(&pair.ours).expect("an expression");
        let value: Option<Decimal> = parsed.evaluate(&|_| None).ok();
        // Perl goes on with infinities; here there is no value then.
        let Some(value) = value else { continue };
        finite += 1;
        if theirs == "long" {
            continue;
        }
        let ours = format!("{value} {}", value.rounded());
        assert_eq!(ours, theirs, "seed {SEED}: {}", pair.ours);
    }
    assert!(finite > pairs.len() * 9 / 10, "{finite} of {} have a value", pairs.len());
}
