//! `prog sign`, and loads with a keyring. `tests/signing/README.md` describes the keys and certificates.
#![cfg(feature = "sign")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run, run_in, schema, text};
use core_relo_loader::loader_program::LoaderFile;
use core_relo_test_support::skip;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn path(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/signing").join(name);
    text(&path).to_owned()
}

/// Writes a loader file, which can be signed or not.
fn generate(dir: &Path, is_signable: bool) -> PathBuf {
    let out = dir.join("exec.loader");
    let mut args = vec!["gen", "loader", "syscall.bpf.o", "-o", text(&out)];
    args.extend(is_signable.then_some("--signable"));
    let generated = run_in(&prebuilt("live"), args);
    assert_eq!(generated.exit, 0, "{}", generated.whole());
    out
}

#[test]
fn a_signature_is_that_of_openssl_and_the_rest_of_the_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (loader, signed) = (generate(dir.path(), true), dir.path().join("signed.loader"));
    let (key, certificate) = (path("rsa.pem"), path("rsa.der"));
    let args = ["prog", "sign", text(&loader), "--key", &key, "--certificate", &certificate];
    let signing = run(args.into_iter().chain(["-o", text(&signed), "--format", "json"]));
    assert_eq!(signing.exit, 0, "{}", signing.whole());
    let lines = signing.lines();
    schema().check("prog sign", &lines[0]);
    let before = fs::read(&loader).unwrap();
    let after = fs::read(&signed).unwrap();
    assert!(after.starts_with(&before), "the signature is appended");
    let file = LoaderFile::read(&after).unwrap();
    assert_eq!(lines[0]["signature_bytes"], file.signatures().unwrap().instructions.len());

    let bytes = [dir.path().join("insns"), dir.path().join("insns-and-data")];
    let messages = bytes.each_ref().map(|path| path.with_extension("der"));
    let written =
        run(["gen", "loader", "--show", text(&loader), "--bytes-to-sign", text(&bytes[0]), text(&bytes[1])]);
    assert_eq!(written.exit, 0, "{}", written.whole());
    for (bytes, message) in bytes.iter().zip(&messages) {
        let mut openssl = Command::new("openssl");
        openssl.args(["cms", "-sign", "-binary", "-noattr", "-nocerts", "-md", "sha256", "-outform", "DER"]);
        openssl.args(["-signer", &certificate, "-inkey", &key]);
        let output = openssl.arg("-in").arg(bytes).arg("-out").arg(message).output();
        if !output.as_ref().is_ok_and(|output| output.status.success()) {
            skip!("openssl: {output:?}");
            return;
        }
    }
    let own = dir.path().join("own.loader");
    let add = |first: &Path| {
        run([
            "gen",
            "loader",
            text(&loader),
            "-o",
            text(&own),
            "--signature",
            text(first),
            text(&messages[1]),
        ])
    };
    assert_eq!(add(&messages[0]).exit, 0);
    assert_eq!(fs::read(&own).unwrap(), after, "openssl makes the same file");
    let refused = add(&loader);
    assert_eq!(refused.exit, 2);
    assert!(refused.err.contains("exec.loader: no PKCS#7 message in DER"), "{}", refused.whole());
}

#[test]
fn the_bytes_of_a_file_that_does_not_check_its_data_are_not_signed() {
    let dir = tempfile::tempdir().unwrap();
    let loader = generate(dir.path(), false);
    let out = dir.path().join("insns");
    let refused = run(["gen", "loader", "--show", text(&loader), "--bytes-to-sign", text(&out), text(&out)]);
    assert_eq!(refused.exit, 2, "{}", refused.whole());
    let both = dir.path().join("both");
    let refused = run(["gen", "loader", "--show", text(&loader), "--bytes-to-sign", text(&out), text(&both)]);
    assert!(refused.err.contains("generate the file with --signable"), "{}", refused.whole());
    assert!(!out.exists());
}

