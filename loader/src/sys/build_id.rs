//! Stack frames of the map type `STACK_TRACE` with `BPF_F_STACK_BUILD_ID`.

use super::pod_macro::pod;

pod! {
    /// A stack frame with a build id (`struct bpf_stack_build_id`).
    #[derive(Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct BuildIdFrame {
        /// 0 for no frame, 1 for a build id and an offset in that file, 2 for an address.
        pub status: i32,
        /// The file's build id.
        pub build_id: [u8; 20],
        /// The offset in the file, or the address.
        pub offset_or_ip: u64,
    }
}
