//! Rendering allocates nothing once the buffers are warm: counted by the allocator itself.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use run::Record;
use run::quote::Shell;
use run::template::{Context, Packing, Syntax, Template, Values, Words};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is done by the system's allocator; the counter is a plain number of this
// thread that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn check(words: &[&str], syntax: &Syntax, packing: Packing, with_words: bool) {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let template = Template::parse(&words, syntax).unwrap();
    let records = [Record::of("a b/it's.tar.gz"), Record::of("plain"), Record::of("")];
    let (mut line, mut arguments) = (Vec::new(), Words::default());
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
    let before = ALLOCATIONS.get();
    (1010..2010).for_each(&mut render);
    assert_eq!(ALLOCATIONS.get() - before, 0, "{words:?} {packing:?}");
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
