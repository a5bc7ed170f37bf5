//! Live tests: the loader loads, attaches and triggers programs on the running kernel and leaves nothing
//! behind. Needs root. `cargo xtask vm` runs these tests on other kernels.

#[cfg(target_os = "linux")]
mod live {
    mod adaptive;
    mod btf_rules;
    mod cgroups;
    mod encodings;
    mod examples;
    mod faults;
    mod generated;
    mod globals;
    mod harness;
    mod info_rules;
    mod lifetime;
    mod loader_programs;
    mod lwt;
    mod managed_fields;
    mod map_definitions;
    mod messages;
    mod network;
    mod newest;
    mod registers;
    mod signatures;
    mod signed_loads;
    mod skeletons;
    mod smoke;
    mod sockets;
    mod struct_ops;
    mod surroundings;
    mod test_runs;
    mod token;
    mod tracing;
    mod tracing_variants;
}
