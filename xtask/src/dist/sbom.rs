//! The bill of materials of a static file: CycloneDX 1.5, as JSON.

use serde_json::{Value, json};

use super::dependencies::{COMMAND, CrateId, Dependencies};
use super::release::Release;
use super::sha256::{sha256, sha256_hex};
use super::{LICENCE, SUMMARY};
use crate::static_binary::Target;
use crate::system::{Failure, Outcome, output};

/// Returns the bill of materials of a file.
pub fn sbom(
    release: &Release,
    target: &Target,
    command: &[u8],
    dependencies: &Dependencies,
) -> Outcome<Vec<u8>> {
    let own = dependencies.keys().find(|id| id.name == COMMAND);
    let own = own.ok_or_else(|| Failure::Failed(format!("cargo tree: no {COMMAND}")))?;
    let components: Vec<Value> = dependencies
        .iter()
        .filter(|(id, _)| *id != own)
        .map(|(id, dependency)| {
            let mut component = json!({
                "type": "library",
                "bom-ref": purl(id),
                "name": id.name,
                "version": id.version,
                "scope": if dependency.is_linked { "required" } else { "excluded" },
                "licenses": [{ "expression": dependency.licence }],
                "purl": purl(id),
            });
            if let (Some(sha256), Some(fields)) = (&dependency.sha256, component.as_object_mut()) {
                fields.insert("hashes".to_owned(), json!([{ "alg": "SHA-256", "content": sha256 }]));
            }
            component
        })
        .collect();
    let uses = dependencies.iter().map(|(id, dependency)| {
        json!({ "ref": purl(id), "dependsOn": dependency.uses.iter().map(purl).collect::<Vec<_>>() })
    });
    let mut content = json!({
        "metadata": {
            "timestamp": release.timestamp(),
            "component": {
                "type": "application",
                "bom-ref": purl(own),
                "name": "core-relo",
                "version": release.version,
                "description": SUMMARY,
                "licenses": [{ "expression": LICENCE }],
                "purl": purl(own),
                "hashes": [{ "alg": "SHA-256", "content": sha256_hex(command) }],
                "properties": [
                    { "name": "core-relo:commit", "value": release.commit },
                    { "name": "core-relo:target", "value": target.triple },
                ],
            },
        },
        "components": components,
        "dependencies": uses.collect::<Vec<_>>(),
    });
    let standard_library = standard_library()?;
    if let Some(components) = content.get_mut("components").and_then(Value::as_array_mut) {
        components.extend(standard_library);
    }
    let serial = serial_number(&sha256(content.to_string().as_bytes()));
    let mut document =
        json!({ "bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": serial, "version": 1 });
    if let (Some(document), Value::Object(content)) = (document.as_object_mut(), content) {
        document.extend(content);
    }
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    Ok(format!("{text}\n").into_bytes())
}

/// Returns the components that come with the compiler: the standard library, and the C library in it.
fn standard_library() -> Outcome<[Value; 2]> {
    let version = output(std::process::Command::new("rustc").arg("-vV")).ok_or("rustc -vV fails")?;
    let release = version.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or("unknown");
    Ok([
        json!({
            "type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": release,
            "scope": "required", "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        }),
        json!({
            "type": "library", "bom-ref": "libc", "name": "libc",
            "description": "The C library that the compiler's target or the cross compiler has: musl or glibc",
            "scope": "required",
        }),
    ])
}

/// Returns the URL of a crate.
fn purl(id: &CrateId) -> String {
    // In a URL, the `+` of build metadata is escaped.
    format!("pkg:cargo/{}@{}", id.name, id.version.replace('+', "%2B"))
}

/// Returns a UUID made of a hash (version 8 of RFC 9562), so that equal content has an equal number.
fn serial_number(hash: &[u8; 32]) -> String {
    let hex: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or("");
    format!("urn:uuid:{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::dependencies::Dependency;
    use crate::static_binary::TARGETS;
    use std::collections::BTreeSet;

    #[test]
    fn components_have_licences_and_hashes() {
        let id = |name: &str| CrateId { name: name.to_owned(), version: "1.0.0+x".to_owned() };
        let dependency = |uses: &[&str], sha256: Option<&str>| Dependency {
            licence: "MIT".to_owned(),
            is_linked: sha256.is_some(),
            sha256: sha256.map(str::to_owned),
            uses: uses.iter().map(|name| id(name)).collect::<BTreeSet<_>>(),
        };
        let dependencies = Dependencies::from([
            (id(COMMAND), dependency(&["a"], None)),
            (id("a"), dependency(&["b"], Some("00ff"))),
            (id("b"), dependency(&[], None)),
        ]);
        let release = Release { version: "0.1.0".to_owned(), commit: "abc".to_owned(), time: 0 };
        let [target, ..] = &TARGETS;
        let text = sbom(&release, target, b"command", &dependencies).unwrap();
        assert_eq!(text, sbom(&release, target, b"command", &dependencies).unwrap(), "no clock, no chance");
        let document: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(document["metadata"]["component"]["hashes"][0]["content"], sha256_hex(b"command"));
        assert_eq!(document["components"][0]["purl"], "pkg:cargo/a@1.0.0%2Bx");
        assert_eq!(document["components"][0]["hashes"][0]["content"], "00ff");
        assert_eq!(document["components"][1]["scope"], "excluded");
        assert_eq!(document["dependencies"][0]["dependsOn"][0], "pkg:cargo/b@1.0.0%2Bx");
        let serial = document["serialNumber"].as_str().unwrap();
        assert_eq!(serial.split('-').map(str::len).collect::<Vec<_>>(), [17, 4, 4, 4, 12], "{serial}");
    }
}
