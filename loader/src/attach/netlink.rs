//! Encodes netlink requests and parses netlink answers. Performs no I/O and checks every length.

use crate::sys::{Errno, InfoError};
use core_relo::Endian;

/// `NLM_F_REQUEST`.
pub(super) const REQUEST: u16 = 0x1;
/// `NLM_F_ACK`.
pub(super) const ACK: u16 = 0x4;
/// `NLM_F_ECHO`.
pub(super) const ECHO: u16 = 0x8;
/// `NLM_F_REPLACE`.
pub(super) const REPLACE: u16 = 0x100;
/// `NLM_F_EXCL`.
pub(super) const EXCL: u16 = 0x200;
/// `NLM_F_ROOT | NLM_F_MATCH`.
pub(super) const DUMP: u16 = 0x300;
/// `NLM_F_CREATE`.
pub(super) const CREATE: u16 = 0x400;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NLM_F_CAPPED`: an error repeats the header of the request only.
const CAPPED: u16 = 0x100;
/// `NLM_F_ACK_TLVS`: attributes follow the error number.
const ACK_TLVS: u16 = 0x200;
/// The kernel's explanation of an error (`NLMSGERR_ATTR_MSG`).
const ATTR_MSG: u16 = 1;
/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;
/// Type bits of an attribute, without `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`.
const TYPE_MASK: u16 = 0x3fff;
/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// `NLMSG_ALIGNTO`, `NLA_ALIGNTO`.
const ALIGN: usize = 4;

/// Attributes of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    bytes: Vec<u8>,
    too_long: bool,
}

impl Attributes {
    /// Appends an attribute.
    #[must_use]
    pub(super) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let Some(len) = value.len().checked_add(4).and_then(|len| u16::try_from(len).ok()) else {
            self.too_long = true;
            return self;
        };
        let e = Endian::native();
        e.put_u16(&mut self.bytes, len);
        e.put_u16(&mut self.bytes, kind);
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
        self
    }

    /// Appends a number.
    #[must_use]
    pub(super) fn u32(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &Endian::native().u32_bytes(value))
    }

    /// Appends a text attribute with a terminating NUL.
    #[must_use]
    pub(super) fn text(self, kind: u16, value: &str) -> Self {
        let mut text = value.as_bytes().to_vec();
        text.push(0);
        self.bytes(kind, &text)
    }

    /// Returns the encoded attributes.
    #[cfg(test)]
    pub(super) fn raw(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends an attribute that holds other attributes.
    #[must_use]
    pub(super) fn nest(mut self, kind: u16, inner: &Self) -> Self {
        self.too_long |= inner.too_long;
        self.bytes(kind | NESTED, &inner.bytes)
    }
}

/// A request: the type, the flags, the fixed header of the type, and attributes.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// `RTM_*`.
    pub(super) kind: u16,
    /// `NLM_F_*` besides `NLM_F_REQUEST`.
    pub(super) flags: u16,
    /// The fixed header of the type; a multiple of four bytes.
    pub(super) fixed: Vec<u8>,
    pub(super) attributes: Attributes,
}

impl Request {
    /// Encodes the request. The answers carry the same sequence number.
    pub(super) fn encode(&self, sequence: u32) -> Result<Vec<u8>, Errno> {
        let too_long = Errno(libc::EMSGSIZE);
        if self.attributes.too_long {
            return Err(too_long);
        }
        let body = [self.fixed.as_slice(), self.attributes.bytes.as_slice()].concat();
        let len = body.len().checked_add(HEADER).and_then(|len| u32::try_from(len).ok()).ok_or(too_long)?;
        let e = Endian::native();
        let mut out = Vec::new();
        e.put_u32(&mut out, len);
        e.put_u16(&mut out, self.kind);
        e.put_u16(&mut out, self.flags | REQUEST);
        e.put_u32(&mut out, sequence);
        e.put_u32(&mut out, 0);
        out.extend_from_slice(&body);
        Ok(out)
    }
}

/// A message of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) sequence: u32,
    body: &'a [u8],
}

/// The role of a message in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MessageOutcome {
    /// Requested data.
    Data,
    /// The end of a successful request.
    Done,
    /// The end of a failed request.
    Error(NetlinkError),
}

/// The kernel's refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NetlinkError {
    pub(super) errno: Errno,
    /// The kernel's explanation (extended acknowledgement); may be empty.
    pub(super) ext_ack: Box<str>,
}

impl NetlinkError {
    /// Logs the explanation and returns the error number, for callers that can return an error number only.
    pub(super) fn into_logged_errno(self) -> Errno {
        if !self.ext_ack.is_empty() {
            log::warn!("the kernel says: {}", self.ext_ack);
        }
        self.errno
    }
}

impl From<Errno> for NetlinkError {
    fn from(errno: Errno) -> Self {
        Self { errno, ext_ack: Box::default() }
    }
}

impl From<InfoError> for NetlinkError {
    fn from(error: InfoError) -> Self {
        error.errno().into()
    }
}

impl<'a> Message<'a> {
    pub(super) fn outcome(&self) -> MessageOutcome {
        if self.kind != NLMSG_ERROR && self.kind != NLMSG_DONE {
            return MessageOutcome::Data;
        }
        // The end of a dump may lack the error number. An error message never does.
        let number = Endian::native().u32(self.body, 0).map(u32::cast_signed);
        let errno = match (number, self.kind) {
            (Some(n), _) if n < 0 => n.checked_neg().map_or(Errno(libc::EBADMSG), Errno),
            (None, NLMSG_ERROR) => Errno(libc::EBADMSG),
            _ => return MessageOutcome::Done,
        };
        let mut error = NetlinkError::from(errno);
        if self.flags & ACK_TLVS != 0
            && let Some(ext_ack) = self.ext_ack()
        {
            error.ext_ack = ext_ack;
        }
        MessageOutcome::Error(error)
    }

    /// Returns the kernel's explanation, which follows the repeated part of the request.
    fn ext_ack(&self) -> Option<Box<str>> {
        let repeated = match self.kind {
            NLMSG_DONE => 0,
            _ if self.flags & CAPPED != 0 => HEADER,
            _ => {
                usize::try_from(Endian::native().u32(self.body, 4)?).ok()?.checked_next_multiple_of(ALIGN)?
            }
        };
        let text = attribute(self.body.get(repeated.checked_add(4)?..)?, ATTR_MSG)?;
        let text = text.split(|b| *b == 0).next()?;
        Some(String::from_utf8_lossy(text).into())
    }

    /// Splits the message into a fixed header of so many bytes and the attributes. `None` if the message is
    /// shorter.
    pub(super) fn split(&self, fixed: usize) -> Option<(&'a [u8], &'a [u8])> {
        self.body.split_at_checked(fixed)
    }
}

/// Iterates over the messages of a datagram. A message with an impossible length is `EBADMSG`, and the last.
pub(super) fn messages(mut data: &[u8]) -> impl Iterator<Item = Result<Message<'_>, Errno>> {
    core::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let Some((message, rest)) = message(data) else {
            data = &[];
            return Some(Err(Errno(libc::EBADMSG)));
        };
        data = rest;
        Some(Ok(message))
    })
}

fn message(data: &[u8]) -> Option<(Message<'_>, &[u8])> {
    let e = Endian::native();
    let len = usize::try_from(e.u32(data, 0)?).ok()?;
    let message = Message {
        kind: e.u16(data, 4)?,
        flags: e.u16(data, 6)?,
        sequence: e.u32(data, 8)?,
        body: data.get(HEADER..len)?,
    };
    // The last message may lack its padding.
    Some((message, data.get(len.checked_next_multiple_of(ALIGN)?..).unwrap_or(&[])))
}

/// Iterates over attributes, up to the first attribute with an impossible length.
pub(super) fn attributes(mut data: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    core::iter::from_fn(move || {
        let e = Endian::native();
        let len = usize::from(e.u16(data, 0)?);
        let kind = e.u16(data, 2)? & TYPE_MASK;
        let value = data.get(4..len)?;
        // The last attribute may lack its padding.
        data = data.get(len.checked_next_multiple_of(ALIGN)?..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// Returns the last attribute of a type. The kernel uses the last one, too.
pub(super) fn attribute(data: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(data).filter(|(k, _)| *k == kind).last().map(|(_, value)| value)
}

/// Returns the number in the last attribute of a type.
pub(super) fn attribute_u32(data: &[u8], kind: u16) -> Option<u32> {
    Endian::native().u32(attribute(data, kind)?, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
        let mut out = Request { kind, flags, fixed: body.to_vec(), attributes: Attributes::default() }
            .encode(9)
            .unwrap();
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn first_outcome(data: &[u8]) -> MessageOutcome {
        messages(data).next().unwrap().unwrap().outcome()
    }

    #[test]
    fn an_encoded_request_is_parsed_back() {
        let inner = Attributes::default().u32(1, 7).bytes(2, &[1]);
        let attributes = Attributes::default().text(3, "bpf").nest(2, &inner);
        let request = Request { kind: 20, flags: ACK, fixed: vec![0; 4], attributes };
        let bytes = request.encode(5).unwrap();
        assert_eq!(bytes.len(), 16 + 4 + 8 + 4 + 8 + 8);
        let message = messages(&bytes).next().unwrap().unwrap();
        assert_eq!((message.kind, message.flags, message.sequence), (20, ACK | REQUEST, 5));
        let (fixed, rest) = message.split(4).unwrap();
        assert_eq!(fixed, [0; 4]);
        assert_eq!(attribute(rest, 3), Some(&b"bpf\0"[..]));
        let nested = attribute(rest, 2).unwrap();
        assert_eq!(attribute_u32(nested, 1), Some(7));
        assert_eq!(attribute(nested, 2), Some(&[1][..]));
        assert_eq!(attribute(nested, 9), None);
        assert_eq!(message.split(400), None);
    }

    #[test]
    fn an_attribute_too_long_for_its_length_field_is_refused_at_any_depth() {
        let long = Attributes::default().bytes(1, &vec![0; 65_532]);
        let outer = Attributes::default().nest(2, &long);
        for attributes in [long, outer] {
            let request = Request { kind: 20, flags: 0, fixed: vec![], attributes };
            assert_eq!(request.encode(1), Err(Errno(libc::EMSGSIZE)));
        }
        let most = Attributes::default().bytes(1, &vec![0; 65_531]);
        assert!(Request { kind: 20, flags: 0, fixed: vec![], attributes: most }.encode(1).is_ok());
    }

    #[test]
    fn errors_carry_the_extended_acknowledgement_capped_or_not() {
        let e = Endian::native();
        let number = e.u32_bytes((-libc::EBUSY).cast_unsigned());
        let words = Attributes::default().text(ATTR_MSG, "taken already").bytes;
        let header = raw(20, 0, &[]);
        let longer = raw(20, 0, &[0; 8]);
        let error = MessageOutcome::Error(NetlinkError {
            errno: Errno(libc::EBUSY),
            ext_ack: "taken already".into(),
        });
        let capped = raw(NLMSG_ERROR, ACK_TLVS | CAPPED, &[&number[..], &header, &words].concat());
        assert_eq!(first_outcome(&capped), error);
        let whole = raw(NLMSG_ERROR, ACK_TLVS, &[&number[..], &longer, &words].concat());
        assert_eq!(first_outcome(&whole), error);
        assert_eq!(first_outcome(&raw(NLMSG_DONE, ACK_TLVS, &[&number[..], &words].concat())), error);
        let silent = MessageOutcome::Error(Errno(libc::EBUSY).into());
        assert_eq!(first_outcome(&raw(NLMSG_ERROR, 0, &[&number[..], &header].concat())), silent);
        assert_eq!(first_outcome(&raw(NLMSG_ERROR, ACK_TLVS | CAPPED, &number)), silent);
        assert_eq!(
            first_outcome(&raw(NLMSG_ERROR, CAPPED, &[&[0; 4][..], &header].concat())),
            MessageOutcome::Done
        );
        assert_eq!(first_outcome(&raw(NLMSG_DONE, 0, &[])), MessageOutcome::Done);
        assert_eq!(
            first_outcome(&raw(NLMSG_ERROR, 0, &[])),
            MessageOutcome::Error(Errno(libc::EBADMSG).into())
        );
        assert_eq!(first_outcome(&raw(16, 0, &[])), MessageOutcome::Data);
    }

    #[test]
    fn impossible_lengths_end_the_iteration() {
        let good = raw(16, 0, &[1, 2, 3, 4]);
        let two = [good.as_slice(), &good].concat();
        assert_eq!(messages(&two).flatten().count(), 2);
        for cut in 1..good.len() {
            let read: Vec<_> = messages(&two[..good.len() + cut]).collect();
            assert_eq!(read.len(), 2);
            assert_eq!(read[1], Err(Errno(libc::EBADMSG)), "{cut}");
        }
        for len in (0..16).chain([21, u32::MAX]) {
            let mut bad = good.clone();
            bad[..4].copy_from_slice(&Endian::native().u32_bytes(len));
            assert_eq!(messages(&bad).collect::<Vec<_>>(), [Err(Errno(libc::EBADMSG))], "{len}");
        }
        let e = Endian::native();
        for len in [0, 3, 9, u16::MAX] {
            let attr = [e.u16_bytes(len), e.u16_bytes(1), [0; 2], [0; 2]].concat();
            assert_eq!(attributes(&attr).count(), 0, "{len}");
        }
        assert_eq!(attributes(&[4, 0, 1]).count(), 0);
    }
}
