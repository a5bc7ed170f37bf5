//! Messages of the page, and the answers of the module.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

use core_relo::{
    Endian, Target,
    btf::{Btf, Builder},
};
use core_relo_object::object::Object;
use core_relo_verdict::fleet::{OfflineKernel, check};
use core_relo_web::Session;
use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc};

fn object() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo/exec.bpf.o")).unwrap()
}

/// The types of an object, which stand in for those of a kernel.
fn types(object: &[u8]) -> Vec<u8> {
    Object::parse(object).unwrap().btf().unwrap().as_bytes().to_vec()
}

fn answer(session: &mut Session, request: &Value, payload: &[u8]) -> Value {
    let mut message = request.to_string().into_bytes();
    message.push(b'\n');
    message.extend_from_slice(payload);
    serde_json::from_slice(&session.answer(&message)).unwrap()
}

fn error(session: &mut Session, request: &Value, payload: &[u8]) -> String {
    answer(session, request, payload)["error"]["message"].as_str().unwrap().to_owned()
}

fn kernel(parts: &Value, has_modules: bool) -> Value {
    let facts = json!({ "name": "k", "warnings": [], "has_modules": has_modules, "version": "6.1.0" });
    json!({ "request": "kernel", "facts": facts, "parts": parts })
}

fn open(session: &mut Session, btf: &[u8], has_modules: bool) {
    let opened = answer(session, &kernel(&json!([["btf", btf.len()]]), has_modules), btf);
    assert_eq!(opened, json!({ "ok": null }));
}

const CHECK: &str = r#"{"request": "check", "object": 0, "loader": "libbpf"}"#;

fn check_request() -> Value {
    serde_json::from_str(CHECK).unwrap()
}

#[test]
fn bad_messages_are_errors_and_the_session_goes_on() {
    let mut session = Session::default();
    let broken: Value = serde_json::from_slice(&session.answer(b"\xff\n")).unwrap();
    assert!(broken["error"]["message"].as_str().unwrap().starts_with("message: "), "{broken}");
    assert!(error(&mut session, &json!({ "request": "upload" }), b"").contains("unknown variant `upload`"));
    assert_eq!(error(&mut session, &check_request(), b""), "no object 0");
    assert_eq!(error(&mut session, &json!({ "request": "modules" }), b"[]\n"), "no kernel is open");
    for (parts, payload, message) in [
        (json!([["btf", 3]]), &b"ab"[..], "message: 2 bytes behind the request, expected 3"),
        (json!([["btf", 1]]), b"ab", "message: 2 bytes behind the request, expected 1"),
        (
            json!([["btf", usize::MAX], ["kconfig", 3]]),
            b"ab",
            "message: 2 bytes behind the request, expected ",
        ),
        (json!([["kconfig", 2]]), b"ab", "k: no BTF"),
        (json!([["btf", 2]]), b"ab", "BTF of k: "),
    ] {
        let found = error(&mut session, &kernel(&parts, false), payload);
        assert!(found.starts_with(message), "{found}");
    }
    let about = answer(&mut session, &json!({ "request": "about" }), b"");
    assert_eq!(about["ok"]["module"], concat!("core-relo-web ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn files_that_are_no_objects_are_explained() {
    let mut session = Session::default();
    let request = json!({ "request": "object", "name": "a.o" });
    let object = object();
    for (bytes, message, help) in [
        (&b""[..], "is empty", "expected a BPF object"),
        (b"text", "", "expected a BPF object"),
        (&object[..object.len() / 2], "", "is the file complete?"),
    ] {
        let found = answer(&mut session, &request, bytes);
        assert!(found["error"]["message"].as_str().unwrap().starts_with(message), "{found}");
        assert!(found["error"]["help"].as_str().unwrap().starts_with(help), "{found}");
    }
    let good = answer(&mut session, &request, &object);
    assert_eq!(good["ok"]["object"], 0);
    assert_eq!(good["ok"]["requirements"]["programs"].as_array().unwrap().len(), 2);
}

#[test]
fn verdicts_are_those_of_the_library() {
    let (mut session, object) = (Session::default(), object());
    let btf = types(&object);
    answer(&mut session, &json!({ "request": "object", "name": "exec.bpf.o" }), &object);
    open(&mut session, &btf, false);
    let checked = answer(&mut session, &check_request(), b"");
    let mut kernel = OfflineKernel::new(Target::new("vmlinux", Arc::new(Btf::parse(btf).unwrap())));
    kernel.inputs.version = Some("6.1.0".parse().unwrap());
    let expected = serde_json::to_value(check(&Object::parse(&object).unwrap(), &kernel).unwrap()).unwrap();
    for key in ["verdict", "loader", "programs", "reasons", "warnings"] {
        assert_eq!(checked["ok"][key], expected[key], "{key}");
    }
    assert_ne!(expected["verdict"], "loads", "the test needs reasons");
    let report = answer(&mut session, &json!({ "request": "report" }), b"");
    assert!(report["ok"].as_str().unwrap().contains("<code>exec.bpf.o</code>"));
}

/// The modules of a kernel are many megabytes. They are loaded if an object needs them, and then decide.
#[test]
fn modules_are_asked_for_when_an_object_needs_them() {
    let (mut session, object) = (Session::default(), object());
    answer(&mut session, &json!({ "request": "object", "name": "exec.bpf.o" }), &object);
    let mut empty = Builder::new(Endian::Little);
    empty.int("int", 4, Builder::SIGNED);
    let base = empty.finish();
    open(&mut session, &base, true);
    let before = answer(&mut session, &check_request(), b"");
    assert_eq!(before["ok"]["needs_modules"], true);
    let base = Arc::new(Btf::parse(base).unwrap());
    let mut module = Builder::split(&base);
    module.structure("task_struct", 8, &[]);
    let module = module.finish();
    let mut pack = json!([{ "name": "m", "bytes": module.len() }]).to_string().into_bytes();
    pack.push(b'\n');
    pack.extend(module);
    assert_eq!(answer(&mut session, &json!({ "request": "modules" }), &pack), json!({ "ok": null }));
    let after = answer(&mut session, &check_request(), b"");
    assert_eq!(after["ok"]["needs_modules"], false);
    assert_ne!(after["ok"]["programs"], before["ok"]["programs"]);
}
