//! The page of `core-relo site`, without its document: judges BPF objects on kernels whose facts the page
//! has loaded.
//!
//! A [`Session`] answers messages. A message is a line of JSON, the [`Request`], and the bytes that belong to
//! it. The answer is JSON. The module for WebAssembly (`exports`) imports nothing, so that it can neither
//! read files nor use the network.

mod advice;
#[cfg(target_arch = "wasm32")]
mod exports;
mod kernel;
mod limits;
mod message;
mod object;
mod request_error;
mod session;

pub use limits::{MAX_MESSAGE_BYTES, MAX_OBJECT_BYTES};
pub use message::{KernelFacts, ModuleEntry, Part, Request};
pub use request_error::RequestError;
pub use session::Session;
