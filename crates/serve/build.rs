//! Makes a table of the page's files: each as it is, and packed if that is shorter.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=page_files");
    let folder = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo names a folder"));
    let (from, to) = (folder("CARGO_MANIFEST_DIR").join("page_files"), folder("OUT_DIR"));
    let mut names = Vec::new();
    find(&from, "", &mut names);
    names.sort();
    let mut table = "&[\n".to_owned();
    for (number, name) in names.iter().enumerate() {
        let path = from.join(name);
        println!("cargo:rerun-if-changed={}", path.display());
        let bytes = std::fs::read(&path).expect("a file of the page");
        let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        packer.write_all(&bytes).expect("memory can be written");
        let packed = packer.finish().expect("memory can be written");
        let packed_path = to.join(format!("{number}.gz"));
        std::fs::write(&packed_path, &packed).expect("cargo's folder can be written");
        let packed = match packed.len() < bytes.len() {
            true => format!("Some(include_bytes!({packed_path:?}))"),
            false => "None".to_owned(),
        };
        let _ = writeln!(
            table,
            "PageFile {{ name: {name:?}, bytes: include_bytes!({path:?}), packed: {packed}, \
             checksum: {:#x} }},",
            checksum(&bytes)
        );
    }
    table.push(']');
    std::fs::write(to.join("page_files.rs"), table).expect("cargo's folder can be written");
}

/// Finds the files of a folder and those below it.
fn find(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder).expect("the folder of the page") {
        let entry = entry.expect("an entry of the folder");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        let name = format!("{prefix}{name}");
        match entry.file_type().expect("a type").is_dir() {
            true => find(&entry.path(), &format!("{name}/"), names),
            false => names.push(name),
        }
    }
}

/// FNV-1a of 64 bits: tells two versions of a file apart.
fn checksum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}
