//! The rules of the workspace that a program can check, one file each in `tidy/`.
//!
//! Reads the tree as git sees it and `cargo metadata`.  Takes well under a second.
//! A rule is a function from the tree to complaints, and its test breaks it once.

use anyhow::bail;

mod circles;
mod clock;
mod commits;
mod compiled;
mod heads;
mod layers;
mod leftovers;
mod names;
mod options;
pub(crate) mod packages;
mod page;
mod pages;
mod rust;
mod size;
mod skips;
mod sources;
pub(crate) mod tree;
mod unsafe_code;

use tree::Tree;

/// The complaints of the rules, a line each.
type Complaints = Vec<String>;

/// Checks everything and lists every complaint.
pub(crate) fn run() -> anyhow::Result<()> {
    let tree = Tree::read()?;
    let metadata = packages::metadata()?;
    let mut complaints = Vec::new();
    circles::check(&tree, &mut complaints);
    clock::check(&tree, &mut complaints);
    commits::check(&mut complaints)?;
    compiled::check(&tree, &mut complaints);
    layers::check(&metadata, &mut complaints);
    heads::check(&tree, &mut complaints);
    leftovers::check(&tree, &mut complaints);
    names::check(&tree, &mut complaints);
    options::check(&tree, &mut complaints);
    packages::check(&tree, &metadata, &mut complaints);
    page::check(&tree, &mut complaints);
    pages::check(&tree, &mut complaints);
    size::check(&tree, &mut complaints);
    skips::check(&tree, &mut complaints);
    sources::check(&tree, &mut complaints);
    unsafe_code::check(&tree, &mut complaints);
    for complaint in &complaints {
        eprintln!("tidy: {complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints", complaints.len());
    }
    println!("tidy: {} files", tree.files.len());
    Ok(())
}
