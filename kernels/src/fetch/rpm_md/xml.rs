//! XML as a stream of events, within bounds: the size of an event, the depth of elements. Entities are not
//! expanded, and a document type is an error, so that a small document stays small.

use crate::{
    fetch::rpm_md_defect::RpmMdDefect,
    limits::{MAX_XML_DEPTH, MAX_XML_EVENT_BYTES},
};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use std::io::{self, BufRead, Read};
use thiserror::Error;

/// A part of a document.
#[derive(Debug)]
pub(super) enum XmlEvent<'e> {
    /// An element begins. That of the root has the depth 1.
    Start { depth: usize, element: Element<'e> },
    /// A text, or a part of one.
    Text(&'e str),
    /// An element of a depth ends.
    End { depth: usize },
}

/// The start of an element.
#[derive(Debug)]
pub(super) struct Element<'e> {
    start: BytesStart<'e>,
}

/// The error of a document.
#[derive(Debug)]
pub(in crate::fetch) enum XmlError {
    /// The stream fails.
    Stream(io::Error),
    /// The document is damaged.
    Document(RpmMdDefect),
}

impl Element<'_> {
    /// Returns the name without its prefix.
    pub(super) fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }

    /// Returns the value of an attribute as it stands in the document.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        // A comparison of each name with all others would take the square of the time.
        let mut attributes = attributes.with_checks(false).filter_map(Result::ok);
        let attribute = attributes.find(|attribute| attribute.key.into_inner() == name)?;
        Some(attribute.value.into_owned())
    }
}

/// Passes the events of a document to a function, whose error ends the document.
pub(super) fn read_xml(
    content: impl BufRead,
    visit: &mut dyn FnMut(XmlEvent<'_>) -> Result<(), RpmMdDefect>,
) -> Result<(), XmlError> {
    let mut reader = Reader::from_reader(BoundedEvents { content, remaining: EVENT_ROOM });
    reader.config_mut().expand_empty_elements = true;
    let (mut buffer, mut depth, mut has_root) = (Vec::new(), 0usize, false);
    loop {
        buffer.clear();
        reader.get_mut().remaining = EVENT_ROOM;
        let offset = reader.buffer_position();
        let damaged = |problem: String| XmlError::Document(RpmMdDefect::Xml { offset, problem });
        let event = reader.read_event_into(&mut buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) if !is_too_long(&error) => {
                XmlError::Stream(io::Error::new(error.kind(), error.to_string()))
            }
            error => damaged(error.to_string()),
        })?;
        let event = match event {
            Event::Start(start) => {
                depth += 1;
                if depth > MAX_XML_DEPTH {
                    return Err(damaged(format!("elements nest deeper than {MAX_XML_DEPTH} levels")));
                }
                has_root = true;
                XmlEvent::Start { depth, element: Element { start } }
            }
            Event::End(_) => {
                let ended = depth;
                depth = depth.saturating_sub(1);
                XmlEvent::End { depth: ended }
            }
            Event::DocType(_) => return Err(damaged("a document type".to_owned())),
            Event::Eof if depth == 0 && has_root => return Ok(()),
            Event::Eof => return Err(damaged("the document ends early".to_owned())),
            Event::Text(ref text) => XmlEvent::Text(text),
            Event::CData(ref text) => XmlEvent::Text(text),
            // No name, path or hash of a kernel's package has a character that needs an entity.
            Event::GeneralRef(_) => XmlEvent::Text("&"),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_) => continue,
        };
        visit(event).map_err(XmlError::Document)?;
    }
}

/// The bytes of an event at which it is too long.
const EVENT_ROOM: usize = MAX_XML_EVENT_BYTES + 1;

/// A stream that ends with an error in an event that is too long.
struct BoundedEvents<R> {
    content: R,
    /// The bytes that the present event may still have.
    remaining: usize,
}

/// The error of an event that is too long.
#[derive(Debug, Error)]
#[error("a text or element of more than {MAX_XML_EVENT_BYTES} bytes")]
struct TooLong;

fn is_too_long(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<TooLong>())
}

impl<R: BufRead> BufRead for BoundedEvents<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.remaining == 0 {
            return Err(io::Error::other(TooLong));
        }
        let bytes = self.content.fill_buf()?;
        Ok(bytes.get(..self.remaining).unwrap_or(bytes))
    }

    fn consume(&mut self, count: usize) {
        self.remaining = self.remaining.saturating_sub(count);
        self.content.consume(count);
    }
}

impl<R: BufRead> Read for BoundedEvents<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buf)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the events of a document as text, and its error.
    fn read(document: &str) -> (String, Option<String>) {
        let mut events = String::new();
        let result = read_xml(document.as_bytes(), &mut |event| {
            match event {
                XmlEvent::Start { depth, element } => {
                    let value = element.attribute("a").unwrap_or_else(|| "-".to_owned());
                    events += &format!("<{depth} {} {value}>", element.name());
                }
                XmlEvent::Text(text) => events += text,
                XmlEvent::End { depth } => events += &format!("</{depth}>"),
            }
            Ok(())
        });
        let error = result.err().map(|error| match error {
            XmlError::Stream(error) => error.to_string(),
            XmlError::Document(defect) => defect.to_string(),
        });
        (events, error)
    }

    #[test]
    fn elements_have_names_without_prefixes_and_values_without_entities() {
        let document =
            "<?xml version=\"1.0\"?><!-- c --><m xmlns:rpm='x'><rpm:e b='1' a=\"2\"/>t&amp;<![CDATA[u]]></m>";
        assert_eq!(read(document), ("<1 m -><2 e 2></2>t&u</1>".to_owned(), None));
        assert_eq!(read("<m a='&x;'/>").0, "<1 m &x;></1>");
    }

    /// Small documents that take much memory or time elsewhere.
    #[test]
    fn hostile_documents_are_errors() {
        let error = |document: &str| read(document).1.unwrap();
        let entities = "<!DOCTYPE m [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><m>&b;</m>";
        assert_eq!(error(entities), "byte 0: a document type, expected the XML of an rpm-md repository");
        let deep = "<m>".repeat(1000);
        assert!(error(&deep).contains("nest deeper than 16 levels"), "{}", error(&deep));
        let long = format!("<m>{}", "x".repeat(MAX_XML_EVENT_BYTES * 2));
        assert!(error(&long).contains("of more than 1048576 bytes"), "{}", error(&long));
        let attributes = format!("<m {}>", "a='' ".repeat(MAX_XML_EVENT_BYTES));
        assert!(error(&attributes).contains("of more than"), "{}", error(&attributes));
        for cut in ["", "<m><n/>", "<m", "text"] {
            assert!(read(cut).1.is_some(), "{cut}");
        }
        assert!(error("<m></n>").contains("byte 3: "), "{}", error("<m></n>"));
    }
}
