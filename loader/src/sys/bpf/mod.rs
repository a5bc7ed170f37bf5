//! The commands of bpf(2), each as a safe function.
#![expect(unsafe_code, reason = "bpf(2) has no wrapper")]

mod attach;
mod btf;
mod call;
mod element;
mod ids;
mod info;
mod info_error;
mod kind;
mod link;
#[cfg(feature = "loader-program")]
mod loader_program;
mod map;
mod pin;
mod prog;
mod signature;
mod task_fd;

pub use attach::ProgAttach;
pub(crate) use attach::{QueryResult, attach_to_closed_target, prog_query};
pub use btf::BtfLoad;
pub(crate) use btf::btf_load;
pub use call::OBJ_NAME_LEN;
pub use element::Cpus;
pub use info::{
    BtfInfo, LinkInfo, MachineCode, MapInfo, ProgramInfo, ProgramLines, btf_bytes, btf_name,
    link_target_name, program_map_ids, translated_code,
};
pub use info_error::{InfoError, ObjectFacts};
pub use kind::ObjectKind;
pub(crate) use link::{
    LinkCreate, LinkExtra, LinkTarget, UprobeBinary, has_link_type, iter_create, link_create,
    link_to_closed_target, raw_tracepoint_open,
};
pub use link::{detach_link, update_link};
#[cfg(feature = "loader-program")]
pub(crate) use loader_program::{LoaderProgramRun, map_hash, run_loader_program};
pub use map::{MapCreate, MapFd, MapShape};
pub(crate) use map::{map_create, map_create_log, map_freeze};
pub use pin::pin_in_new_directory;
pub(crate) use pin::{has_token_create, make_pin_dir, obj_get, obj_pin, rename_pin, token_create};
pub use prog::ProgLoad;
pub use prog::{StreamId, TestRun, TestRunResult, enable_run_statistics, read_stream, test_run};
pub(crate) use prog::{prog_assoc_struct_ops, prog_bind_map, prog_load};
pub use signature::{Keyring, ProgSignature, UnknownKeyring};
pub use task_fd::TaskProgram;
