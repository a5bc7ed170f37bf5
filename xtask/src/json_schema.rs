//! `cargo xtask json-schema`: writes `docs/json.schema.json`, the JSON Schema of the command's lines, from
//! the tables of `docs/json.md`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::system::{Failure, Outcome, read, root};

/// The version of JSON Schema.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    fs::write(path(), current()?).map_err(|error| format!("{}: {error}", path().display()).into())
}

/// Returns a problem if the committed file is not the one that the tables describe.
pub fn problem() -> Outcome<Option<String>> {
    let is_current = fs::read_to_string(path()).ok() == Some(current()?);
    Ok((!is_current).then(|| {
        "docs/json.schema.json: differs from docs/json.md, `cargo xtask json-schema` writes it".to_owned()
    }))
}

fn path() -> PathBuf {
    root().join("docs/json.schema.json")
}

fn current() -> Outcome<String> {
    let schema = schema(&read(&root().join("docs/json.md"))?)?;
    let text = serde_json::to_string_pretty(&schema).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// Converts the tables to a schema with a definition for each section that has one.
fn schema(document: &str) -> Result<Value, String> {
    let mut sections = Map::new();
    let mut section = String::new();
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.replace('`', "");
        }
        let Some((key, ty, meaning)) = row(line) else { continue };
        let key_schema = key_schema(ty, meaning)
            .ok_or_else(|| format!("docs/json.md: {section}: {key}: unknown type {ty}"))?;
        let object = sections.entry(section.as_str()).or_insert_with(
            || json!({ "type": "object", "required": [], "properties": {}, "additionalProperties": true }),
        );
        if let Some(required) = object["required"].as_array_mut() {
            required.push(key.into());
        }
        object["properties"][key] = key_schema;
    }
    Ok(json!({
        "$schema": DIALECT,
        "title": "JSON lines of core-relo",
        "description": "A definition for each section of docs/json.md: the line of a command, or an object in it.",
        "$defs": sections,
    }))
}

/// Returns key, type and meaning of a row whose first cell is a key in backticks.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let mut cells = line.strip_prefix("| ")?.splitn(3, " | ");
    let (key, ty, meaning) = (cells.next()?, cells.next()?, cells.next()?);
    let key = key.strip_prefix('`')?.strip_suffix('`')?;
    Some((key, ty, meaning.trim_end().trim_end_matches('|').trim_end()))
}

/// Returns the schema of a value; `None` for a type that JSON does not have.
fn key_schema(ty: &str, meaning: &str) -> Option<Value> {
    let (name, may_be_null) = ty.strip_suffix('?').map_or((ty, false), |name| (name, true));
    let name = match name {
        "bool" => "boolean",
        // Without a type, a schema permits every value, also null.
        "any" if may_be_null => return Some(json!({ "description": meaning })),
        "string" | "number" | "array" | "object" => name,
        _ => return None,
    };
    let ty = if may_be_null { json!([name, "null"]) } else { json!(name) };
    Some(json!({ "type": ty, "description": meaning }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_property_in_the_order_of_the_table() {
        let document = "## plan\n\n| key | type | meaning |\n|---|---|---|\n| `b` | string? | a `|` b |\n| `a` | bool | yes |\n";
        let schema = schema(document).unwrap();
        let plan = &schema["$defs"]["plan"];
        assert_eq!(plan["required"], json!(["b", "a"]));
        assert_eq!(plan["properties"]["b"]["type"], json!(["string", "null"]));
        assert_eq!(plan["properties"]["a"]["type"], "boolean");
        assert!(super::schema("## plan\n| `b` | text | no type |\n").is_err());
    }
}
