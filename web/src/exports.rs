//! The functions of the module for WebAssembly.
//!
//! The page calls [`reserve`], copies a message to the address that it returns, and calls [`answer`]. The
//! answer has [`answer_len`] bytes. Addresses are numbers here: this code reads and writes its own vectors
//! only, so nothing but the names of the functions is unsafe.

#![expect(unsafe_code, reason = "the linker takes the names of exported functions on trust")]

use crate::{limits::MAX_MESSAGE_BYTES, session::Session};
use std::cell::RefCell;

/// The session, and the messages of the call in progress.
#[derive(Default)]
struct Exchange {
    session: Session,
    message: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static EXCHANGE: RefCell<Exchange> = RefCell::default();
}

/// Makes room for a message of `len` bytes, and returns its address. Returns 0 if there is no room.
#[unsafe(no_mangle)]
extern "C" fn reserve(len: usize) -> usize {
    EXCHANGE.with_borrow_mut(|exchange| {
        let Exchange { message, answer, .. } = exchange;
        *message = Vec::new();
        *answer = Vec::new();
        if len > MAX_MESSAGE_BYTES || message.try_reserve_exact(len).is_err() {
            return 0;
        }
        message.resize(len, 0);
        message.as_mut_ptr().expose_provenance()
    })
}

/// Answers the message, and returns the address of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer() -> usize {
    EXCHANGE.with_borrow_mut(|exchange| {
        let message = std::mem::take(&mut exchange.message);
        exchange.answer = exchange.session.answer(&message);
        exchange.answer.as_ptr().expose_provenance()
    })
}

/// Returns the number of bytes of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer_len() -> usize {
    EXCHANGE.with_borrow(|exchange| exchange.answer.len())
}
