//! Rendering allocates nothing once the buffers are warm: counted by the allocator itself.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use template::quote::Shell;
use template::{Context, Packing, Record, Syntax, Template, Values};
use testkit::allocations_of;

fn check(words: &[&str], syntax: &Syntax, packing: Packing, with_words: bool) {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let template = Template::parse(&words, syntax).unwrap();
    let records = [Record::of("a b/it's.tar.gz"), Record::of("plain"), Record::of("")];
    let (mut line, mut arguments) = (Vec::new(), Vec::new());
    let mut render = |seq: u64| {
        let context = Context {
            seq,
            slot: 3,
            slots: 100,
            total: Some(9999),
            records: &records,
            packing,
            local_time_s: 0,
        };
        line.clear();
        template.render(&context, Values::Quoted(Shell::Bourne), &mut line).unwrap();
        template.rendered_len(&context, Values::Quoted(Shell::Bourne)).unwrap();
        if with_words {
            template.render_words(&context, &mut arguments).unwrap();
        }
    };
    (1000..1010).for_each(&mut render);
    let ((), allocations) = allocations_of(|| (1010..2010).for_each(&mut render));
    assert_eq!(allocations.count, 0, "{words:?} {packing:?}");
}

#[test]
fn nothing_is_allocated_once_warm() {
    let plain = &["cp", "{} {.} {/} {//} {/.} {#} {%} {1} {2.} {-1/} x{}y 'a b'"][..];
    for packing in [Packing::One, Packing::Join, Packing::Repeat] {
        check(plain, &Syntax::default(), packing, true);
        let quoted = Syntax { quote_command: true, ..Syntax::default() };
        check(plain, &quoted, packing, true);
    }
    let plus = Syntax { plus: true, ..Syntax::default() };
    check(&["cp {..} {+/} {+.} {##} {0#} {0%} {:2} {:-x}"], &plus, Packing::One, true);
    check(&["echo {} > {/}.{#}; x=$(date)"], &Syntax::default(), Packing::One, false);
}
