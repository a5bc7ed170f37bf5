//! Generator of results files for `--resume`: valid, damaged and foreign lines, truncated at any byte.

use super::{below, corrupt, one_in};
use arbitrary::{Arbitrary, Result, Unstructured};

const KERNELS: [&str; 6] = ["5.10.btf", "6.1.btf", "k.tar//a", "k.tar//b", "k.tar", "o.tar.xz//a"];
const VERDICTS: [&str; 5] = ["ok", "failed", "poisoned", "bad_input", "no verdict"];
const FOREIGN: [&[u8]; 7] = [
    b"\n",
    b"{}\n",
    b"[]\n",
    b"{\"target\":1}\n",
    b"# not ours",
    b"{\"core_relo\":\"0.0.1\",\"objects\":[]}\n",
    b"\xff\xfe\n",
];

/// Generates a results file. `header` is the first line of a valid file. A kernel has one line for each of
/// `objects`.
pub fn file(u: &mut Unstructured<'_>, header: &[u8], objects: &[&str]) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    if !one_in(u, 4)? {
        file.extend_from_slice(header);
    }
    for _ in 0..below(u, 24)? {
        match u8::arbitrary(u)? % 16 {
            15 => file.extend_from_slice(u.choose(&FOREIGN)?),
            14 => file.extend_from_slice(header),
            13 => file.extend(line(u, objects)?),
            _ => {
                // Write all lines of a kernel.
                let (kernel, verdict) = (*u.choose(&KERNELS)?, *u.choose(&VERDICTS)?);
                for object in objects {
                    file.extend(text(Some(object), kernel, verdict));
                }
            }
        }
    }
    if one_in(u, 2)? {
        let end = below(u, file.len() + 1)?;
        file.truncate(end);
    }
    if one_in(u, 8)? {
        corrupt(u, &mut file)?;
    }
    Ok(file)
}

/// Generates one line of a kernel, or the line of an unreadable kernel.
fn line(u: &mut Unstructured<'_>, objects: &[&str]) -> Result<Vec<u8>> {
    let object = if one_in(u, 4)? { None } else { Some(*u.choose(objects)?) };
    Ok(text(object, u.choose(&KERNELS)?, u.choose(&VERDICTS)?))
}

fn text(object: Option<&str>, kernel: &str, verdict: &str) -> Vec<u8> {
    let object = object.map_or("null".to_owned(), |name| format!("\"{name}\""));
    let counts = r#""kept":1,"patched":0,"poisoned":0,"failed":0,"skipped":0"#;
    // An index identifies the member of an archive.
    let id = match kernel.split_once("//") {
        Some((archive, member)) => format!(r#","target_id":"member:{}:{archive}""#, member.len()),
        None => String::new(),
    };
    let line = format!(
        r#"{{"object":{object},"target":"{kernel}",{counts},"verdict":"{verdict}","relocations":[]{id}}}"#
    );
    [line.as_bytes(), b"\n"].concat()
}