#[test]
fn openssl_verifies_rsa_and_ecdsa_signatures_and_refuses_those_of_other_bytes() {
    if let Err(error) = Command::new("openssl").arg("version").output() {
        skip!(Openssl, "openssl: {error}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (loader, signed) = (generate(dir.path(), true), dir.path().join("signed.loader"));
    let verify = |certificate: &str, bytes: &[u8], signature: &[u8]| {
        let (content, message) = (dir.path().join("content"), dir.path().join("message"));
        fs::write(&content, bytes).unwrap();
        fs::write(&message, signature).unwrap();
        // The test certificates have no issuer, so only the signature is verified.
        let mut openssl = Command::new("openssl");
        openssl.args(["cms", "-verify", "-binary", "-noverify", "-inform", "DER", "-out", "/dev/null"]);
        openssl.args(["-certfile", certificate]).arg("-in").arg(&message).arg("-content").arg(&content);
        openssl.output().unwrap()
    };
    for name in ["rsa", "p256", "p384"] {
        let (key, certificate) = (path(&format!("{name}.pem")), path(&format!("{name}.der")));
        let args = ["prog", "sign", text(&loader), "-k", &key, "-i", &certificate, "-o", text(&signed)];
        let run = run(args);
        assert_eq!(run.exit, 0, "{}", run.whole());
        let file = LoaderFile::read(&fs::read(&signed).unwrap()).unwrap();
        let signatures = file.signatures().unwrap();
        let both = file.instructions_and_data();
        for (bytes, signature) in
            [(file.instructions(), &signatures.instructions), (&both, &signatures.instructions_and_data)]
        {
            let verified = verify(&certificate, bytes, signature);
            assert!(verified.status.success(), "{name}: {verified:?}");
            let mut changed = bytes.to_vec();
            changed[0] ^= 1;
            assert!(!verify(&certificate, &changed, signature).status.success(), "{name}");
        }
    }
}

#[test]
fn a_file_whose_data_its_instructions_do_not_check_is_not_signed() {
    let dir = tempfile::tempdir().unwrap();
    let signed = dir.path().join("signed.loader");
    let refuse = |bytes: &[u8]| {
        let loader = dir.path().join("changed.loader");
        fs::write(&loader, bytes).unwrap();
        let args = ["prog", "sign", text(&loader), "-k", &path("p256.pem"), "-i", &path("p256.der"), "-o"];
        let run = run(args.into_iter().chain([text(&signed)]));
        assert!(run.exit == 2 && run.err.contains("do not have the hash of the data"), "{}", run.whole());
        assert!(!signed.exists());
    };
    // The file claims a comparison that the instructions lack.
    let mut forged = fs::read(generate(dir.path(), false)).unwrap();
    assert!(!LoaderFile::read(&forged).unwrap().checks_data());
    forged[24] = 1;
    assert!(LoaderFile::read(&forged).unwrap().checks_data());
    refuse(&forged);
    // The data was changed after the file was generated.
    let mut damaged = fs::read(generate(dir.path(), true)).unwrap();
    let file = LoaderFile::read(&damaged).unwrap();
    let at = damaged.windows(file.data().len()).position(|window| window == file.data()).unwrap();
    damaged[at] ^= 1;
    refuse(&damaged);
}

#[test]
fn the_output_may_be_the_loader_file_but_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let loader = generate(dir.path(), true);
    let key = dir.path().join("key.pem");
    fs::copy(path("p256.pem"), &key).unwrap();
    let sign = |output: &Path| {
        let args = ["prog", "sign", text(&loader), "-k", text(&key), "-i", &path("p256.der"), "-o"];
        run(args.into_iter().chain([text(output), "--format", "json"]))
    };
    for replaced in [false, true] {
        let signed = sign(&loader);
        assert_eq!(
            (signed.exit, &signed.lines()[0]["replaced"]),
            (0, &replaced.into()),
            "{}",
            signed.whole()
        );
        assert!(LoaderFile::read(&fs::read(&loader).unwrap()).unwrap().signatures().is_some());
    }
    assert_eq!(sign(&key).exit, 2);
    assert_eq!(fs::read(&key).unwrap(), fs::read(path("p256.pem")).unwrap());
}

#[test]
fn what_does_not_fit_is_one_line_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (loader, out) = (generate(dir.path(), true), dir.path().join("out.loader"));
    let unsignable_dir = tempfile::tempdir().unwrap();
    let unsignable = generate(unsignable_dir.path(), false);
    let (key, certificate) = (path("rsa.pem"), path("rsa.der"));
    let object = prebuilt("live").join("syscall.bpf.o");
    for (loader, key, certificate, expected) in [
        (&loader, &key, &path("p256.der"), "p256.der: the certificate belongs to another key than "),
        (&loader, &path("encrypted.pem"), &certificate, "encrypted.pem: the private key is encrypted"),
        (&loader, &path("ed25519.pem"), &certificate, "unsupported kind of private key: 1.3.101.112"),
        (&loader, &certificate, &certificate, "rsa.der: no PEM file, expected a private key"),
        (&loader, &key, &key, "rsa.pem: PEM file with other blocks: `PRIVATE KEY`, expected a certificate"),
        (&unsignable, &key, &certificate, "; generate the file with `--signable`"),
        (&object, &key, &certificate, "syscall.bpf.o: no loader file"),
    ] {
        let args = ["prog", "sign", text(loader), "-k", key, "-i", certificate, "-o", text(&out)];
        let refused = run(args);
        assert!(refused.exit == 2 && refused.err.contains(expected), "{}", refused.whole());
        assert_eq!((refused.err.lines().count(), out.exists()), (1, false), "{}", refused.whole());
    }
}

#[test]
fn a_keyring_is_for_loader_files() {
    let object = prebuilt("live").join("syscall.bpf.o");
    let refused = run(["load", text(&object), "--keyring", "session"]);
    assert!(refused.exit == 2 && refused.err.contains("--keyring: "), "{}", refused.whole());
    let unknown = run(["load", text(&object), "--keyring", "sessions"]);
    assert!(unknown.exit == 2 && unknown.err.contains("unknown keyring `sessions`"), "{}", unknown.whole());
}
