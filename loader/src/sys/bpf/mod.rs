//! The commands of bpf(2), each as a safe function.
#![expect(unsafe_code, reason = "bpf(2) has no wrapper")]

mod attach;
mod btf;
mod call;
mod ids;
mod info;
mod kind;
mod link;
mod loader_program;
mod map;
mod pin;
mod prog;
mod signature;
mod task_fd;

pub(crate) use attach::attach_to_closed_target;
pub use attach::{ProgAttach, QueryResult, prog_attach, prog_detach, prog_query};
pub use btf::{BtfLoad, btf_load};
pub use call::OBJ_NAME_LEN;
pub use ids::{
    btf_fd_by_id, link_fd_by_id, map_fd_by_id, next_btf_id, next_link_id, next_map_id, next_prog_id,
    prog_fd_by_id,
};
pub use info::{
    BtfInfo, LinkInfo, MapInfo, ProgInfo, ProgLines, ProgMachineCode, btf_bytes, btf_info, btf_name,
    link_info, link_target_name, map_info, prog_info, prog_lines, prog_machine_code, prog_map_ids,
    prog_translated,
};
pub use link::{
    LinkCreate, LinkExtra, LinkTarget, UprobeBinary, iter_create, link_create, link_detach, link_update,
    raw_tracepoint_open,
};
pub(crate) use link::{has_link_type, link_to_closed_target};
pub use loader_program::{LoaderProgramRun, map_hash, run_loader_program};
pub use map::{
    Batch, Cpus, MapCreate, MapFd, MapShape, map_create, map_create_log, map_delete, map_delete_batch,
    map_freeze, map_lookup, map_lookup_and_delete, map_lookup_batch, map_lookup_cpu, map_next_key,
    map_update, map_update_batch, map_update_cpus,
};
pub(crate) use pin::has_token_create;
pub use pin::{make_pin_dir, obj_get, obj_pin, obj_pin_in_dir, rename_pin, token_create};
pub use prog::{
    ProgLoad, StreamId, TestRun, TestRunResult, enable_stats, prog_assoc_struct_ops, prog_bind_map,
    prog_load, prog_stream_read, prog_test_run,
};
pub use signature::{Keyring, ProgSignature, UnknownKeyring};
pub use task_fd::{TaskFd, task_fd_query};
