//! The JSON line of a test run, of `run` and `prog run`.

use serde::Serialize;

/// The result of a test run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunOutcome<'l> {
    pub(crate) object: Option<&'l str>,
    pub(crate) prog_id: Option<u32>,
    pub(crate) program: &'l str,
    pub(crate) status: &'static str,
    pub(crate) retval: u32,
    pub(crate) duration_ns: u64,
    pub(crate) repeat: u32,
    pub(crate) data_len: u32,
    pub(crate) ctx_len: u32,
    pub(crate) truncated: bool,
    /// The reason why `run` loaded the object without BTF.
    pub(crate) btf_refusal: Option<&'l str>,
}
