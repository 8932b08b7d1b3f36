//! Certificate and key, from PEM files or from one PFX file (PKCS#12), for rustls with ring. TLS 1.2 and 1.3; no client certificates.
//! Held true: connections that begin after a reload see the new certificate, and a reload that fails changes nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// The files that it comes from.
#[derive(Clone)]
pub enum Certificate {
    Pem { cert: PathBuf, key: PathBuf },
    Pfx { file: PathBuf, password: String },
}

pub struct Tls {
    source: Certificate,
    provider: Arc<CryptoProvider>,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Tls {
    /// Reads the files. The error says what to do.
    pub fn open(source: Certificate) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let current = Arc::new(Current(RwLock::new(Arc::new(source.read(&provider)?))));
        let mut config = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { source, provider, current, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// Reads the files again.
    pub fn reload(&self) -> Result<(), String> {
        let read = Arc::new(self.source.read(&self.provider)?);
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }
}

impl Certificate {
    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
        let (chain, key, named) = match self {
            Certificate::Pem { cert, key } => {
                (certificates(cert)?, private_key(key)?, format!("{} and {}", cert.display(), key.display()))
            }
            Certificate::Pfx { file, password } => {
                let (chain, key) = pfx(file, password)?;
                (chain, key, format!("certificate and key of {}", file.display()))
            }
        };
        CertifiedKey::from_der(chain, key, provider).map_err(|error| format!("{named} do not work together: {error}"))
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| {
        format!(
            "cannot read a private key from {}: {error}; give a PEM file that holds a PKCS#8, PKCS#1 or SEC1 key",
            file.display()
        )
    })
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let is_pfx = |kind: &std::ffi::OsStr| kind.eq_ignore_ascii_case("pfx") || kind.eq_ignore_ascii_case("p12");
    if file.extension().is_some_and(is_pfx) {
        return Err(format!("{}: a PFX file has the key in it; give --pwd PASSWORD instead of --key", file.display()));
    }
    let chain: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| format!("cannot read certificates from {}: {error}", file.display()))?;
    if chain.is_empty() {
        return Err(format!(
            "{} holds no certificate; give a PEM file that begins with -----BEGIN CERTIFICATE-----",
            file.display()
        ));
    }
    Ok(chain)
}

fn pfx(file: &Path, password: &str) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    // What is in it besides the key and its chain is not looked at.
    let store = KeyStore::from_pkcs12(&bytes, password, Pkcs12ImportPolicy::Relaxed).map_err(|error| {
        format!("cannot read {} as a PFX file: {error}; is --pwd its password, and is it PKCS#12?", file.display())
    })?;
    let (_, found) = store
        .private_key_chain()
        .ok_or_else(|| format!("{} holds no private key; export it with its key", file.display()))?;
    let chain = found.certs().iter().map(|cert| CertificateDer::from(cert.as_der().to_vec())).collect();
    let key = PrivatePkcs8KeyDer::from(found.key().as_der().to_vec());
    Ok((chain, PrivateKeyDer::from(key)))
}
