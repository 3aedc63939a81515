//! Holds the checked-in objects to their source: each carries the checksum of what it was made of.

use std::path::Path;

use object::{Object as _, ObjectSection as _};

#[test]
fn every_object_was_made_of_the_source_beside_it() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut headers = Vec::new();
    for name in ["kernel.h", "calls.h", "run_times.h"] {
        headers.extend(std::fs::read(home.join("programs").join(name)).expect(name));
    }
    let mut programs = 0;
    for entry in std::fs::read_dir(home.join("programs")).expect("programs") {
        let path = entry.expect("entry").path();
        let name = path.file_name().expect("name").to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".bpf.c") else { continue };
        let mut source = headers.clone();
        source.extend(std::fs::read(&path).expect("source"));
        let has_variant = String::from_utf8_lossy(&source[headers.len()..]).contains("calls.h");
        let suffixes = if has_variant { &["", "_before_5_12"][..] } else { &[""] };
        for suffix in suffixes {
            let file = format!("{stem}{suffix}.bpf.o");
            let object = std::fs::read(home.join("objects").join(&file)).expect(&file);
            let object = object::File::parse(&*object).expect("an ELF object");
            let section = object.section_by_name("checksum").expect("a section `checksum`");
            let held = section.data().expect("data").first_chunk().expect("four bytes");
            assert_eq!(
                u32::from_le_bytes(*held),
                crc32c::crc32c(&source),
                "{file} is not made of {name} and the headers as they are: run `cargo xtask bpf`"
            );
        }
        programs += 1;
    }
    assert!(programs >= 2, "{programs} programs found");
}
