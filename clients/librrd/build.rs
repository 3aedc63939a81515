//! Compiles the two functions with `...` and gives the library its soname.

fn main() {
    println!("cargo:rerun-if-changed=src/variadic.c");
    cc::Build::new().file("src/variadic.c").warnings(true).compile("librrd_variadic");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librrd.so.8");
}
