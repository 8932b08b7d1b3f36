//! Certificate and key from PEM files, for rustls with ring. TLS 1.2 and 1.3; no client certificates.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Reads `cert` (a chain) and `key`. The error says what to do.
pub fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, String> {
    let chain = certificates(cert)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        format!(
            "cannot read a private key from {}: {error}; give a PEM file that holds a PKCS#8, PKCS#1 or SEC1 key",
            key.display()
        )
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| format!("{} and {} do not work together: {error}", cert.display(), key.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(cert: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    if cert.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pfx")) {
        return Err(pfx_advice(cert));
    }
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .map_err(|error| format!("cannot read certificates from {}: {error}", cert.display()))?;
    if chain.is_empty() {
        return Err(format!(
            "{} holds no certificate; give a PEM file that begins with -----BEGIN CERTIFICATE-----",
            cert.display()
        ));
    }
    Ok(chain)
}

/// What to do with a PFX file, which Azurite takes and Lazuli does not.
pub fn pfx_advice(cert: &Path) -> String {
    let file = cert.display();
    format!(
        "PFX files (and --pwd) are not supported; convert it once:\n  \
         openssl pkcs12 -in {file} -nokeys -out cert.pem\n  \
         openssl pkcs12 -in {file} -nocerts -nodes -out key.pem\n\
         and start with --cert cert.pem --key key.pem"
    )
}
