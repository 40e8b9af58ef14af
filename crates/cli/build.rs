//! Gives the linker the order of the functions that a start uses; `startup.ld` says why.

#![expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script what it builds for in the environment"
)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=startup.ld");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    // Only the profile `dist` is optimised for size. In others the linker has so many sections that the order takes it minutes.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("OPT_LEVEL", "z") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/startup.ld");
        // A program at a random address relocates 39 000 pointers when it starts: 0.9 MB of the file, 1.6 MB of memory for each
        // server and each keeper. Heap, stack and libraries keep their random addresses.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
