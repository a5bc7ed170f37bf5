//! `repodata/repomd.xml`, the index of a repository: the paths, sizes and hashes of its lists.

use super::xml::{Element, XmlError, XmlEvent, read_xml};
use crate::{
    fetch::{hash::is_hash, rpm_md_defect::RpmMdDefect},
    limits::MAX_XML_FIELD_BYTES,
};

/// The type of the list of packages in XML. `primary_db` is for SQLite, `primary_zck` is in zchunk.
const PRIMARY: &str = "primary";

/// A list in the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::fetch) struct RepositoryList {
    kind: String,
    /// The path below the repository.
    pub(in crate::fetch) path: String,
    pub(in crate::fetch) bytes: u64,
    /// The SHA-256 or SHA-512 in hexadecimal digits.
    pub(in crate::fetch) hash: String,
    hash_type: String,
}

/// The text that an element begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Hash,
    Bytes,
}

/// Returns the list of packages in an index.
pub(in crate::fetch) fn find_primary(index: &[u8]) -> Result<RepositoryList, XmlError> {
    let lists = read_lists(index)?;
    let found = || lists.iter().map(|list| list.kind.clone()).collect();
    let primary = lists.iter().find(|list| list.kind == PRIMARY);
    let list = primary.ok_or_else(|| XmlError::Document(RpmMdDefect::NoPrimary { found: found() }))?;
    if !is_hash(&list.hash) {
        let (name, found) = (PRIMARY.to_owned(), list.hash_type.clone());
        return Err(XmlError::Document(RpmMdDefect::HashType { name, found }));
    }
    Ok(list.clone())
}

/// Reads the lists of an index: elements `data` in the root, with elements `checksum`, `size` and `location`.
fn read_lists(index: &[u8]) -> Result<Vec<RepositoryList>, XmlError> {
    let (mut lists, mut text, mut field) = (Vec::new(), String::new(), None);
    read_xml(index, &mut |event| {
        match event {
            XmlEvent::Start { depth: 1, element } => check_root(&element, "repomd")?,
            XmlEvent::Start { depth: 2, element } if element.name() == "data" => {
                let kind = element.attribute("type").unwrap_or_else(|| "list without a type".to_owned());
                lists.push(RepositoryList { kind, ..RepositoryList::default() });
            }
            XmlEvent::Start { depth: 3, element } => {
                text.clear();
                field = lists.last_mut().and_then(|list| begin_field(list, &element));
            }
            XmlEvent::Text(part) if field.is_some() => push_text(&mut text, part)?,
            XmlEvent::End { depth: 3 } => {
                if let (Some(field), Some(list)) = (field.take(), lists.last_mut()) {
                    end_field(list, field, text.trim());
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(lists)
}

/// Reads the attributes of an element of a list, and returns the field whose text it has.
fn begin_field(list: &mut RepositoryList, element: &Element<'_>) -> Option<Field> {
    match element.name() {
        "location" => {
            if let Some(path) = element.attribute("href") {
                list.path = path;
            }
            None
        }
        "checksum" => {
            if let Some(hash_type) = element.attribute("type") {
                list.hash_type = hash_type;
            }
            Some(Field::Hash)
        }
        "size" => Some(Field::Bytes),
        _ => None,
    }
}

fn end_field(list: &mut RepositoryList, field: Field, text: &str) {
    match field {
        Field::Hash => list.hash = text.to_ascii_lowercase(),
        // Without a size, the first byte is one too many.
        Field::Bytes => list.bytes = text.parse().unwrap_or(0),
    }
}

/// Checks the name of the root.
pub(super) fn check_root(element: &Element<'_>, expected: &str) -> Result<(), RpmMdDefect> {
    match element.name() == expected {
        true => Ok(()),
        false => {
            let problem = format!("the root is `{}` instead of `{expected}`", element.name());
            Err(RpmMdDefect::Xml { offset: 0, problem })
        }
    }
}

/// Adds a part of a text to a field, which is short.
pub(super) fn push_text(text: &mut String, part: &str) -> Result<(), RpmMdDefect> {
    text.push_str(part);
    match text.len() > MAX_XML_FIELD_BYTES {
        true => {
            let problem = format!("a name, hash or size of more than {MAX_XML_FIELD_BYTES} bytes");
            Err(RpmMdDefect::Xml { offset: 0, problem })
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: &str, hash_type: &str, hash: &str) -> String {
        format!(
            "<data type=\"{kind}\"><checksum type=\"{hash_type}\">{hash}</checksum>\
             <open-checksum type=\"{hash_type}\">0</open-checksum><location href=\"repodata/{kind}.xml.zst\"/>\
             <timestamp>1</timestamp><size>134</size><open-size>167</open-size></data>"
        )
    }

    fn find(lists: &[String]) -> Result<RepositoryList, String> {
        let index = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<repomd xmlns=\"http://linux.duke.edu/metadata/repo\">\
             <revision>1</revision><tags><content>a</content></tags>{}</repomd>",
            lists.concat()
        );
        find_primary(index.as_bytes()).map_err(|error| match error {
            XmlError::Stream(error) => error.to_string(),
            XmlError::Document(defect) => defect.to_string(),
        })
    }

    #[test]
    fn the_list_of_packages_is_the_one_in_xml() {
        for (hash_type, digits) in [("sha256", 64), ("sha512", 128)] {
            let hash = "A".repeat(digits);
            let lists = [
                list("primary_db", hash_type, &hash),
                list("primary_zck", hash_type, &hash),
                list("primary", hash_type, &hash),
                list("modules", hash_type, &hash),
                list("prestodelta", hash_type, &hash),
            ];
            let found = find(&lists).unwrap();
            assert_eq!((found.path.as_str(), found.bytes), ("repodata/primary.xml.zst", 134));
            assert_eq!(found.hash, hash.to_lowercase());
            let without_xml = find(&lists[..2]).unwrap_err();
            assert!(
                without_xml.contains("only: primary_db, primary_zck\nhelp: createrepo_c"),
                "{without_xml}"
            );
        }
    }

    #[test]
    fn weak_hashes_and_other_documents_are_errors() {
        assert_eq!(
            find(&[list("primary", "sha", &"a".repeat(40))]).unwrap_err(),
            "`primary` has a hash of the type `sha`, expected sha256 or sha512"
        );
        let long = find(&[list("primary", "sha256", &"a".repeat(5000))]).unwrap_err();
        assert!(long.contains("of more than 1024 bytes"), "{long}");
        let html = find_primary(b"<html><head></head></html>").unwrap_err();
        let XmlError::Document(defect) = html else { panic!("a document") };
        assert_eq!(
            defect.to_string(),
            "byte 0: the root is `html` instead of `repomd`, expected the XML of an rpm-md repository"
        );
    }
}
