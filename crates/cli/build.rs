//! Gives the linker the order of the functions that a start uses, which `cargo xtask dist` finds: `bench/startup` says how.

#![expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script what it builds for in the environment"
)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CELLBRIDGE_LINK_ORDER");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    // Only the profile `dist` is optimised for size. In others the linker has so many sections that the order takes it minutes.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("OPT_LEVEL", "z") {
        if let Ok(script) = env::var("CELLBRIDGE_LINK_ORDER") {
            println!("cargo::rerun-if-changed={script}");
            println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
        }
        // A program at a random address relocates 39 000 pointers when it starts: 0.9 MB of the file, 1.6 MB of memory for each
        // server and each keeper. Heap, stack and libraries keep their random addresses.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
