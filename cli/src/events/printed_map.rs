//! The maps whose records the user wants to see.

use std::str::FromStr;

/// A map whose records are printed, and the name of their type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrintedMap {
    pub(crate) map: String,
    pub(crate) type_name: Option<String>,
}

impl FromStr for PrintedMap {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (map, type_name) =
            text.split_once('=').map_or((text, None), |(map, name)| (map, Some(name.trim())));
        if map.is_empty() || type_name == Some("") {
            return Err("expected MAP or MAP=TYPE");
        }
        Ok(Self { map: map.into(), type_name: type_name.map(str::to_owned) })
    }
}
